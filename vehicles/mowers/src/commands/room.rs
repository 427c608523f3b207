//! Room for what calms. The stream keeps so many commands of each mower and
//! refuses more; the last of them are for pausing and sending home, so that no
//! number of other commands stands in their way.
//!
//! What calms takes no room here and waits for nobody. The others of one mower
//! take theirs in turn, over all replicas: its row is locked until the command is
//! on record, so that two never take the last place.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};
use uuid::Uuid;

use super::store::{placeholders, signed, uuid};
use super::{pacer, publish, unsent};
use crate::bus::Stream;
use crate::records::RecordsError;

#[cfg(test)]
mod tests;

/// Of each mower's place in the stream, what only calming commands may take.
const CALMING: u32 = 16;

/// Mowers of one statement.
const CHUNK: usize = 1_000;

/// Why another command is not taken.
pub(super) const FULL: &str = "bus-unavailable: too many commands of this mower within minutes; \
     the rest is kept for pausing and sending home";

/// Takes room for one more command of each of these mowers, each with its calm
/// epoch, that does not calm. Those that have none.
///
/// # Errors
/// [`RecordsError`]; then the transaction must not be committed.
pub(super) async fn take(
    change: &mut AnyConnection,
    mowers: &[(Uuid, u64)],
    now: Timestamp,
) -> Result<HashSet<Uuid>, RecordsError> {
    // INVARIANT: rows are locked in the order of their ids, so that two commands
    // to many never wait for each other.
    let mut mowers = mowers.to_vec();
    mowers.sort_unstable();
    let mut full = HashSet::new();
    for chunk in mowers.chunks(CHUNK) {
        let doubtful = add(change, chunk).await?;
        if !doubtful.is_empty() {
            full.extend(count_anew(change, &doubtful, now).await?);
        }
    }
    Ok(full)
}

/// How many commands of a mower the stream keeps that do not calm.
fn room() -> i64 {
    i64::from(Stream::Command.limits().per_subject.saturating_sub(CALMING))
}

/// Counts one more for each; those that may have had no room for it.
async fn add(
    change: &mut AnyConnection,
    mowers: &[(Uuid, u64)],
) -> Result<Vec<(Uuid, u64)>, RecordsError> {
    let rows: Vec<String> = (1..=mowers.len()).map(|n| format!("(${n}, 1)")).collect();
    let sql = format!(
        "INSERT INTO rooms (mower_id, taken) VALUES {}
         ON CONFLICT (mower_id) DO UPDATE SET taken = rooms.taken + 1
         RETURNING mower_id, taken",
        rows.join(", ")
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for (mower, _) in mowers {
        query = query.bind(mower.to_string());
    }
    let mut taken: HashMap<Uuid, i64> = HashMap::with_capacity(mowers.len());
    for row in query.fetch_all(&mut *change).await? {
        taken.insert(uuid(&row, "mower_id")?, row.try_get("taken")?);
    }
    let mut doubtful = mowers.to_vec();
    doubtful.retain(|(mower, calmed)| {
        let taken = taken.get(mower).copied().unwrap_or(i64::MAX);
        taken.saturating_add(signed(*calmed)) > room()
    });
    Ok(doubtful)
}

/// Writes down how many commands each really has, with one more where that has
/// room; those where it has not.
async fn count_anew(
    change: &mut AnyConnection,
    mowers: &[(Uuid, u64)],
    now: Timestamp,
) -> Result<HashSet<Uuid>, RecordsError> {
    let lately = lately(change, mowers, now).await?;
    let sql = format!(
        "INSERT INTO rooms (mower_id, taken) VALUES {}
         ON CONFLICT (mower_id) DO UPDATE SET taken = excluded.taken",
        placeholders(mowers.len(), 2)
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    let mut full = HashSet::new();
    for (mower, calmed) in mowers {
        let mut taken = lately.get(mower).copied().unwrap_or_default();
        if taken < room() {
            taken += 1;
        } else {
            full.insert(*mower);
        }
        let others = taken.saturating_sub(signed(*calmed));
        query = query.bind(mower.to_string()).bind(others);
    }
    query.execute(&mut *change).await?;
    Ok(full)
}

/// How many commands of each of these mowers the stream may still keep; none are
/// missing. What ended here before anybody had it takes no room. One that waited
/// for its turn came into the stream as much later.
async fn lately(
    change: &mut AnyConnection,
    mowers: &[(Uuid, u64)],
    now: Timestamp,
) -> Result<HashMap<Uuid, i64>, RecordsError> {
    let kept = Stream::Command.limits().max_age + pacer::AHEAD;
    let since = now.saturating_sub(kept).unwrap_or(Timestamp::MIN);
    let ids: Vec<String> = (4..4 + mowers.len()).map(|n| format!("${n}")).collect();
    let sql = format!(
        "SELECT mower_id, COUNT(*) AS lately FROM commands
         WHERE issued_ms > $1 AND kind <> 'emergency_stop'
           AND COALESCE(reason, '') NOT LIKE $2 AND COALESCE(reason, '') NOT LIKE $3
           AND mower_id IN ({}) GROUP BY mower_id",
        ids.join(", ")
    );
    let mut query = sqlx::query(AssertSqlSafe(sql))
        .bind(since.as_millisecond())
        .bind(format!("{}%", publish::REFUSED))
        .bind(format!("{}%", unsent::NOT_HELD));
    for (mower, _) in mowers {
        query = query.bind(mower.to_string());
    }
    let rows = query.fetch_all(&mut *change).await?;
    rows.iter()
        .map(|row| Ok((uuid(row, "mower_id")?, row.try_get("lately")?)))
        .collect()
}

//! Room for what calms. The stream keeps so many commands of each mower and
//! refuses more; the last of them are for pausing and sending home, so that no
//! number of other commands stands in their way.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};
use uuid::Uuid;

use super::store::{unsigned, uuid};
use super::{pacer, publish, unsent};
use crate::bus::Stream;
use crate::contract::CommandKind;
use crate::records::RecordsError;

#[cfg(test)]
mod tests;

/// Of each mower's place in the stream, what only calming commands may take.
const CALMING: u64 = 16;

/// Mowers of one statement.
const CHUNK: usize = 1_000;

/// Why another command is not taken.
pub(super) const FULL: &str = "bus-unavailable: too many commands of this mower within minutes; \
     the rest is kept for pausing and sending home";

/// Whether a mower that had so many commands lately takes one of this kind.
pub(super) fn takes(kind: CommandKind, lately: u64) -> bool {
    let room = u64::from(Stream::Command.limits().per_subject);
    kind.calms() || lately < room.saturating_sub(CALMING)
}

/// How many commands of each of these mowers the stream may still keep; none are
/// missing. What ended here before anybody had it takes no room. One that waited for its turn came into it as much later.
///
/// # Errors
/// [`RecordsError`].
pub(super) async fn lately(
    records: &mut AnyConnection,
    mowers: &[Uuid],
    now: Timestamp,
) -> Result<HashMap<Uuid, u64>, RecordsError> {
    let kept = Stream::Command.limits().max_age + pacer::AHEAD;
    let since = now.saturating_sub(kept).unwrap_or(Timestamp::MIN);
    let mut counts = HashMap::with_capacity(mowers.len());
    for chunk in mowers.chunks(CHUNK) {
        let ids: Vec<String> = (4..4 + chunk.len()).map(|n| format!("${n}")).collect();
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
        for mower in chunk {
            query = query.bind(mower.to_string());
        }
        for row in query.fetch_all(&mut *records).await? {
            counts.insert(uuid(&row, "mower_id")?, unsigned(row.try_get("lately")?)?);
        }
    }
    Ok(counts)
}

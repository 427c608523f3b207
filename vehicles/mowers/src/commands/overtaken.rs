//! Stops that others overtook. The stream of stops keeps the last few of each
//! mower, so of many at once the device gateway never sees the earlier ones,
//! and nobody says what became of them. Their end is that of the stop that was
//! carried out in their place: the mower stopped after they were asked for.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sqlx::Row as _;
use uuid::Uuid;

use super::record::{OVERDUE_AFTER, Outcome};
use super::unconfirmed::Alarms;
use super::{status, store};
use crate::contract::Status;
use crate::records::{Records, RecordsError};
use crate::service::Fleet;

#[cfg(test)]
mod tests;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(2);

/// Device gateways remember ends for so long: what is open after that stays so.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);

/// The longest life that a stop may be given, in milliseconds.
const LONGEST_LIFE_MS: i64 = 60_000;

/// How many are ended at a time.
const BATCH: i64 = 500;

/// A stop `a` without an end, and a stop `b` that was carried out while `a`
/// waited: it was confirmed after `a` was asked for and before `a`'s life ended.
/// Nothing else was asked of the mower between the two, so nothing can have set
/// it in motion again.
const OVERTAKEN: &str = "
    SELECT a.id AS id, b.id AS executed, b.result_ms AS result_ms
    FROM commands a
    JOIN commands b ON b.mower_id = a.mower_id AND b.account_id = a.account_id
    WHERE a.kind = 'emergency_stop' AND a.rank < 2
      AND a.issued_ms > $1 AND a.expires_ms < $2
      AND b.kind = 'emergency_stop' AND b.status = 'executed'
      AND b.issued_ms >= a.issued_ms - $3 AND b.issued_ms <= a.expires_ms
      AND b.result_ms >= a.issued_ms AND b.result_ms <= a.expires_ms
      AND NOT EXISTS (
          SELECT 1 FROM commands c
          WHERE c.mower_id = a.mower_id AND c.kind <> 'emergency_stop'
            AND c.issued_ms >= b.issued_ms AND c.issued_ms <= a.issued_ms)
    ORDER BY a.issued_ms, a.id, b.result_ms, b.id
    LIMIT $4";

/// Ends overtaken stops for as long as the service lives, and tells of those
/// that are left without a word. Every replica does: an end that stands already
/// is not written again.
pub async fn run(fleet: &Arc<Fleet>) {
    let mut alarms = Alarms::starting(fleet.now());
    loop {
        match end(&fleet.records, fleet.now()).await {
            Ok(0) => {}
            Ok(count) => tracing::info!(count, "stops ended with the one that overtook them"),
            Err(error) => tracing::debug!("overtaken stops wait for the records: {error}"),
        }
        if let Err(error) = alarms.look(fleet).await {
            tracing::debug!("whose stops are unconfirmed is not known: {error}");
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Ends the stops that were overtaken and would be overdue at `now`; how many.
/// The device gateway has had all their life to say more.
///
/// # Errors
/// [`RecordsError`]; what was not ended is found again.
pub async fn end(records: &Records, now: Timestamp) -> Result<u64, RecordsError> {
    let ago = |span| now.saturating_sub(span).unwrap_or(Timestamp::MIN);
    let pairs = sqlx::query(OVERTAKEN)
        .bind(ago(REMEMBERED).as_millisecond())
        .bind(ago(OVERDUE_AFTER).as_millisecond())
        .bind(LONGEST_LIFE_MS)
        .bind(BATCH)
        .fetch_all(records.pool())
        .await?;
    let mut ended = 0;
    let mut last = None;
    for pair in &pairs {
        let (id, executed) = (store::uuid(pair, "id")?, store::uuid(pair, "executed")?);
        // Of several that were carried out, the first one counts.
        if last.replace(id) == Some(id) {
            continue;
        }
        let outcome = stopped_by(executed, store::time(pair.try_get("result_ms")?)?);
        ended += status::close(records, &[id], &outcome).await?;
    }
    Ok(ended)
}

fn stopped_by(executed: Uuid, at: Timestamp) -> Outcome {
    Outcome::ended(
        Status::Executed,
        format!("overtaken: the mower was stopped by {executed}"),
        at,
    )
}

//! Alarms about stops whose life is over and of which nobody has said that they
//! were carried out: a stop that is answered is not yet a mower that stands.
//! Their records stay open, since the mower may have stopped all the same.

use jiff::Timestamp;
use uuid::Uuid;

use super::record::OVERDUE_AFTER;
use super::store;
use crate::records::{Records, RecordsError};
use crate::service::Fleet;

#[cfg(test)]
mod tests;

/// Stops without an end whose life was over between two times.
const SILENT: &str = "
    SELECT id, mower_id FROM commands
    WHERE kind = 'emergency_stop' AND rank < 2 AND expires_ms > $1 AND expires_ms <= $2
    ORDER BY expires_ms, id";

/// A stop that nobody spoke of.
#[derive(Debug, PartialEq, Eq)]
struct Silent {
    id: Uuid,
    mower: Uuid,
}

/// Tells each such stop once, as long as the service lives. Every replica does.
pub struct Alarms {
    told_until: Timestamp,
}

impl Alarms {
    /// Tells of stops whose life ends from now on.
    #[must_use]
    pub fn starting(now: Timestamp) -> Self {
        Self { told_until: now }
    }

    /// Looks once, after those that others overtook have got their end.
    ///
    /// # Errors
    /// [`RecordsError`]; what was not told is told later.
    pub async fn look(&mut self, fleet: &Fleet) -> Result<(), RecordsError> {
        let until = fleet
            .now()
            .saturating_sub(OVERDUE_AFTER)
            .unwrap_or(Timestamp::MIN);
        let stops = silent(&fleet.records, self.told_until, until).await?;
        for Silent { id, mower } in stops {
            fleet.control.counters.stops_unconfirmed.add();
            tracing::error!(
                %id, %mower,
                "alarm: nobody has said that a stop was carried out, and its life is over"
            );
        }
        self.told_until = until.max(self.told_until);
        Ok(())
    }
}

async fn silent(
    records: &Records,
    since: Timestamp,
    until: Timestamp,
) -> Result<Vec<Silent>, RecordsError> {
    let rows = sqlx::query(SILENT)
        .bind(since.as_millisecond())
        .bind(until.as_millisecond())
        .fetch_all(records.pool())
        .await?;
    rows.iter()
        .map(|row| {
            Ok(Silent {
                id: store::uuid(row, "id")?,
                mower: store::uuid(row, "mower_id")?,
            })
        })
        .collect()
}

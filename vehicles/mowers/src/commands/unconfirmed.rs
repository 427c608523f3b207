//! Alarms about stops whose life is over and of which nobody has said that they
//! were carried out: a stop that is answered is not yet a mower that stands.
//! Their records stay open, since the mower may have stopped all the same.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};
use sqlx::Row as _;
use uuid::Uuid;

use super::record::{OVERDUE_AFTER, Record};
use super::store;
use crate::records::{Records, RecordsError};
use crate::service::Fleet;

#[cfg(test)]
mod tests;

/// At its start a service looks back so far: a stop may have gone unanswered
/// while no replica ran. One that an earlier life told of is told again.
const BEFORE_START: SignedDuration = SignedDuration::from_mins(15);

/// Stops without an end whose life was over between two times.
const SILENT: &str = "
    SELECT id, mower_id, expires_ms FROM commands
    WHERE kind = 'emergency_stop' AND rank < 2 AND expires_ms > $1 AND expires_ms <= $2
    ORDER BY expires_ms, id";

/// Stops that came out of the spool: while the records were down nobody could
/// look at them, and their life may be over long since.
#[derive(Debug, Default)]
pub struct Late(Mutex<HashMap<Uuid, Recorded>>);

/// When a late stop came on record, and when its life ends.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    at: Timestamp,
    expires_at: Timestamp,
}

impl Late {
    /// These stops came on record at `at`.
    pub fn add(&self, stops: &[Record], at: Timestamp) {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        late.extend(stops.iter().map(|stop| {
            let expires_at = stop.envelope.expires_at;
            (stop.envelope.command_id, Recorded { at, expires_at })
        }));
    }

    fn all(&self) -> HashMap<Uuid, Recorded> {
        let late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        late.clone()
    }

    /// Forgets those that were looked at.
    fn forget(&self, until: Timestamp) {
        let mut late = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        late.retain(|_, stop| !stop.is_due(until));
    }
}

impl Recorded {
    /// Whether its life was over and it was on record at this time: then a word
    /// on it has had its time to come.
    fn is_due(self, until: Timestamp) -> bool {
        self.at <= until && self.expires_at <= until
    }
}

/// A stop that nobody spoke of.
#[derive(Debug, PartialEq, Eq)]
struct Silent {
    id: Uuid,
    mower: Uuid,
    expires_at: Timestamp,
}

/// Tells each such stop once, as long as the service lives. Every replica does;
/// of those that came on record late, the one that recorded them.
pub struct Alarms {
    told_until: Timestamp,
}

impl Alarms {
    /// Tells of stops whose life ends from now on, or ended shortly before.
    #[must_use]
    pub fn starting(now: Timestamp) -> Self {
        Self {
            told_until: earlier(now, BEFORE_START),
        }
    }

    /// Looks once, after those that others overtook have got their end.
    ///
    /// # Errors
    /// [`RecordsError`]; what was not told is told later.
    pub async fn look(&mut self, fleet: &Fleet) -> Result<(), RecordsError> {
        let until = earlier(fleet.now(), OVERDUE_AFTER);
        let late = fleet.control.late.all();
        let before = SignedDuration::from_millis(1);
        let earliest = late.values().map(|it| earlier(it.expires_at, before)).min();
        let since = self.told_until.min(earliest.unwrap_or(self.told_until));
        for stop in silent(&fleet.records, since, until).await? {
            let is_due = match late.get(&stop.id) {
                Some(recorded) => recorded.is_due(until),
                None => stop.expires_at > self.told_until,
            };
            if is_due {
                tell(fleet, &stop);
            }
        }
        fleet.control.late.forget(until);
        self.told_until = until.max(self.told_until);
        Ok(())
    }
}

fn tell(fleet: &Fleet, Silent { id, mower, .. }: &Silent) {
    fleet.control.counters.stops_unconfirmed.add();
    tracing::error!(
        %id, %mower,
        "alarm: nobody has said that a stop was carried out, and its life is over"
    );
}

fn earlier(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_sub(by).unwrap_or(Timestamp::MIN)
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
                expires_at: store::time(row.try_get("expires_ms")?)?,
            })
        })
        .collect()
}

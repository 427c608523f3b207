//! Commands that wait for their turn: on record, and published when it comes.
//!
//! Much may happen while one waits, at any replica. So immediately before it is
//! sent the records are asked whether it may be still: a mower that was calmed
//! after it was asked is not set in motion, and a decision on something that has
//! changed since is carried out by nobody.
//!
//! What cannot be sent in its life ends `expired`. That is no guess: nobody
//! else can have sent it. A process that dies leaves such commands pending;
//! they become overdue and are never sent by anybody later.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::bulk::places::{self, Place};
use super::counters::HandedOn;
use super::issue::{self, Handed};
use super::record::{Outcome, Record};
use super::{status, unsent};
use crate::bus::Published;
use crate::contract::Status;
use crate::records::RecordsError;
use crate::service::Fleet;

#[cfg(test)]
mod tests;

/// The longest sleep between two looks at the clock, which may be set.
const LOOK: Duration = Duration::from_millis(200);

/// What waits for its turn.
#[derive(Debug, Default)]
pub struct Paced {
    waiting: Mutex<BTreeMap<(Timestamp, Uuid), Waiting>>,
    changed: Notify,
}

/// A command that waits.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// The command.
    pub record: Record,
    /// The highest revision of what it was decided on.
    pub judged: u64,
}

impl Paced {
    /// Adds commands, each with its turn.
    pub fn add(&self, commands: impl IntoIterator<Item = (Timestamp, Waiting)>) {
        let mut waiting = self.lock();
        for (turn, command) in commands {
            waiting.insert((turn, command.record.envelope.command_id), command);
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// How many wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lock().len()
    }

    /// Whether none waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Takes those whose turn has come.
    fn due(&self, now: Timestamp) -> Vec<Waiting> {
        let mut waiting = self.lock();
        let later = waiting.split_off(&(now, Uuid::max()));
        std::mem::replace(&mut *waiting, later)
            .into_values()
            .collect()
    }

    /// Takes all.
    fn drain(&self) -> Vec<Waiting> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Timestamp, Uuid), Waiting>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends what waits, each at its turn, for as long as the service lives.
pub async fn run(fleet: &Arc<Fleet>) {
    let paced = &fleet.control.paced;
    // One mower's holder that is slow to say that it is there delays no other's turn.
    let mut sending = JoinSet::new();
    loop {
        let fleet = Arc::clone(fleet);
        sending.spawn(async move { send_due(&fleet).await });
        while sending.try_join_next().is_some() {}
        if paced.is_empty() {
            paced.changed.notified().await;
        } else {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Sends those whose turn has come, all at once.
pub async fn send_due(fleet: &Arc<Fleet>) {
    let due = fleet.control.paced.due(fleet.now());
    if due.is_empty() {
        return;
    }
    let places = present(fleet, &due).await;
    let sending = due.iter().map(|it| send(fleet, it, places.as_ref()));
    futures_util::future::join_all(sending).await;
}

/// Where the mowers of these commands stand now.
async fn present(fleet: &Fleet, due: &[Waiting]) -> Result<HashMap<Uuid, Place>, RecordsError> {
    let mowers: Vec<Uuid> = due.iter().map(|it| it.record.envelope.mower_id).collect();
    let mut records = fleet.records.pool().acquire().await?;
    let places = places::of(&mut records, &mowers).await?;
    for (mower, place) in &places {
        fleet.control.epochs.learn(*mower, place.stop_epoch);
    }
    Ok(places)
}

async fn send(
    fleet: &Fleet,
    waiting: &Waiting,
    places: Result<&HashMap<Uuid, Place>, &RecordsError>,
) {
    let record = &waiting.record;
    let id = record.envelope.command_id;
    let outcome = match overtaken(fleet, waiting, places) {
        Some((status, reason)) => Some(Outcome::ended(status, reason, fleet.now())),
        None => issue::hand_on(fleet, record).await.outcome(fleet.now()),
    };
    if let Some(outcome) = outcome
        && let Err(error) = status::close(&fleet.records, &[id], &outcome).await
    {
        tracing::error!(%id, "the end of a paced command is not recorded: {error}");
    }
}

/// What keeps a command from being sent now.
fn overtaken(
    fleet: &Fleet,
    waiting: &Waiting,
    places: Result<&HashMap<Uuid, Place>, &RecordsError>,
) -> Option<(Status, &'static str)> {
    let envelope = &waiting.record.envelope;
    let counters = &fleet.control.counters;
    if fleet.now() >= envelope.expires_at {
        counters.paced_unsent.add();
        return Some((Status::Expired, unsent::LATE));
    }
    let place = match places {
        Ok(places) => places.get(&envelope.mower_id),
        Err(error) => {
            tracing::warn!("a paced command is not sent without the records: {error}");
            return Some((Status::Failed, unsent::UNSEEN));
        }
    };
    let Some(place) = place.filter(|place| place.highest <= waiting.judged) else {
        return Some((Status::Rejected, unsent::STALE));
    };
    // SAFETY-STOP: what was asked before it must not undo a calming command. One
    // that is recorded from here on is compared by the mower's gateway.
    let kind = envelope.command.kind();
    if kind.yields_to_calming() && place.calm_epoch > envelope.calm_epoch {
        counters.commands.add(kind, HandedOn::Superseded);
        return Some((Status::Rejected, unsent::CALMED));
    }
    None
}

/// Ends what still waits when the service ends.
pub async fn end(fleet: &Fleet) {
    let waiting = fleet.control.paced.drain();
    let ids: Vec<Uuid> = waiting
        .iter()
        .map(|it| it.record.envelope.command_id)
        .collect();
    let outcome = Outcome::ended(Status::Failed, unsent::ENDED, fleet.now());
    if let Err(error) = status::close(&fleet.records, &ids, &outcome).await {
        tracing::error!("the ends of paced commands are not recorded: {error}");
    }
}

/// Whether a command that was handed on is with the bus.
pub(super) fn is_stored(handed: &Handed) -> bool {
    matches!(handed, Handed::Tried(Published::Stored { .. }))
}

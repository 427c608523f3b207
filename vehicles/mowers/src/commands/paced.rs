//! Commands that wait for their turn: on record, and published when it comes.
//!
//! What cannot be sent in its life ends `expired`. That is no guess: nobody
//! else can have sent it. A process that dies leaves such commands pending;
//! they become overdue and are never sent by anybody later.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use uuid::Uuid;

use super::issue::{self, Handed};
use super::record::{Outcome, Record};
use super::status;
use crate::bus::Published;
use crate::contract::Status;
use crate::service::Fleet;

#[cfg(test)]
mod tests;

/// The longest sleep between two looks at the clock, which may be set.
const LOOK: Duration = Duration::from_millis(200);

/// What waits for its turn.
#[derive(Debug, Default)]
pub struct Paced {
    waiting: Mutex<BTreeMap<(Timestamp, Uuid), Record>>,
    changed: Notify,
}

impl Paced {
    /// Adds commands, each with its turn.
    pub fn add(&self, commands: impl IntoIterator<Item = (Timestamp, Record)>) {
        let mut waiting = self.lock();
        for (turn, record) in commands {
            waiting.insert((turn, record.envelope.command_id), record);
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
    fn due(&self, now: Timestamp) -> Vec<Record> {
        let mut waiting = self.lock();
        let later = waiting.split_off(&(now, Uuid::max()));
        std::mem::replace(&mut *waiting, later)
            .into_values()
            .collect()
    }

    /// Takes all.
    fn drain(&self) -> Vec<Record> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(Timestamp, Uuid), Record>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Sends what waits, each at its turn, for as long as the service lives.
pub async fn run(fleet: &Arc<Fleet>) {
    let paced = &fleet.control.paced;
    loop {
        send_due(fleet).await;
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
    let sending = due.iter().map(|record| send(fleet, record));
    futures_util::future::join_all(sending).await;
}

async fn send(fleet: &Fleet, record: &Record) {
    let now = fleet.now();
    let id = record.envelope.command_id;
    let unsent = now >= record.envelope.expires_at;
    let outcome = match unsent {
        true => {
            fleet.control.counters.paced_unsent.add();
            Some(ended(
                Status::Expired,
                "unsent: its turn came after its life",
                now,
            ))
        }
        false => issue::hand_on(fleet, record).await.outcome(fleet.now()),
    };
    if let Some(outcome) = outcome
        && let Err(error) = status::close(&fleet.records, &[id], &outcome).await
    {
        tracing::error!(%id, "the end of a paced command is not recorded: {error}");
    }
}

/// Ends what still waits when the service ends.
pub async fn end(fleet: &Fleet) {
    let waiting = fleet.control.paced.drain();
    let ids: Vec<Uuid> = waiting.iter().map(|it| it.envelope.command_id).collect();
    let outcome = ended(
        Status::Failed,
        "service-ended: it was not sent",
        fleet.now(),
    );
    if let Err(error) = status::close(&fleet.records, &ids, &outcome).await {
        tracing::error!("the ends of paced commands are not recorded: {error}");
    }
}

fn ended(status: Status, reason: &str, now: Timestamp) -> Outcome {
    Outcome {
        status,
        reason: Some(reason.to_owned()),
        result_at: Some(now),
        late: None,
    }
}

/// Whether a command that was handed on is with the bus.
pub(super) fn is_stored(handed: &Handed) -> bool {
    matches!(handed, Handed::Tried(Published::Stored { .. }))
}

//! One final for each command id, remembered for a day: whatever comes twice,
//! late or out of order gets the same result and never acts again.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::{SignedDuration, Timestamp};
use tokio::sync::watch;
use uuid::Uuid;

use super::journal::{Journal, JournalError, Line};
use super::metrics::Metrics;
use super::wire::MowerEntry;
use crate::contract::{CommandResult, Envelope, Priority, Status};

mod mark;
mod memory;

#[cfg(test)]
mod tests;

pub(crate) use mark::StopMark;
pub(crate) use memory::Stage;
use memory::{Entry, Memory};

/// How long a final is remembered.
const LIFE: SignedDuration = SignedDuration::from_hours(24);

/// What became of settling a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// This is its final.
    First,
    /// It had the same one.
    Same,
    /// It had another one, which stays.
    Late,
    /// Nobody knows the command.
    Unknown,
}

/// The memory of a device gateway.
pub(crate) struct Ledger {
    memory: Mutex<Memory>,
    journal: Journal,
    changes: watch::Sender<u64>,
    metrics: Arc<Metrics>,
    room: usize,
}

impl Ledger {
    /// Reads what an earlier process left. What it took and never sent has
    /// failed: that much is known. What it was sending stays open; only the
    /// vendor can still say what became of it.
    pub(crate) async fn open(
        folder: &Path,
        room: usize,
        now: Timestamp,
        metrics: Arc<Metrics>,
    ) -> Result<Self, JournalError> {
        let (journal, lines) = Journal::open(folder)?;
        let mut memory = Memory::default();
        for line in lines {
            memory.take_in(line);
        }
        let ledger = Ledger {
            memory: Mutex::new(memory),
            journal,
            changes: watch::Sender::new(0),
            metrics,
            room,
        };
        let unsent: Vec<Uuid> = ledger
            .lock()
            .entries
            .iter()
            .filter(|(_, entry)| entry.stage == Stage::Taken)
            .map(|(id, _)| *id)
            .collect();
        for command_id in unsent {
            let reason = Some("gateway-restarted: it was not sent".to_owned());
            ledger.settle(command_id, Status::Failed, reason, now).await;
        }
        ledger.prune(now).await;
        Ok(ledger)
    }

    /// How far a command came, if it is known.
    pub(crate) fn stage(&self, command_id: Uuid) -> Option<Stage> {
        let memory = self.lock();
        memory
            .entries
            .get(&command_id)
            .map(|entry| entry.stage.clone())
    }

    /// Its final, if there is one.
    pub(crate) fn finished(&self, command_id: Uuid) -> Option<CommandResult> {
        match self.stage(command_id) {
            Some(Stage::Final(result)) => Some(result),
            _ => None,
        }
    }

    /// Writes down that a command is here. Known ones stay as they are.
    pub(crate) async fn take(&self, envelope: &Envelope, now: Timestamp) {
        // Not synced: were it lost, the command would stay open, which is the truth.
        let lines = self.note(envelope, now);
        self.write(lines, false).await;
    }

    /// Takes in a command in memory alone; gives what [`Ledger::write`] writes.
    /// A stop may have been sent from here on.
    pub(crate) fn note(&self, envelope: &Envelope, now: Timestamp) -> Vec<Line> {
        let command_id = envelope.command_id;
        let mut memory = self.lock();
        if memory.entries.contains_key(&command_id) {
            return Vec::new();
        }
        let stop = envelope.priority == Priority::Emergency;
        let mut lines = vec![Line::Taken {
            command_id,
            mower_id: envelope.mower_id,
            account_id: envelope.account_id.clone(),
            stop,
            at: now,
        }];
        if stop {
            lines.push(Line::Acting { command_id });
        }
        for line in &lines {
            memory.take_in(line.clone());
        }
        lines
    }

    /// Whether a command is a stop.
    pub(crate) fn is_stop(&self, command_id: Uuid) -> bool {
        let memory = self.lock();
        memory
            .entries
            .get(&command_id)
            .is_some_and(|entry| entry.stop)
    }

    /// It stands in its mower's queue.
    pub(crate) fn queued(&self, command_id: Uuid) {
        if let Some(entry) = self.lock().entries.get_mut(&command_id)
            && entry.stage == Stage::Taken
        {
            entry.stage = Stage::Queued;
        }
    }

    /// Must be on the disk before the command is sent; a command that cannot be
    /// remembered must not be sent.
    pub(crate) async fn acting(&self, command_id: Uuid) -> Result<(), JournalError> {
        let line = Line::Acting { command_id };
        let written = self.journal.append(vec![line.clone()], true).await;
        match &written {
            Ok(()) => self.lock().take_in(line),
            Err(cause) => self.failed(cause),
        }
        written
    }

    /// Decides a command, if nobody did before.
    pub(crate) async fn settle(
        &self,
        command_id: Uuid,
        status: Status,
        reason: Option<String>,
        now: Timestamp,
    ) -> Settled {
        let line = {
            let mut memory = self.lock();
            let Some(entry) = memory.entries.get_mut(&command_id) else {
                return Settled::Unknown;
            };
            if let Stage::Final(result) = &entry.stage {
                return if result.status == status {
                    Settled::Same
                } else {
                    Settled::Late
                };
            }
            let result = CommandResult {
                command_id,
                mower_id: entry.mower_id,
                account_id: entry.account_id.clone(),
                status,
                reason: reason.map(|text| text.chars().take(200).collect()),
                at: now,
            };
            entry.stage = Stage::Final(result.clone());
            Line::Final { result }
        };
        self.metrics.finals.add();
        self.write(vec![line], true).await;
        self.change(command_id, |entry| entry.ready = true);
        Settled::First
    }

    /// The same final goes out again.
    pub(crate) fn send_again(&self, command_id: Uuid) {
        self.change(command_id, |entry| entry.published = false);
    }

    /// Finals the stream does not have yet.
    pub(crate) fn unpublished(&self) -> Vec<CommandResult> {
        let memory = self.lock();
        let open = memory
            .entries
            .values()
            .filter(|entry| entry.ready && !entry.published);
        open.filter_map(|entry| match &entry.stage {
            Stage::Final(result) => Some(result.clone()),
            _ => None,
        })
        .collect()
    }

    /// The stream has it.
    pub(crate) async fn published(&self, command_id: Uuid) {
        self.change(command_id, |entry| entry.published = true);
        // Not synced: were it lost, the same result is published once more.
        self.write(vec![Line::Published { command_id }], false)
            .await;
    }

    /// Changes each time something is decided or published.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// The last stop of a mower.
    pub(crate) fn mark(&self, mower_id: Uuid) -> StopMark {
        let memory = self.lock();
        memory.marks.get(&mower_id).copied().unwrap_or_default()
    }

    /// Takes in a stop in memory alone; gives what [`Ledger::write`] writes.
    pub(crate) fn raise(&self, mower_id: Uuid, epoch: u64, issued_at: Timestamp) -> Line {
        let line = Line::Stopped {
            mower_id,
            epoch,
            issued_at,
        };
        self.lock().take_in(line.clone());
        line
    }

    /// The highest calm epoch of a mower.
    pub(crate) fn calm_epoch(&self, mower_id: Uuid) -> u64 {
        let memory = self.lock();
        memory.calms.get(&mower_id).copied().unwrap_or_default()
    }

    /// Takes in a calming command in memory alone; gives what [`Ledger::write`]
    /// writes.
    pub(crate) fn calm(&self, mower_id: Uuid, epoch: u64) -> Line {
        let line = Line::Calmed { mower_id, epoch };
        self.lock().take_in(line.clone());
        line
    }

    /// The records know of epochs that this process did not see.
    pub(crate) fn raise_epochs(&self, entry: &MowerEntry) {
        let mut memory = self.lock();
        let mark = memory.marks.entry(entry.mower_id).or_default();
        mark.epoch = mark.epoch.max(entry.stop_epoch);
        let calmed = memory.calms.entry(entry.mower_id).or_default();
        *calmed = (*calmed).max(entry.calm_epoch);
    }

    /// Forgets what is older than a day, and the oldest when there is no room.
    /// The stream of commands keeps minutes, so neither can come again.
    pub(crate) async fn prune(&self, now: Timestamp) {
        let lines = {
            let mut memory = self.lock();
            let oldest = now.saturating_sub(LIFE).unwrap_or(now);
            for _ in 0..memory.forget(oldest, self.room) {
                self.metrics.forgotten_early.add();
            }
            memory.lines()
        };
        if self.journal.lines() > lines.len().saturating_mul(2).saturating_add(1_000)
            && let Err(cause) = self.journal.rewrite(lines).await
        {
            self.failed(&cause);
        }
    }

    /// Gives the state folder free.
    pub(crate) async fn close(&self) {
        if let Err(cause) = self.journal.close().await {
            self.failed(&cause);
        }
    }

    fn change(&self, command_id: Uuid, how: impl FnOnce(&mut Entry)) {
        if let Some(entry) = self.lock().entries.get_mut(&command_id) {
            how(entry);
        }
        self.changes
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Writes what may be lost rather than hold anything up.
    pub(crate) async fn write(&self, lines: Vec<Line>, sync: bool) {
        if lines.is_empty() {
            return;
        }
        if let Err(cause) = self.journal.append(lines, sync).await {
            self.failed(&cause);
        }
    }

    fn failed(&self, cause: &JournalError) {
        self.metrics.journal_failures.add();
        tracing::error!(%cause, "the journal was not written");
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! What waits for the writer.
//!
//! A record that somebody waits for, or that must not be lost, wakes the writer
//! at once. Reads and refusals come by the thousand and nobody waits for them:
//! they are gathered, so that a wake-up and an append are paid for a group.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use crate::audit::AuditError;
use crate::audit::writer::{Fate, Waiting};

/// Most records in one append.
const MAX_GROUP: usize = 1024;

/// How long records that nobody waits for are gathered.
const GATHER: Duration = Duration::from_millis(5);

/// Records on their way from the requests to the writer.
#[derive(Default)]
pub(super) struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waiting>,
    /// Something in it must not wait for more.
    urgent: bool,
    closing: Option<oneshot::Sender<bool>>,
    /// Nobody is left who could send.
    abandoned: bool,
    /// Nobody is left who would write.
    ended: bool,
}

/// What the writer takes at once.
pub(super) struct Group {
    /// The records, in order; none when the patience ended first.
    pub(super) records: Vec<Waiting>,
    /// Nothing comes behind these: write the end, and tell.
    pub(super) closing: Option<oneshot::Sender<bool>>,
    /// Nothing comes behind these, and nobody is there to be told.
    pub(super) last: bool,
}

impl Queue {
    /// Puts a record behind the others.
    pub(super) fn send(&self, record: Waiting) -> Result<(), AuditError> {
        let gathered = matches!(record.fate, Fate::Drop);
        let mut state = self.state();
        if state.ended || state.closing.is_some() {
            return Err(AuditError::Closed);
        }
        let first = state.waiting.is_empty();
        state.waiting.push_back(record);
        let full = state.waiting.len() == MAX_GROUP;
        let wake = (!gathered && !state.urgent) || first || full;
        state.urgent |= !gathered;
        drop(state);
        if wake {
            self.changed.notify_one();
        }
        Ok(())
    }

    /// Asks for the end; it is told when everything before it is written.
    pub(super) fn close(&self, ack: oneshot::Sender<bool>) -> Result<(), AuditError> {
        let mut state = self.state();
        if state.ended || state.closing.is_some() {
            return Err(AuditError::Closed);
        }
        state.closing = Some(ack);
        drop(state);
        self.changed.notify_one();
        Ok(())
    }

    /// The last who could send is gone.
    pub(super) fn abandon(&self) {
        self.state().abandoned = true;
        self.changed.notify_one();
    }

    /// The writer is gone: whoever waits is told by the loss of its sender.
    pub(super) fn end(&self) {
        let mut state = self.state();
        state.ended = true;
        state.waiting.clear();
        state.closing = None;
    }

    /// The next group: waits for its first record, at most `patience`, and
    /// gathers more unless one is urgent.
    pub(super) fn take(&self, patience: Option<Duration>) -> Group {
        let mut state = self.wait(self.state(), patience, |state| {
            state.waiting.is_empty() && !state.is_over()
        });
        if !state.waiting.is_empty() {
            state = self.wait(state, Some(GATHER), |state| {
                !state.urgent && !state.is_over() && state.waiting.len() < MAX_GROUP
            });
        }
        let count = state.waiting.len().min(MAX_GROUP);
        let records = state.waiting.drain(..count).collect();
        let rest = !state.waiting.is_empty();
        // What is left behind a full group has waited long enough.
        state.urgent = rest;
        Group {
            records,
            closing: if rest { None } else { state.closing.take() },
            last: !rest && state.abandoned,
        }
    }

    fn wait<'a>(
        &self,
        state: MutexGuard<'a, State>,
        patience: Option<Duration>,
        idle: impl Fn(&State) -> bool,
    ) -> MutexGuard<'a, State> {
        let Some(patience) = patience else {
            let woken = self.changed.wait_while(state, |state| idle(state));
            return woken.unwrap_or_else(PoisonError::into_inner);
        };
        let woken = self
            .changed
            .wait_timeout_while(state, patience, |state| idle(state));
        woken.unwrap_or_else(PoisonError::into_inner).0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_over(&self) -> bool {
        self.closing.is_some() || self.abandoned
    }
}

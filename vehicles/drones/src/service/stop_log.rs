//! The last stops, by their operation: begun, and how they were answered.
//!
//! A stop waits for no disk, so it is remembered here first and written down after. What is
//! written while it runs says that it may have stopped the swarm: true whatever comes next.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use uuid::Uuid;

use crate::operations::StopAnswered;

/// How many stops are remembered; a disk that is gone for longer than this many loses the oldest.
const KEEP: usize = 1024;

/// The last stops.
#[derive(Debug, Default)]
pub(super) struct StopLog {
    /// Oldest first.
    stops: Mutex<VecDeque<Noted>>,
    changed: Notify,
}

#[derive(Debug)]
struct Noted {
    stop: StopAnswered,
    over: bool,
    recorded: bool,
}

impl StopLog {
    /// A stop begins; `unanswered` is what it comes to when this process ends before it does.
    pub(super) fn begin(&self, unanswered: StopAnswered) {
        self.note(unanswered, false);
    }

    /// A stop was answered.
    pub(super) fn end(&self, stop: StopAnswered) {
        self.note(stop, true);
        self.changed.notify_one();
    }

    /// How a stop was answered; `None` inside: it runs.
    pub(super) fn find(&self, operation: Uuid) -> Option<Option<StopAnswered>> {
        let stops = self.lock();
        let found = stops.iter().find(|noted| noted.stop.operation == operation);
        found.map(|noted| noted.over.then(|| noted.stop.clone()))
    }

    /// Waits until there are stops that are not on disk.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn unrecorded(&self) -> Vec<StopAnswered> {
        let stops = self.lock();
        let open = stops.iter().filter(|noted| !noted.recorded);
        open.map(|noted| noted.stop.clone()).collect()
    }

    /// These are on disk; what has changed since then is not.
    pub(super) fn mark_recorded(&self, recorded: &[StopAnswered]) {
        for noted in self.lock().iter_mut() {
            noted.recorded = noted.recorded || recorded.contains(&noted.stop);
        }
    }

    fn note(&self, stop: StopAnswered, over: bool) {
        let mut stops = self.lock();
        // A repeated stop is sent again, and its last answer is the one that counts.
        stops.retain(|noted| noted.stop.operation != stop.operation);
        if stops.len() >= KEEP {
            stops.pop_front();
        }
        stops.push_back(Noted {
            stop,
            over,
            recorded: false,
        });
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Noted>> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! How the last stops were answered, by their operation.
//!
//! A stop waits for no disk, so it is remembered here first and written down after.

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
    /// Oldest first, and whether each is on disk.
    stops: Mutex<VecDeque<(StopAnswered, bool)>>,
    changed: Notify,
}

impl StopLog {
    pub(super) fn note(&self, stop: StopAnswered) {
        let mut stops = self.lock();
        if stops.len() >= KEEP {
            stops.pop_front();
        }
        stops.push_back((stop, false));
        self.changed.notify_one();
    }

    pub(super) fn find(&self, operation: Uuid) -> Option<StopAnswered> {
        let stops = self.lock();
        let mut newest_first = stops.iter().rev();
        let found = newest_first.find(|(stop, _)| stop.operation == operation);
        found.map(|(stop, _)| stop.clone())
    }

    /// Waits until there are stops that are not on disk.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    pub(super) fn unrecorded(&self) -> Vec<StopAnswered> {
        let stops = self.lock();
        let open = stops.iter().filter(|(_, recorded)| !recorded);
        open.map(|(stop, _)| stop.clone()).collect()
    }

    pub(super) fn mark_recorded(&self, recorded: &[StopAnswered]) {
        for (stop, on_disk) in self.lock().iter_mut() {
            *on_disk = *on_disk || recorded.contains(stop);
        }
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(StopAnswered, bool)>> {
        self.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

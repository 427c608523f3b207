//! The operations that this process is at.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;
use uuid::Uuid;

/// Proof that this process is at an operation; dropping it says that it is not any more.
#[derive(Debug)]
pub struct Running {
    id: Uuid,
    all: Arc<AllRunning>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.all.change(|ids| ids.remove(&self.id));
    }
}

/// The operations this process is at.
#[derive(Debug, Default)]
pub(super) struct AllRunning {
    ids: Mutex<HashSet<Uuid>>,
    count: watch::Sender<usize>,
}

impl AllRunning {
    /// Takes `id` up, unless somebody in this process is at it.
    pub(super) fn run(self: &Arc<Self>, id: Uuid) -> Option<Running> {
        let all = Arc::clone(self);
        all.change(|ids| ids.insert(id))
            .then(|| Running { id, all })
    }

    pub(super) fn contains(&self, id: Uuid) -> bool {
        let ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        ids.contains(&id)
    }

    /// Waits until nothing runs.
    pub(super) async fn all_ended(&self) {
        let mut count = self.count.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        let _ = count.wait_for(|count| *count == 0).await;
    }

    fn change(&self, change: impl FnOnce(&mut HashSet<Uuid>) -> bool) -> bool {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        let changed = change(&mut ids);
        self.count.send_replace(ids.len());
        changed
    }
}

//! Events that are committed with the change they tell of, and published after it.

use tokio::sync::Notify;

/// Wakes the publisher.
#[derive(Debug, Default)]
pub struct Outbox(Notify);

impl Outbox {
    /// There is something to publish.
    pub fn wake(&self) {
        self.0.notify_one();
    }
}

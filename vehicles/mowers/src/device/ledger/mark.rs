//! When a mower was stopped last.

use jiff::Timestamp;

/// The last stop of a mower: what was issued before must not move it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StopMark {
    /// The highest epoch seen.
    pub(crate) epoch: u64,
    /// When the latest stop was issued.
    pub(crate) issued_at: Option<Timestamp>,
}

impl StopMark {
    /// Whether a command was issued before the stop. Two rules, because neither
    /// sees all: a stop that could not be read has no epoch, and a command of a
    /// replica that has not heard of the stop, and whose clock is ahead, is issued
    /// after it and has a lower epoch.
    pub(crate) fn supersedes(&self, epoch: u64, issued_at: Timestamp) -> bool {
        epoch < self.epoch || self.issued_at.is_some_and(|stop| issued_at <= stop)
    }

    pub(super) fn raise(&mut self, epoch: u64, issued_at: Timestamp) {
        self.epoch = self.epoch.max(epoch);
        self.issued_at = self.issued_at.max(Some(issued_at));
    }
}

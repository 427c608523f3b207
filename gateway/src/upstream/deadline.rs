//! The deadlines of one call, nested: connect, attempt, total.

use std::time::Duration;

use interlock_surface::Timeout;
use tokio::time::Instant;

/// How long a call may take, part by part (connect < attempt <= total).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    /// To a free place in the lane and an open connection.
    pub(super) connect: Duration,
    /// To the response head, connecting included.
    pub(super) attempt: Duration,
    /// To the last byte of the response, repeated attempts included; for a
    /// stream, to the response head.
    pub(super) total: Duration,
}

impl From<&Timeout> for Budget {
    fn from(timeout: &Timeout) -> Self {
        let millis = |millis: u32| Duration::from_millis(u64::from(millis));
        Self {
            connect: millis(timeout.connect_ms),
            attempt: millis(timeout.attempt_ms),
            total: millis(timeout.total_ms),
        }
    }
}

/// The instants a budget ends at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    pub(super) total: Instant,
    budget: Budget,
}

/// The instants one attempt ends at; never later than the call's own end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) connect: Instant,
    pub(super) head: Instant,
    pub(super) total: Instant,
}

impl Deadline {
    pub(super) fn start(budget: &Budget) -> Self {
        Self {
            total: Instant::now() + budget.total,
            budget: *budget,
        }
    }

    /// A new attempt, starting now.
    pub(super) fn attempt(&self) -> Attempt {
        let now = Instant::now();
        Attempt {
            connect: self.total.min(now + self.budget.connect),
            head: self.total.min(now + self.budget.attempt),
            total: self.total,
        }
    }

    /// Whether another attempt after `pause` would still begin in time.
    pub(super) fn allows(&self, pause: Duration) -> bool {
        Instant::now() + pause < self.total
    }

    /// Whether another attempt after `pause` would have all its time.
    pub(super) fn allows_whole(&self, pause: Duration) -> bool {
        Instant::now() + pause + self.budget.attempt <= self.total
    }
}

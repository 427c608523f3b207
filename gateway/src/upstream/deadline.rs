//! The deadlines of one call, nested: connect, attempt, total.

use std::time::Duration;

use interlock_surface::Timeout;
use tokio::time::Instant;

/// How long a call may take, part by part (connect < attempt <= total).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget {
    /// To a free place in the lane and an open connection, at one address.
    pub(super) connect: Duration,
    /// To the response head, connecting included. A stop is not given up then;
    /// it is sent to another address beside.
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
    connect: Duration,
    pub(super) head: Instant,
    pub(super) total: Instant,
}

impl Deadline {
    /// A call to a service of so many addresses. Connecting to all of them in
    /// vain still leaves an attempt the time for an answer.
    pub(super) fn start(budget: &Budget, addresses: usize) -> Self {
        let parts = u32::try_from(addresses).unwrap_or(u32::MAX);
        let part = budget.attempt / parts.saturating_add(1);
        let connect = match addresses {
            1 => budget.connect,
            _ => budget.connect.min(part),
        };
        Self {
            total: Instant::now() + budget.total,
            budget: Budget { connect, ..*budget },
        }
    }

    /// A new attempt, starting now.
    pub(super) fn attempt(&self) -> Attempt {
        Attempt {
            connect: self.budget.connect,
            head: self.total.min(Instant::now() + self.budget.attempt),
            total: self.total,
        }
    }

    /// An attempt that may take all the time that is left.
    pub(super) fn patient(&self) -> Attempt {
        Attempt {
            head: self.total,
            ..self.attempt()
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

impl Attempt {
    /// When a connection that is begun now has to be open.
    pub(super) fn connect(&self) -> Instant {
        self.head.min(Instant::now() + self.connect)
    }
}

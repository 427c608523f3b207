//! The clock of tests of the simulation.

use std::time::Duration;

use interlock_guard::Clock;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A clock that moves with the runtime's: in a test whose time is paused it
/// stands until the test lets it move.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RuntimeClock {
    start: Timestamp,
    origin: Instant,
}

impl RuntimeClock {
    /// A clock that shows `start` now. Needs a runtime.
    #[must_use]
    pub(crate) fn starting(start: Timestamp) -> Self {
        Self {
            start,
            origin: Instant::now(),
        }
    }
}

impl Clock for RuntimeClock {
    fn now(&self) -> Timestamp {
        let passed: Duration = self.origin.elapsed();
        SignedDuration::try_from(passed)
            .ok()
            .and_then(|passed| self.start.checked_add(passed).ok())
            .unwrap_or(self.start)
    }
}

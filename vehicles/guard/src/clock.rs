//! The time, injected so that expiry can be tested without waiting.

use jiff::Timestamp;

/// Where the present comes from.
pub trait Clock: Send + Sync {
    /// The present moment, UTC.
    fn now(&self) -> Timestamp;
}

/// The machine's own clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

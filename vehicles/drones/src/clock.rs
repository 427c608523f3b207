//! The wall clock as an argument, so that a test decides what time it is.

use jiff::Timestamp;

/// Tells the time.
pub trait Clock: Send + Sync {
    /// The present instant, UTC.
    fn now(&self) -> Timestamp;
}

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        Timestamp::now()
    }
}

//! How often the swarm was stopped, and when last.
//!
//! Every stop raises the epoch before anything else happens, so that no motion asked earlier can
//! still go out. Memory comes first; the disk follows in the background, because a stop waits
//! for no disk.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::watch;

#[cfg(test)]
mod tests;

/// How far the epoch leaps after a life that broke off: further than any life stops, and so short
/// that a leap a minute reaches the end of the exact integers of JSON (2^53) in 16,000 years.
pub const LEAP: u64 = 1 << 20;

/// The stops so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stops {
    /// Their number.
    pub epoch: u64,
    /// When the last one came; none yet: `None`.
    pub last: Option<Timestamp>,
}

impl Stops {
    /// Whether motion asked at `asked_at` was asked before the last stop, or in the same instant.
    #[must_use]
    pub fn after(&self, asked_at: Timestamp) -> bool {
        self.last.is_some_and(|last| asked_at <= last)
    }

    /// These and all that may have come since without being recorded, the last one `now`.
    #[must_use]
    pub fn leap(self, now: Timestamp) -> Self {
        Self {
            epoch: self.epoch.saturating_add(LEAP),
            last: Some(self.last.map_or(now, |last| last.max(now))),
        }
    }
}

/// The present stop epoch of the swarm.
#[derive(Debug)]
pub struct StopEpoch {
    stops: Mutex<Stops>,
    raised: watch::Sender<Stops>,
    recorded: watch::Sender<u64>,
}

impl StopEpoch {
    /// Goes on from what was recorded.
    #[must_use]
    pub fn new(recorded: Stops) -> Self {
        Self {
            stops: Mutex::new(recorded),
            raised: watch::Sender::new(recorded),
            recorded: watch::Sender::new(recorded.epoch),
        }
    }

    /// The present stops.
    #[must_use]
    pub fn current(&self) -> Stops {
        *self.stops.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a stop that came `now`, and returns the new epoch. Waits for nothing.
    pub fn raise(&self, now: Timestamp) -> u64 {
        let mut stops = self.stops.lock().unwrap_or_else(PoisonError::into_inner);
        stops.epoch = stops.epoch.saturating_add(1);
        // A clock set back must not make an earlier stop later than this one.
        stops.last = Some(stops.last.map_or(now, |last| last.max(now)));
        self.raised.send_replace(*stops);
        stops.epoch
    }

    /// Waits until there are stops that are not recorded yet, and returns them.
    pub async fn unrecorded(&self) -> Stops {
        let mut raised = self.raised.subscribe();
        let newer = raised.wait_for(|stops| stops.epoch > *self.recorded.borrow());
        // The sender lives in `self`, so the wait cannot fail.
        newer.await.map_or_else(|_| self.current(), |stops| *stops)
    }

    /// Says that all stops up to `epoch` are durable.
    pub fn mark_recorded(&self, epoch: u64) {
        self.recorded.send_if_modified(|recorded| {
            let newer = epoch > *recorded;
            *recorded = epoch.max(*recorded);
            newer
        });
    }

    /// Waits until the stop `epoch` is durable, at most `patience`; whether it is.
    pub async fn is_recorded(&self, epoch: u64, patience: Duration) -> bool {
        let mut recorded = self.recorded.subscribe();
        let reached = recorded.wait_for(|recorded| *recorded >= epoch);
        matches!(tokio::time::timeout(patience, reached).await, Ok(Ok(_)))
    }
}

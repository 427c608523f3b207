//! What happened so often, for whoever watches the service.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts that only rise.
#[derive(Debug, Default)]
pub struct Counters {
    /// Results that said nothing new.
    pub results_same: Count,
    /// Results for commands nobody knows.
    pub results_unknown: Count,
    /// Results from somebody who does not hold the mower.
    pub results_foreign: Count,
    /// Second, different finals.
    pub results_conflicting: Count,
    /// Messages that cannot be read.
    pub results_unreadable: Count,
    /// Publishes that the bus refused.
    pub publish_refused: Count,
    /// Publishes that nobody confirmed.
    pub publish_unconfirmed: Count,
    /// Attempts to hand a stop on.
    pub stop_attempts: Count,
    /// Stops that nobody confirmed in time.
    pub stops_failed: Count,
    /// Stops that went to the spool.
    pub stops_spooled: Count,
    /// Stops that were decided without the gateway.
    pub stops_degraded: Count,
    /// Paced commands that were not sent in their life.
    pub paced_unsent: Count,
    /// Rows that were purged.
    pub purged: Count,
}

/// One count.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// One more.
    pub fn add(&self) {
        self.add_many(1);
    }

    /// So many more.
    pub fn add_many(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    /// So many.
    #[must_use]
    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

//! Tells every gateway that this service lives, and how its parts are.
//!
//! Nothing here is needed to stop a mower, so the service never waits for it.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::MissedTickBehavior;

use crate::service::{Fleet, health};

/// Between two heartbeats.
const BEAT: Duration = Duration::from_secs(1);

/// Failures in a row between two lines in the log.
const LOG_EVERY: u32 = 60;

/// Beats for ever.
pub async fn run(fleet: Arc<Fleet>) {
    let mut ticks = tokio::time::interval(BEAT);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut failures: u32 = 0;
    loop {
        ticks.tick().await;
        let checks = health::checks(&fleet).await;
        let failed = fleet.gateway.beat(&checks).await;
        match failed.first() {
            None => failures = 0,
            Some(error) => {
                if failures.is_multiple_of(LOG_EVERY) {
                    tracing::warn!(failures, "a gateway does not hear the heartbeat: {error}");
                }
                failures = failures.saturating_add(1);
            }
        }
    }
}

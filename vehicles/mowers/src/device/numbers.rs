//! How it goes, in numbers.

use std::sync::Arc;

use interlock_guard::ops::Exposition;
use tokio::sync::watch;

use super::held::{Held, lock};
use super::shared::Shared;

#[cfg(test)]
mod tests;

/// What a device gateway is told from; it may outlive it.
#[derive(Clone)]
pub struct Numbers {
    shared: Arc<Shared>,
    told: watch::Receiver<bool>,
}

impl Numbers {
    pub(super) fn new(shared: Arc<Shared>, told: watch::Receiver<bool>) -> Self {
        Self { shared, told }
    }

    /// Writes them down as they are now.
    pub fn write(&self, exposition: &mut Exposition) {
        for (name, help, value) in self.shared.metrics.read().each() {
            exposition.counter(name, help, value);
        }
        let ready = *self.told.borrow() && self.shared.bus.connected();
        let held = self.shared.all_held();
        let sum = |of: fn(&Held) -> usize| held.iter().map(|held| of(held)).sum::<usize>();
        let parked = lock(&self.shared.parked).values().map(Vec::len).sum();
        let gauges = [
            (
                "interlock_device_ready",
                "1 while the fleet service has told it what it holds, and the bus answers",
                usize::from(ready),
            ),
            (
                "interlock_device_mowers_held",
                "Mowers whose lease this shard has",
                held.len(),
            ),
            (
                "interlock_device_commands_waiting",
                "Commands that wait for their mower",
                sum(|held| held.queue.len()),
            ),
            (
                "interlock_device_stops_under_way",
                "Stops that are neither confirmed nor over",
                sum(|held| lock(&held.stops).len()),
            ),
            (
                "interlock_device_stops_parked",
                "Stops of mowers that this shard does not hold, kept in case it gets them in time",
                parked,
            ),
            (
                "interlock_device_drive_sessions",
                "Mowers that somebody drives by hand",
                sum(|held| usize::from(lock(&held.driving).is_some())),
            ),
            (
                "interlock_device_results_unpublished",
                "Finals that the bus does not have yet",
                self.shared.ledger.unpublished().len(),
            ),
        ];
        for (name, help, value) in gauges {
            exposition.gauge(name, help, u64::try_from(value).unwrap_or(u64::MAX));
        }
    }
}

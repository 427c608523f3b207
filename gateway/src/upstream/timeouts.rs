//! The deadlines of each timeout class: the surface's, or the configured ones.

use std::time::Duration;

use interlock_surface::Timeout;

use crate::config::TimeoutOverride;

/// Deadlines by timeout class.
#[derive(Debug, Default)]
pub struct Timeouts {
    changed: Vec<Timeout>,
}

impl Timeouts {
    /// The surface's deadlines, with these laid over them.
    pub fn new(overrides: &[TimeoutOverride]) -> Self {
        let changed = overrides.iter().map(|change| Timeout {
            name: change.name,
            connect_ms: millis(change.connect),
            attempt_ms: millis(change.attempt),
            total_ms: millis(change.total),
            gateway_ms: millis(change.gateway),
        });
        Timeouts {
            changed: changed.collect(),
        }
    }

    /// The deadlines of this class here.
    pub fn of<'a>(&'a self, class: &'a Timeout) -> &'a Timeout {
        let changed = self.changed.iter().find(|change| change.name == class.name);
        changed.unwrap_or(class)
    }
}

fn millis(duration: Duration) -> u32 {
    u32::try_from(duration.as_millis()).unwrap_or(u32::MAX)
}

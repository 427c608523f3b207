//! The mower service behind the gateway: commands per second, a command to
//! many, and an emergency stop of a whole fleet.
//!
//! Everything runs as it would be run: the gateway, the service, the bus, the
//! records, the device gateway and the simulated mowers. What was done is read
//! from the records, which know only what a mower has confirmed.

mod load;
mod many;
mod records;
mod stack;

use std::time::Duration;

use load::Commands;
use many::{Bulk, Stop};
use stack::{Kind, Stack};

/// How large the fleets are.
#[derive(Clone, Copy, Debug)]
pub struct Fleets {
    /// Mowers that take single commands in turn.
    pub commanded: u32,
    /// Mowers of one command to many, at most 500.
    pub bulk: u32,
    /// Mowers of one emergency stop.
    pub stopped: u32,
    /// How many of those drive when the stop comes.
    pub driving: u32,
}

impl Default for Fleets {
    fn default() -> Fleets {
        Fleets {
            commanded: 1_000,
            bulk: 500,
            stopped: 10_000,
            driving: 100,
        }
    }
}

/// What one stack did.
#[derive(Clone, Debug)]
pub(super) struct Measured {
    pub(super) stack: &'static str,
    pub(super) commands: Commands,
    pub(super) bulk: Bulk,
    pub(super) stop: Stop,
}

/// Measures each stack, one after the other.
///
/// # Panics
/// Where a command is refused, a record is missing, or a mower has not
/// confirmed what it was told.
pub(super) async fn measure(fleets: Fleets, seconds: u32) -> Vec<Measured> {
    let mut all = Vec::new();
    for kind in [Kind::Embedded, Kind::Distributed] {
        let stack = Stack::start(kind, fleets.commanded, fleets.bulk).await;
        let commands = load::measure(&stack, seconds).await;
        let bulk = many::bulk(&stack).await;
        drop(stack);
        // A fleet of its own: ten thousand mowers at rest would count as work of
        // the commands.
        let stack = Stack::start(kind, fleets.stopped, 1).await;
        let stop = many::stop(&stack, fleets.driving).await;
        all.push(Measured {
            stack: kind.name(),
            commands,
            bulk,
            stop,
        });
    }
    all
}

/// Milliseconds, for the report.
pub(super) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

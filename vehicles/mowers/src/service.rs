//! The HTTP side of the service: what every handler shares, and the table of handlers.

use std::sync::Arc;

use interlock_guard::Clock;
use jiff::Timestamp;

use crate::bus::Bus;
use crate::crash::Crash;
use crate::gateway_link::GatewayLink;
use crate::hierarchy::outbox::Outbox;
use crate::hierarchy::roster::Roster;
use crate::records::Records;

pub mod answer;
pub mod body;
pub mod call;
pub(crate) mod health;
pub mod problem;
pub mod router;
pub mod server;
pub mod settings;
pub mod settle;

use settings::Settings;

/// The name of this service in the surface, in grants and in the feed.
pub const SERVICE: &str = "mowers";

/// Everything a handler needs.
pub struct Fleet {
    /// What must survive.
    pub records: Records,
    /// The way to the device gateways.
    pub bus: Arc<dyn Bus>,
    /// The time.
    pub clock: Arc<dyn Clock>,
    /// Which mower is where, in memory.
    pub roster: Roster,
    /// The way to the gateway: registry and decisions.
    pub gateway: GatewayLink,
    /// What was configured.
    pub settings: Settings,
    /// Wakes the publisher of what was committed.
    pub outbox: Outbox,
    /// Where a test ends this process.
    pub crash: Crash,
}

impl Fleet {
    /// The present.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

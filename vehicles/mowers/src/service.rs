//! The HTTP side of the service: what every handler shares, and the table of handlers.

use std::sync::Arc;

use interlock_guard::evaluations::{Question, Verdict};
use interlock_guard::{Clock, Granted};
use jiff::Timestamp;

use crate::bus::Bus;
use crate::commands::Control;
use crate::crash::Crash;
use crate::drive::Drives;
use crate::gateway_link::GatewayLink;
use crate::hierarchy::outbox::Outbox;
use crate::hierarchy::roster::Roster;
use crate::preview::Previews;
use crate::records::Records;
use crate::telemetry::Telemetry;

pub mod answer;
pub mod body;
pub mod call;
pub(crate) mod health;
pub mod problem;
pub mod router;
pub mod settings;
pub mod settle;

use problem::Problem;
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
    /// Stops, turns and counts of commands.
    pub control: Control,
    /// What mowers say of themselves.
    pub telemetry: Telemetry,
    /// Path previews under way.
    pub previews: Previews,
    /// Who drives by hand.
    pub drives: Drives,
    /// Where a test ends this process.
    pub crash: Crash,
}

impl Fleet {
    /// The present.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Asks the gateway what a caller may do; one verdict for each question, in
    /// their order. Which gateway was asked and why it did not answer is for the
    /// log alone: callers learn no addresses.
    ///
    /// # Errors
    /// [`Problem::AuthzUnavailable`].
    pub async fn judge(
        &self,
        granted: &Granted,
        questions: &[Question<'_>],
    ) -> Result<Vec<Verdict>, Problem> {
        let judged = self.gateway.judge(granted, questions).await;
        judged.map_err(|error| {
            tracing::warn!("the gateway did not judge: {error}");
            Problem::AuthzUnavailable
        })
    }
}

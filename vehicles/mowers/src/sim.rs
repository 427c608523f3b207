//! The simulated mower: the machine in its garden and, as important, the link
//! and the vendor between it and a device gateway.
//!
//! The machine lives in simulated time, `speed` times as fast as real time.
//! The link lives in real time: a message takes as long as it takes. With the
//! same seed and the same calls at the same times, all happens again the same.

use std::sync::Arc;

use interlock_guard::Clock;
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::connection::Connected;

pub mod profile;

mod coverage;
mod driver;
mod garden;
mod geometry;
mod hooks;
mod link;
mod machine;
mod options;
mod random;
mod world;

#[cfg(test)]
mod clock;
#[cfg(test)]
mod tests;

pub use garden::area_id;
pub use hooks::{Hooks, Truth};
pub use link::{Mishap, Quality};
pub use machine::sensors::Part;
pub use options::{OptionFault, Options, OptionsError};
pub use profile::{Profile, ProfileName};
pub use world::Counters;

#[cfg(test)]
pub(crate) use clock::RuntimeClock;

use driver::{Shared, SimulatedConnection};
use link::Link;
use machine::Machine;
use world::{Parts, World};

/// The clock that the states of simulated mowers tell; all of one process share it.
pub type SharedClock = Arc<dyn Clock>;

/// A simulated mower.
pub struct Simulated;

impl Simulated {
    /// Puts a mower into its dock and starts its task; it ends when the
    /// connection and the hooks are dropped. Needs a runtime.
    ///
    /// # Errors
    /// An option is not possible.
    #[expect(
        clippy::new_ret_no_self,
        reason = "what is made is a connection and its hooks"
    )]
    pub fn new(
        mower_id: Uuid,
        options: &Options,
        clock: SharedClock,
    ) -> Result<(Connected, Hooks), OptionsError> {
        options.check()?;
        let mut profile = Profile::named(options.profile);
        if let Some(flag) = options.pause_before_dock {
            profile.pause_before_dock = flag;
        }
        let map = options
            .map
            .clone()
            .unwrap_or_else(|| garden::rectangle(mower_id, options.width_m, options.height_m));
        let capabilities = Arc::new(profile.capabilities.clone());
        let link = Link::new(options.seed, profile.calls_per_month);
        let machine = Machine::docked(profile, map, options.seed, options.battery_percent);
        let (answers, received) = mpsc::unbounded_channel();
        let shared = Shared::new(World::new(Parts {
            mower_id,
            machine,
            link,
            clock,
            speed: options.speed,
            answers,
        }));
        driver::start(&shared);
        let connected = Connected {
            connection: Arc::new(SimulatedConnection::new(Arc::clone(&shared), capabilities)),
            answers: received,
        };
        Ok((connected, Hooks::new(shared)))
    }
}

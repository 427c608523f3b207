//! The simulated mower: the machine in its garden and, as important, the link
//! and the vendor between it and a device gateway.
//!
//! The machine lives in simulated time, `speed` times as fast as real time.
//! The link lives in real time: a message takes as long as it takes. With the
//! same seed and the same calls at the same times, all happens again the same.

use std::sync::Arc;

use interlock_guard::Clock;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;
use uuid::Uuid;

use crate::connection::Connected;
use crate::contract::Map;

pub mod profile;

mod coverage;
mod driver;
mod garden;
mod geometry;
mod hooks;
mod link;
mod machine;
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

/// What a simulated mower is like; what a registration says of it in JSON.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Options {
    /// Which kind of mower.
    pub profile: ProfileName,
    /// Meters of lawn from west to east, 3 to 1,000.
    pub width_m: f64,
    /// Meters of lawn from south to north, 3 to 1,000.
    pub height_m: f64,
    /// Of everything random.
    pub seed: u64,
    /// Simulated seconds per second, 1 to 100. The dead man's time of a driver is
    /// simulated time: drive by hand at 1.
    pub speed: f64,
    /// Charge at the beginning, 0 to 100.
    pub battery_percent: f64,
    /// Whether it refuses to go home unless paused before; the profile's way
    /// when absent.
    pub pause_before_dock: Option<bool>,
    /// A map of its own instead of the rectangle.
    pub map: Option<Map>,
    /// Whose budget of calls the mower uses, by name. It changes nothing of the
    /// simulation: the service paces by it, and a device gateway that was told to
    /// wait waits for all of one account.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vendor_account: Option<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            profile: ProfileName::default(),
            width_m: 20.0,
            height_m: 15.0,
            seed: 1,
            speed: 1.0,
            battery_percent: 100.0,
            pause_before_dock: None,
            map: None,
            vendor_account: None,
        }
    }
}

/// Why no mower can be made of some options.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum OptionsError {
    /// A number out of its range.
    #[error("`{name}` is {value} but must be from {least} to {most}")]
    OutOfRange {
        /// Which option.
        name: &'static str,
        /// What it is.
        value: f64,
        /// The least it may be.
        least: f64,
        /// The most it may be.
        most: f64,
    },
    /// A map that nothing can be planned on.
    #[error("`map`: {0}")]
    Map(String),
}

impl Options {
    /// Whether every option is in its range and the map can be planned on.
    ///
    /// # Errors
    /// The first one that is not.
    pub fn check(&self) -> Result<(), OptionsError> {
        let ranges = [
            ("width_m", self.width_m, 3.0, 1_000.0),
            ("height_m", self.height_m, 3.0, 1_000.0),
            ("speed", self.speed, 1.0, 100.0),
            ("battery_percent", self.battery_percent, 0.0, 100.0),
        ];
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(OptionsError::OutOfRange {
                    name,
                    value,
                    least,
                    most,
                });
            }
        }
        if let Some(map) = &self.map {
            coverage::check_map(map).map_err(|error| OptionsError::Map(error.to_string()))?;
        }
        Ok(())
    }
}

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

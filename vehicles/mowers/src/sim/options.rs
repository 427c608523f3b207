//! What a simulated mower is like, as its registration says in JSON.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::coverage;
use super::profile::ProfileName;
use crate::contract::Map;

#[cfg(test)]
mod tests;

/// What a simulated mower is like.
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

/// One option that is not possible.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{name}` {why}")]
pub struct OptionFault {
    /// Its name.
    pub name: String,
    /// What is wrong with it, to be read after its name.
    pub why: String,
}

/// Why no mower can be made of some options: every fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.in_words())]
pub struct OptionsError(pub Vec<OptionFault>);

impl OptionsError {
    fn in_words(&self) -> String {
        let faults: Vec<String> = self.0.iter().map(OptionFault::to_string).collect();
        faults.join("; ")
    }
}

impl Options {
    /// Reads the options of a registration; what they do not say is the default.
    ///
    /// # Errors
    /// Every option that is not possible, by its name.
    pub fn read(given: &serde_json::Map<String, Value>) -> Result<Self, OptionsError> {
        // One by one: the reader of a whole object says of a wrong value neither
        // where it stands nor what else is wrong.
        let mut faults: Vec<OptionFault> = given
            .iter()
            .filter_map(|(name, value)| {
                let alone = serde_json::Map::from_iter([(name.clone(), value.clone())]);
                let error = serde_json::from_value::<Self>(Value::Object(alone)).err()?;
                Some(fault(name, &error))
            })
            .collect();
        if !faults.is_empty() {
            faults.sort_by(|one, other| one.name.cmp(&other.name));
            return Err(OptionsError(faults));
        }
        let options: Self = serde_json::from_value(Value::Object(given.clone()))
            .map_err(|error| OptionsError(vec![fault("options", &error)]))?;
        options.check().map(|()| options)
    }

    /// Whether every option is in its range and the map can be planned on.
    ///
    /// # Errors
    /// Every one that is not.
    pub fn check(&self) -> Result<(), OptionsError> {
        let ranges = [
            ("width_m", self.width_m, 3.0, 1_000.0),
            ("height_m", self.height_m, 3.0, 1_000.0),
            ("speed", self.speed, 1.0, 100.0),
            ("battery_percent", self.battery_percent, 0.0, 100.0),
        ];
        let outside = ranges
            .into_iter()
            .filter(|(_, value, least, most)| !(least..=most).contains(&value))
            .map(|(name, value, least, most)| OptionFault {
                name: name.to_owned(),
                why: format!("must be from {least} to {most}, not {value}"),
            });
        let map = self.map.as_ref();
        let map = map.and_then(|map| coverage::check_map(map).err());
        let faults: Vec<OptionFault> = outside
            .chain(map.map(|error| fault("map", &error)))
            .collect();
        match faults.is_empty() {
            true => Ok(()),
            false => Err(OptionsError(faults)),
        }
    }
}

fn fault(name: &str, error: &dyn std::fmt::Display) -> OptionFault {
    OptionFault {
        name: name.to_owned(),
        why: format!("is not possible: {error}"),
    }
}

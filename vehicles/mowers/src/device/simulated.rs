//! The adapter for connections of kind `simulated`.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::adapters::{Adapter, AdapterError};
use crate::config::Simulator;
use crate::connection::Connected;
use crate::sim::{Options, SharedClock, Simulated};

/// Simulates each mower in this process. What a mower's row does not say is as
/// the configuration says.
pub struct SimulatedMowers {
    usual: Simulator,
    /// One for all, and the process's own: a mower that is connected late or
    /// again lives in the same present as the others.
    clock: SharedClock,
}

impl SimulatedMowers {
    /// Mowers that are like `usual`, in the time of `clock`.
    #[must_use]
    pub fn new(usual: Simulator, clock: SharedClock) -> Self {
        SimulatedMowers { usual, clock }
    }

    fn options(&self, mower_id: Uuid, given: &Value) -> Result<Options, AdapterError> {
        let mut options = object(given)?;
        let mut usual = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                options.entry(name).or_insert(value);
            }
        };
        usual("seed", Some(json!(self.usual.seed ^ own_luck(mower_id))));
        usual("speed", Some(json!(self.usual.speed)));
        usual("profile", self.usual.profile.map(|name| json!(name)));
        Options::read(&options).map_err(|cause| AdapterError::Options(cause.to_string()))
    }
}

impl Adapter for SimulatedMowers {
    fn connect(&self, mower_id: Uuid, options: &Value) -> Result<Connected, AdapterError> {
        let options = self.options(mower_id, options)?;
        // The hooks are for tests: the mower lives as long as its connection.
        let (connected, _hooks) = Simulated::new(mower_id, &options, self.clock.clone())
            .map_err(|cause| AdapterError::Options(cause.to_string()))?;
        Ok(connected)
    }
}

/// Every mower draws its own luck from the one seed.
fn own_luck(mower_id: Uuid) -> u64 {
    let first = mower_id.as_bytes().first_chunk().copied();
    u64::from_le_bytes(first.unwrap_or_default())
}

/// An object; nothing at all is an empty one.
fn object(value: &Value) -> Result<Map<String, Value>, AdapterError> {
    match value {
        Value::Object(object) => Ok(object.clone()),
        Value::Null => Ok(Map::new()),
        other => Err(AdapterError::Options(format!("`{other}` is not an object"))),
    }
}

#[cfg(test)]
mod tests;

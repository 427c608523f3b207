//! The adapter for connections of kind `simulated`.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::adapters::{Adapter, AdapterError};
use crate::connection::Connected;
use crate::sim::{Options, SharedClock, Simulated};

/// Simulates each mower in this process. What a mower's row does not say is as
/// in `defaults`.
pub struct SimulatedMowers {
    defaults: Options,
    clock: SharedClock,
}

impl SimulatedMowers {
    /// Mowers that are like `defaults`, in the time of `clock`.
    #[must_use]
    pub fn new(defaults: Options, clock: SharedClock) -> Self {
        SimulatedMowers { defaults, clock }
    }

    fn options(&self, given: &Value) -> Result<Options, AdapterError> {
        let unreadable = |cause: serde_json::Error| AdapterError::Options(cause.to_string());
        let mut options = object(&serde_json::to_value(&self.defaults).map_err(unreadable)?)?;
        options.extend(object(given)?);
        serde_json::from_value(Value::Object(options)).map_err(unreadable)
    }
}

impl Adapter for SimulatedMowers {
    fn connect(&self, mower_id: Uuid, options: &Value) -> Result<Connected, AdapterError> {
        let options = self.options(options)?;
        let (connected, _hooks) = Simulated::new(mower_id, &options, self.clock.clone())
            .map_err(|cause| AdapterError::Options(cause.to_string()))?;
        Ok(connected)
    }
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

//! The component schemas, as far as the laws look at them.

use serde_json::Value;

use crate::compile::fault::{Fault, Law};
use crate::compile::source::Source;

/// The names of the components and the fields of each.
#[derive(Clone, Debug)]
pub struct Schemas(Value);

/// Reads the file.
pub fn read(source: &Source, faults: &mut Vec<Fault>) -> Schemas {
    match serde_json::from_str(&source.text) {
        Ok(value) => Schemas(value),
        Err(error) => {
            faults.push(source.fault(error.line().max(1), Law::Malformed, error.to_string()));
            Schemas(Value::Null)
        }
    }
}

impl Schemas {
    /// Whether a component schema has this name.
    pub fn has(&self, name: &str) -> bool {
        self.schema(name).is_some()
    }

    /// Whether a query parameter has this name.
    pub fn has_query(&self, name: &str) -> bool {
        self.0
            .get("parameters")
            .is_some_and(|parameters| parameters.get(name).is_some())
    }

    /// The fields of a component schema.
    pub fn fields(&self, name: &str) -> Vec<&str> {
        let properties = self
            .schema(name)
            .and_then(|schema| schema.get("properties"));
        let properties = properties.and_then(Value::as_object);
        properties
            .map(|fields| fields.keys().map(String::as_str).collect())
            .unwrap_or_default()
    }

    /// The command kinds of a union, each with its component schema: those of
    /// the discriminator that stands at `field`, or at the schema itself.
    pub fn kinds(&self, name: &str, field: Option<&str>) -> Vec<(&str, &str)> {
        let schema = self.schema(name);
        let union = match field {
            None => schema,
            Some(field) => schema.and_then(|schema| schema.get("properties")?.get(field)),
        };
        let mapping = union.and_then(|union| union.get("discriminator")?.get("mapping"));
        let mapping = mapping.and_then(Value::as_object);
        let pairs = mapping.into_iter().flatten().filter_map(|(kind, at)| {
            let component = at.as_str()?.strip_prefix("#/components/schemas/")?;
            Some((kind.as_str(), component))
        });
        pairs.collect()
    }

    /// The one text that a field of a component may hold.
    pub fn constant(&self, name: &str, field: &str) -> Option<&str> {
        let properties = self.schema(name)?.get("properties")?;
        properties.get(field)?.get("const")?.as_str()
    }

    fn schema(&self, name: &str) -> Option<&Value> {
        self.0.get("schemas")?.get(name)
    }
}

//! A registry object as services send it and stores keep it; docs/REGISTRY.md
//! describes the JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::plans::ObjectRef;

/// One thing of the world that requests can name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RegistryObject {
    /// The resource type's name, such as `Swarm`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Unique within the type.
    pub id: String,
    /// The service that feeds it; no other may.
    pub owner: String,
    /// Counts up with every change; the store takes only newer ones.
    pub revision: u64,
    /// The scopes it lies in directly.
    #[serde(default)]
    pub parents: Vec<String>,
    /// Facts for policies.
    #[serde(default)]
    pub attributes: Map<String, Value>,
}

impl RegistryObject {
    /// Its name.
    pub fn key(&self) -> ObjectRef {
        ObjectRef {
            kind: self.kind.clone(),
            id: self.id.clone(),
        }
    }
}

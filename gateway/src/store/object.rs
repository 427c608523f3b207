//! A registry object as services send it and stores keep it; docs/REGISTRY.md
//! describes the JSON.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::canonical::canonical;
use crate::plans::ObjectRef;
use crate::store::StoreError;

/// The highest revision: what JSON numbers and scripts hold exactly
/// (RFC 7493 section 2.2).
pub const MAX_REVISION: u64 = (1 << 53) - 1;

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

    /// Its canonical JSON: equal text means equal content.
    pub(super) fn encoded(&self) -> Result<String, StoreError> {
        let refused = |detail: String| StoreError::Refused {
            detail: format!("object `{}` `{}`: {detail}", self.kind, self.id),
        };
        check(&self.key(), self.revision)?;
        let json = serde_json::to_value(self).map_err(|error| refused(error.to_string()))?;
        let bytes = canonical(&json).map_err(|error| refused(error.to_string()))?;
        String::from_utf8(bytes).map_err(|error| refused(error.to_string()))
    }
}

/// Refuses a name that could be taken for another, and a revision that could
/// not be compared exactly.
pub(super) fn check(key: &ObjectRef, revision: u64) -> Result<(), StoreError> {
    let fault = if key.kind.is_empty() || key.kind.contains('/') {
        "a type is not empty and has no `/`".to_owned()
    } else if key.id.is_empty() {
        "an id is not empty".to_owned()
    } else if revision > MAX_REVISION {
        format!("revision `{revision}` is above {MAX_REVISION}")
    } else {
        return Ok(());
    };
    Err(StoreError::Refused {
        detail: format!("object `{}` `{}`: {fault}", key.kind, key.id),
    })
}

#[cfg(test)]
mod tests;

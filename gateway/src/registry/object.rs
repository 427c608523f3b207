//! One registered object, as the feed carries it and as memory keeps it.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An object as services register it. `docs/REGISTRY.md` shows the form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Object {
    /// Resource type, such as `Swarm`, or `Scope`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Unique within its type.
    pub id: String,
    /// The service that may change it.
    pub owner: String,
    /// Grows with every change; an older one is refused.
    pub revision: u64,
    /// The scopes it hangs in. An account has none.
    #[serde(default)]
    pub parents: Vec<String>,
    /// A tombstone keeps its revision, so that a late put cannot revive it.
    #[serde(default)]
    pub deleted: bool,
}

/// What many objects have in common, kept once for all of them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Resource type.
    pub kind: String,
    /// The service that may change the object.
    pub owner: String,
    /// The scopes it hangs in.
    pub parents: Vec<String>,
}

/// What memory keeps of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its type, owner and parents.
    pub place: Arc<Place>,
    /// The revision last taken over.
    pub revision: u64,
    /// Whether this is a tombstone.
    pub deleted: bool,
}

/// A service's sign of life, with its own health checks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Heartbeat {
    /// When it came in.
    pub at: Timestamp,
    /// The service's checks by name: `{status, description, data}` each.
    pub checks: Value,
}

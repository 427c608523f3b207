//! What a failed call may have done to the world.

use serde::{Deserialize, Serialize};

/// Whether a vehicle may have acted. Every failure says which.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing was sent, or the service says nothing happened.
    None,
    /// Bytes left and no trustworthy answer came back.
    Maybe,
    /// The service says it happened.
    Done,
}

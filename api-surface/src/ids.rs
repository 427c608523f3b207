//! Ids as validated text.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use crate::text::{is_id, is_uuid};

/// Longest id, in bytes.
pub const MAX_ID: usize = crate::text::MAX_ID;

/// Why a text is no id.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "`{}` is no id: it takes 1 to {MAX_ID} of `A-Z a-z 0-9 . _ : -`, first a letter or digit",
    .0.escape_debug()
)]
pub struct IdError(String);

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// The text of the id.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;

            fn try_from(text: String) -> Result<Self, IdError> {
                if is_id(&text) { Ok(Self(text)) } else { Err(IdError(text)) }
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::try_from(text.to_owned())
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// A node of the hierarchy account > site > group, or `installation`.
    ScopeId
}

id! {
    /// An object that hangs in the hierarchy: a swarm, a mower, a plan.
    ObjectId
}

#[cfg(test)]
mod tests;

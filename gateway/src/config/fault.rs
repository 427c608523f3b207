//! What is wrong with a configuration.

use std::fmt;

/// One fault: where, what and what to do.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fault {
    /// The key, such as `auth.issuers[0].audience`, or a variable or file.
    pub key: String,
    /// What is wrong and what to do. Never a secret.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.key, self.message)
    }
}

/// Every fault of a configuration, at least one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct ConfigFaults(Vec<Fault>);

impl ConfigFaults {
    pub(super) fn single(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self(vec![Fault {
            key: key.into(),
            message: message.into(),
        }])
    }

    /// `None` when there is none.
    pub(super) fn of(faults: Vec<Fault>) -> Option<Self> {
        (!faults.is_empty()).then_some(Self(faults))
    }

    /// The faults, in the order of the file's sections.
    pub fn list(&self) -> &[Fault] {
        &self.0
    }
}

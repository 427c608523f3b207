//! The answer of the decision point.

use std::fmt;

use cedar_policy::{Effect, PolicyId, Response};

use crate::problem::Problem;

/// What was decided, and by which policies.
///
/// Broken is neither: a policy could not be evaluated, so nothing it might have
/// forbidden is known. It refuses and raises an alarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decision {
    /// A permit matched and no guard.
    Allow {
        /// The permits that matched.
        reasons: Vec<PolicyId>,
    },
    /// No permit matched, or a guard did.
    Deny {
        /// The guards that matched; empty when no permit did.
        reasons: Vec<PolicyId>,
        /// Whether the caller may know of the object: 403 if so, 404 if not.
        visible: bool,
        /// What alone stands in the way of a caller who has the right and may
        /// know of the object, where the guards that matched all name it.
        problem: Option<Problem>,
    },
    /// The policies could not be evaluated.
    Broken {
        /// Every fault, with its policy.
        errors: Vec<Fault>,
    },
}

impl Decision {
    /// Whether this is [`Decision::Allow`].
    pub fn is_allow(&self) -> bool {
        matches!(self, Self::Allow { .. })
    }
}

/// Why a decision is broken. The text is for the log and the record, never for
/// the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// The policy that failed, if it was one.
    pub policy: Option<PolicyId>,
    /// What failed.
    pub message: String,
}

impl Fault {
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self {
            policy: None,
            message: message.to_string(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.policy {
            Some(policy) => write!(f, "policy `{policy}`: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// The answers of several policy sets, put together as if they were one.
///
/// Cedar's rule: any forbid that matches denies; else any permit that matches
/// allows; else deny. Errors add up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) permits: Vec<PolicyId>,
    pub(crate) forbids: Vec<PolicyId>,
    pub(crate) faults: Vec<Fault>,
}

impl Verdict {
    pub(crate) fn add(&mut self, response: &Response) {
        let reasons = response.diagnostics().reason().cloned();
        match response.decision() {
            cedar_policy::Decision::Allow => self.permits.extend(reasons),
            cedar_policy::Decision::Deny => self.forbids.extend(reasons),
        }
        let faults = response.diagnostics().errors().map(|error| match error {
            cedar_policy::AuthorizationError::PolicyEvaluationError(error) => Fault {
                policy: Some(error.policy_id().clone()),
                message: error.inner().to_string(),
            },
        });
        self.faults.extend(faults);
    }

    /// The effect and its reasons; `None` when nothing matched.
    pub(crate) fn outcome(self) -> Result<(Option<Effect>, Vec<PolicyId>), Vec<Fault>> {
        if !self.faults.is_empty() {
            Err(self.faults)
        } else if !self.forbids.is_empty() {
            Ok((Some(Effect::Forbid), self.forbids))
        } else if !self.permits.is_empty() {
            Ok((Some(Effect::Permit), self.permits))
        } else {
            Ok((None, Vec::new()))
        }
    }
}

#[cfg(test)]
mod tests;

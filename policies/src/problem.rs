//! The problems a guard may name as its reason.
//!
//! A refusal says `forbidden`, and no more, unless the guard that refused
//! carries `@problem("...")`. The words are a closed list: they are part of the
//! gateway's API.

use std::fmt;

/// Why a guard refuses, where the caller is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Problem {
    /// An agent asks for what it may do only by a plan that a person approved.
    AgentNeedsPlan,
    /// The account's plan does not include this.
    FeatureNotInPlan,
    /// The site is quiet now.
    QuietHours,
    /// The command asks for a life that no command of its kind may have.
    TtlTooLong,
    /// An agent's call cannot be repeated safely without a key.
    IdempotencyKeyRequired,
}

impl Problem {
    /// Every problem. Where several guards refuse, the first of these is told: what
    /// no other request could mend before what the request itself could.
    pub const ALL: [Self; 5] = [
        Self::AgentNeedsPlan,
        Self::FeatureNotInPlan,
        Self::QuietHours,
        Self::TtlTooLong,
        Self::IdempotencyKeyRequired,
    ];

    /// The word, as in `@problem("...")` and at the end of the problem type.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::AgentNeedsPlan => "agent-needs-plan",
            Self::FeatureNotInPlan => "feature-not-in-plan",
            Self::QuietHours => "quiet-hours",
            Self::TtlTooLong => "ttl-too-long",
            Self::IdempotencyKeyRequired => "idempotency-key-required",
        }
    }

    /// The problem of a word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|problem| problem.as_str() == word)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

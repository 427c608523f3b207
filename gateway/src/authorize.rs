//! Asks the PDP and makes the permit, or the refusal.
//!
//! [`Permit`] has private fields and no other maker: code that reaches a
//! vehicle takes one by value, so a forgotten check does not compile.

use std::sync::Arc;

use interlock_policies::{Bundle, ContextFacts, Decision, PolicyId, ResourceFacts};
use interlock_surface::{Class, Row};
use jiff::Timestamp;
use uuid::Uuid;

use crate::authn::Caller;
use crate::policy::Policies;

/// Proof that policy allowed this caller this row on this resource.
#[derive(Debug)]
pub struct Permit {
    row: &'static Row,
    caller: Arc<Caller>,
    resource: ResourceFacts,
    evidence: Evidence,
}

/// What a decision rested on; the same in the record and in the grant.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// The decision's own id.
    pub decision: Uuid,
    /// When the caller asked.
    pub asked_at: Timestamp,
    /// Hash of the bundle that decided.
    pub bundle: Arc<str>,
    /// Generation of the registry that decided.
    pub registry: u64,
    /// Ids of the policies that decided.
    pub reasons: Vec<PolicyId>,
}

/// Why there is no permit.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nobody asked, and nobody may not.
    Unauthenticated,
    /// The caller may know of the resource, but not do this.
    Forbidden,
    /// The caller may not even know of it.
    Hidden,
    /// A policy could not be evaluated: an alarm, not an answer.
    Broken,
}

/// A refusal and what it rested on.
#[derive(Debug)]
pub struct Refused {
    /// Which kind.
    pub refusal: Refusal,
    /// What it rested on.
    pub evidence: Evidence,
    /// The evaluation errors of a broken decision.
    pub errors: Vec<String>,
}

/// One question to the PDP.
pub struct Question<'a> {
    /// Who asks.
    pub caller: &'a Arc<Caller>,
    /// For what.
    pub row: &'static Row,
    /// On what.
    pub resource: ResourceFacts,
    /// Under which circumstances.
    pub context: ContextFacts,
    /// Generation of the registry that the resource was read from.
    pub registry: u64,
    /// When.
    pub now: Timestamp,
}

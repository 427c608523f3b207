//! Asks the PDP and makes the permit, or the refusal.
//!
//! [`Permit`] has private fields and no other maker: code that reaches a
//! vehicle takes one, so a forgotten check does not compile.

pub mod assess;

use std::sync::Arc;

use interlock_policies::{
    Bundle, ContextFacts, Decision, FactsError, Fault, Principal, PrincipalKind, ResourceFacts,
};
use interlock_surface::{Class, Row};
use jiff::Timestamp;
use metrics::{Counter, counter};
use quick_cache::sync::Cache;
use tracing::error;
use uuid::Uuid;

use crate::authn::Caller;
use crate::authn::cache::TokenDigest;
use crate::policy::{Active, Policies};
use crate::telemetry::{Known, names};

/// Prepared principals kept. One costs a few kilobytes.
const PRINCIPALS: usize = 4096;

/// Proof that policy allowed this caller this row on this resource.
#[derive(Debug)]
pub struct Permit {
    row: &'static Row,
    caller: Arc<Caller>,
    evidence: Arc<Evidence>,
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
    /// Revision of the registered object that was judged.
    pub revision: Option<u64>,
    /// Ids of the policies that decided.
    pub reasons: Vec<String>,
}

/// Why there is no permit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// What alone stands in the way of somebody who has the right.
    pub problem: Option<interlock_policies::Problem>,
    /// What it rested on.
    pub evidence: Arc<Evidence>,
}

/// One question to the PDP.
#[derive(Debug)]
pub struct Question<'a> {
    /// Who asks.
    pub caller: &'a Arc<Caller>,
    /// For what.
    pub row: &'static Row,
    /// On what.
    pub resource: &'a ResourceFacts,
    /// Under which circumstances.
    pub context: &'a ContextFacts,
    /// Generation of the registry that the resource was read from.
    pub registry: u64,
    /// Revision of the resource, or of a plan's vehicle, in that registry.
    pub revision: Option<u64>,
    /// When the caller asked.
    pub now: Timestamp,
}

impl Permit {
    /// The row that was allowed.
    pub fn row(&self) -> &'static Row {
        self.row
    }

    /// Who was allowed.
    pub fn caller(&self) -> &Arc<Caller> {
        &self.caller
    }

    /// What the decision rested on.
    pub fn evidence(&self) -> &Arc<Evidence> {
        &self.evidence
    }
}

/// The PDP with its prepared principals.
pub struct Authorizer {
    policies: Arc<Policies>,
    /// By token and the number of the bundle. Without a token there is one
    /// caller: nobody, or the local operator of open mode.
    principals: Cache<(Option<TokenDigest>, u64), Principal>,
    /// By row and word.
    decisions: Known<(&'static str, &'static str), Counter>,
}

impl Authorizer {
    /// An authorizer over the bundle in force.
    pub fn new(policies: Arc<Policies>) -> Self {
        Authorizer {
            policies,
            principals: Cache::new(PRINCIPALS),
            decisions: Known::default(),
        }
    }

    /// Decides. A stop that comes out broken is decided again by the built-in
    /// minimal bundle: a policy fault must not keep a vehicle moving.
    ///
    /// # Errors
    /// The refusal, with the decision's evidence.
    pub fn authorize(&self, question: &Question<'_>) -> Result<Permit, Refused> {
        let active = self.policies.active();
        let bundle = &active.bundle;
        let mut evidence = Evidence {
            decision: Uuid::now_v7(),
            asked_at: question.now,
            bundle: Arc::clone(&active.hash),
            registry: question.registry,
            revision: question.revision,
            reasons: Vec::new(),
        };
        // Who the caller is, the active bundle's grants file says, whichever
        // bundle then decides.
        let principal = self.principal(&active, question.caller);
        let mut decision = self.decide(bundle, principal.as_ref(), question);
        if let Decision::Broken { errors } = &decision {
            let faults: Vec<String> = errors.iter().map(ToString::to_string).collect();
            error!(
                alarm = "policy-broken",
                row = question.row.name,
                policy.hash = bundle.hash(),
                ?faults,
                "a policy could not be evaluated"
            );
            if question.row.class == Class::SafetyWrite {
                decision = self.decide(self.policies.minimal(), principal.as_ref(), question);
                evidence.reasons.push("built-in minimal bundle".to_owned());
            }
        }
        let (refusal, problem) = match decision {
            Decision::Allow { reasons } => {
                evidence
                    .reasons
                    .extend(reasons.iter().map(ToString::to_string));
                return Ok(Permit {
                    row: question.row,
                    caller: Arc::clone(question.caller),
                    evidence: Arc::new(evidence),
                });
            }
            Decision::Broken { .. } => (Refusal::Broken, None),
            Decision::Deny {
                reasons,
                visible,
                problem,
            } => {
                evidence
                    .reasons
                    .extend(reasons.iter().map(ToString::to_string));
                match (question.caller.kind, visible) {
                    (PrincipalKind::Anonymous, _) => (Refusal::Unauthenticated, None),
                    (_, true) => (Refusal::Forbidden, problem),
                    (_, false) => (Refusal::Hidden, None),
                }
            }
        };
        Err(Refused {
            refusal,
            problem,
            evidence: Arc::new(evidence),
        })
    }

    /// Whether `caller` would be allowed `row` on `resource`: the filter of
    /// lists, which omit what a caller may not see.
    pub fn allows(&self, question: &Question<'_>) -> bool {
        let active = self.policies.active();
        let principal = self.principal(&active, question.caller);
        self.decide(&active.bundle, principal.as_ref(), question)
            .is_allow()
    }

    /// The caller as Cedar knows it: what the token says and what the bundle's
    /// grants file adds, worked out once per token and bundle.
    fn principal(&self, active: &Active, caller: &Caller) -> Result<Principal, FactsError> {
        let key = (caller.token_digest, active.number);
        self.principals
            .get_or_insert_with(&key, || prepare(&active.bundle, caller))
    }

    fn decide(
        &self,
        bundle: &Bundle,
        principal: Result<&Principal, &FactsError>,
        question: &Question<'_>,
    ) -> Decision {
        let decision = match principal {
            Ok(principal) => {
                bundle.decide(principal, question.row, question.resource, question.context)
            }
            Err(cause) => Decision::Broken {
                errors: vec![Fault {
                    policy: None,
                    message: cause.to_string(),
                }],
            },
        };
        self.counted(question.row, &decision);
        decision
    }

    fn counted(&self, row: &'static Row, decision: &Decision) {
        let (row, word) = (row.name, word(decision));
        let counted = || counter!(names::DECISIONS, "row" => row, "decision" => word);
        self.decisions.get((row, word), counted).increment(1);
    }
}

/// A decision as the metrics name it.
fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow { .. } => "allow",
        Decision::Deny { .. } => "deny",
        Decision::Broken { .. } => "broken",
    }
}

/// Works out what the token says and what the bundle's grants file adds and
/// bounds.
fn prepare(bundle: &Bundle, caller: &Caller) -> Result<Principal, FactsError> {
    bundle.principal(&bundle.directory().completed(&caller.facts))
}

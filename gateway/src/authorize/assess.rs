//! Several questions about one caller at once: a service asks about the members
//! of what was asked about.

use std::sync::Arc;

use interlock_policies::{
    Bundle, ContextFacts, Decision, FactsError, Fault, Principal, Problem, ResourceFacts,
};
use interlock_surface::{Class, Row};
use metrics::counter;

use super::{Authorizer, prepare, word};
use crate::authn::Caller;
use crate::policy::{Active, Policies};
use crate::telemetry::names;

/// A caller as the bundle in force knows it, to be asked about many objects.
pub struct Assessor {
    policies: Arc<Policies>,
    active: Arc<Active>,
    principal: Result<Principal, FactsError>,
    stopping: bool,
}

/// What is asked about an object.
#[derive(Clone, Copy, Debug)]
pub enum Question {
    /// May the caller make this call?
    Call(&'static Row),
    /// May the caller know of it?
    Observe,
}

/// The answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assessed {
    /// Whether the caller may.
    pub allowed: bool,
    /// Whether the caller may know of the object.
    pub visible: bool,
    /// What alone stands in the way of a caller who has the right.
    pub problem: Option<Problem>,
}

/// A policy could not be evaluated.
#[derive(Debug)]
pub struct Broken(pub Vec<Fault>);

impl Authorizer {
    /// An assessor of `caller`, who made a stop or something else. Prepared once
    /// here and kept by nobody: the caller's token is not at hand to remember it
    /// by.
    pub fn assessor(&self, caller: &Caller, stopping: bool) -> Assessor {
        let active = self.policies.active();
        Assessor {
            principal: prepare(&active.bundle, caller),
            active,
            policies: Arc::clone(&self.policies),
            stopping,
        }
    }
}

impl Assessor {
    /// The hash of the bundle that decides.
    pub fn bundle(&self) -> &str {
        self.active.bundle.hash()
    }

    /// Answers one question. What a stop asks, and a stop that is asked about, is
    /// decided again by the built-in bundle when it comes out broken, as the stop
    /// is when it is asked for directly.
    ///
    /// # Errors
    /// [`Broken`]: nobody may act on a guess.
    pub fn assess(
        &self,
        question: Question,
        resource: &ResourceFacts,
        context: &ContextFacts,
    ) -> Result<Assessed, Broken> {
        let principal = match &self.principal {
            Ok(principal) => principal,
            Err(cause) => {
                return Err(Broken(vec![Fault {
                    policy: None,
                    message: cause.to_string(),
                }]));
            }
        };
        let judge = |bundle: &Bundle| {
            let observe = || match bundle.observe(principal, resource, context) {
                Decision::Allow { .. } => Ok(true),
                Decision::Deny { .. } => Ok(false),
                Decision::Broken { errors } => Err(Broken(errors)),
            };
            match question {
                Question::Observe => {
                    let visible = observe()?;
                    Ok(Assessed {
                        allowed: visible,
                        visible,
                        problem: None,
                    })
                }
                Question::Call(row) => {
                    let decision = bundle.decide(principal, row, resource, context);
                    let word = word(&decision);
                    counter!(names::DECISIONS, "row" => row.name, "decision" => word).increment(1);
                    match decision {
                        Decision::Allow { .. } => Ok(Assessed {
                            allowed: true,
                            visible: observe()?,
                            problem: None,
                        }),
                        Decision::Deny {
                            visible, problem, ..
                        } => Ok(Assessed {
                            allowed: false,
                            visible,
                            problem,
                        }),
                        Decision::Broken { errors } => Err(Broken(errors)),
                    }
                }
            }
        };
        let stop = matches!(question, Question::Call(row) if row.class == Class::SafetyWrite);
        let stops = self.stopping || stop;
        match judge(&self.active.bundle) {
            Err(Broken(faults)) if stops => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                tracing::error!(
                    alarm = "policy-broken",
                    policy.hash = self.bundle(),
                    ?faults,
                    "a policy could not be evaluated"
                );
                judge(self.policies.minimal())
            }
            judged => judged,
        }
    }
}

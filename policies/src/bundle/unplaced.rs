//! Nothing is granted on an object that does not exist.
//!
//! A missing object is decided on a placeholder that lies in no scope. If any
//! policy allowed something there, an answer would tell a missing object from
//! a hidden one. So every request that could be made is decided once on such
//! a placeholder, by principals who hold every role.

use cedar_policy::PolicyId;
use interlock_surface::{ROWS, ResourceType};

use super::files::Files;
use super::parse::Located;
use super::{Bundle, surface};
use crate::decision::Decision;
use crate::diagnostics::{Check, Diagnostic};
use crate::facts::{ContextFacts, INSTALLATION, Mode, PrincipalKind, ResourceFacts, VehicleState};

pub(super) fn check(bundle: &Bundle, files: &Files, policies: &[Located]) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for kind in PrincipalKind::ALL {
        let mut facts = surface::sample(kind);
        if kind != PrincipalKind::Anonymous {
            facts.tenants.push(INSTALLATION.to_owned());
        }
        match bundle.principal(&facts) {
            Ok(principal) => {
                let asked =
                    requests().flat_map(|request| contexts().map(move |c| (request.clone(), c)));
                faults.extend(asked.filter_map(|((action, resource), context)| {
                    let decision = bundle.decide_action(&principal, action, &resource, &context);
                    fault(&decision, kind, action, files, policies)
                }));
            }
            Err(error) => faults.push(Diagnostic::new(Check::Unplaced, error)),
        }
    }
    faults
}

fn fault(
    decision: &Decision,
    kind: PrincipalKind,
    action: &str,
    files: &Files,
    policies: &[Located],
) -> Option<Diagnostic> {
    let at = |id: &PolicyId, what: String| {
        let located = policies.iter().find(|located| located.policy.id() == id);
        match located {
            Some(located) => located.fault(files, Check::Unplaced, what),
            None => Diagnostic::new(Check::Unplaced, what),
        }
    };
    let kind = kind.as_str();
    match decision {
        Decision::Deny { .. } => None,
        Decision::Allow { reasons } => {
            let id = reasons.first()?;
            let what = format!("this lets {kind} do `{action}` on an object that lies in no scope");
            let help = "add `when { resource in Scope::\"installation\" }`, where every object \
                        lies that exists";
            Some(at(id, what).help(help))
        }
        Decision::Broken { errors } => {
            let first = errors.first()?;
            let what = format!("deciding `{action}` for {kind} fails: {first}");
            Some(match &first.policy {
                Some(id) => at(id, what),
                None => Diagnostic::new(Check::Unplaced, what),
            })
        }
    }
}

fn requests() -> impl Iterator<Item = (&'static str, ResourceFacts)> {
    let placeholder = |kind: ResourceType| ResourceFacts {
        kind,
        id: "missing".to_owned(),
        scopes: Vec::new(),
        proposer: None,
        state: VehicleState::default(),
    };
    let rows = ROWS
        .iter()
        .filter_map(|row| Some((row.action?, row.resource)));
    let observe = ResourceType::ALL
        .iter()
        .map(|kind| (crate::slice::OBSERVE, *kind));
    rows.chain(observe)
        .map(move |(action, kind)| (action, placeholder(kind)))
}

fn contexts() -> impl Iterator<Item = ContextFacts> {
    [Mode::Open, Mode::Enforced].into_iter().flat_map(|mode| {
        [true, false].map(|loopback| ContextFacts {
            mode,
            loopback,
            kind: None,
            ttl_ms: 0,
            idempotency_key: true,
        })
    })
}

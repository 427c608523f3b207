//! Nothing is granted on an object that does not exist.
//!
//! A missing object is decided on a placeholder that lies in no scope. If any
//! policy allowed something there, an answer would tell a missing object from
//! a hidden one. So every request that could be made is decided once on such
//! a placeholder, by principals who hold every role.

use interlock_surface::{ROWS, ResourceType};

use super::{Bundle, surface};
use crate::decision::Decision;
use crate::diagnostics::{Check, Diagnostic};
use crate::facts::{ContextFacts, INSTALLATION, Mode, Principal, PrincipalKind, ResourceFacts};

pub(super) fn check(bundle: &Bundle) -> Vec<Diagnostic> {
    let mut faults = Vec::new();
    for kind in PrincipalKind::ALL {
        let mut facts = surface::sample(kind);
        if kind != PrincipalKind::Anonymous {
            facts.tenants.push(INSTALLATION.to_owned());
        }
        let principal = match Principal::prepare(&facts) {
            Ok(principal) => principal,
            Err(error) => {
                faults.push(Diagnostic::new(Check::Unplaced, error));
                continue;
            }
        };
        for (action, resource) in requests() {
            for context in contexts() {
                let decision = bundle.decide_action(&principal, action, &resource, &context);
                let what = match decision {
                    Decision::Allow { reasons } => {
                        let reasons: Vec<String> =
                            reasons.iter().map(ToString::to_string).collect();
                        let reasons = reasons.join("`, `");
                        let kind = kind.as_str();
                        format!(
                            "`{reasons}` lets {kind} do `{action}` on an object that lies in no scope"
                        )
                    }
                    Decision::Broken { faults } => {
                        let first = faults.first().map(ToString::to_string);
                        format!("deciding `{action}` fails: {}", first.unwrap_or_default())
                    }
                    Decision::Deny { .. } => continue,
                };
                let help = "add `when { resource in Scope::\"installation\" }`, where every \
                            object lies that exists";
                faults.push(Diagnostic::new(Check::Unplaced, what).help(help));
                break;
            }
        }
    }
    faults
}

fn requests() -> impl Iterator<Item = (&'static str, ResourceFacts)> {
    let placeholder = |kind: ResourceType| ResourceFacts {
        kind,
        id: "missing".to_owned(),
        scopes: Vec::new(),
        proposer: None,
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

//! Callers, objects and contexts that tests decide about.

use interlock_surface::{ResourceType, Row};

use super::super::Bundle;
use crate::decision::Decision;
use crate::facts::{
    ContextFacts, INSTALLATION, Mode, Principal, PrincipalFacts, PrincipalKind, Proposer,
    ResourceFacts, VehicleState,
};
use crate::roles::{Role, Roles};

pub(crate) const ISSUER: &str = "https://idp.example";

/// A caller of the account `acme` with these roles on it.
pub(crate) fn caller(kind: PrincipalKind, subject: &str, roles: &[Role]) -> PrincipalFacts {
    let holds = kind != PrincipalKind::Anonymous;
    PrincipalFacts {
        kind,
        issuer: ISSUER.to_owned(),
        subject: subject.to_owned(),
        actor: None,
        person: None,
        bounds: Vec::new(),
        tenants: holds.then(|| "acme".to_owned()).into_iter().collect(),
        grants: roles
            .iter()
            .map(|role| (role.clone(), "acme".to_owned()))
            .collect(),
        suspended: false,
    }
}

pub(crate) fn person(subject: &str, roles: &[Role]) -> PrincipalFacts {
    caller(PrincipalKind::Person, subject, roles)
}

/// An object of the account `acme`.
pub(crate) fn object(kind: ResourceType) -> ResourceFacts {
    ResourceFacts {
        kind,
        id: "one".to_owned(),
        scopes: vec!["acme".to_owned(), INSTALLATION.to_owned()],
        proposer: None,
        state: VehicleState::default(),
    }
}

pub(crate) fn missing(kind: ResourceType) -> ResourceFacts {
    ResourceFacts {
        scopes: Vec::new(),
        ..object(kind)
    }
}

pub(crate) fn proposer(subject: &str) -> Proposer {
    Proposer {
        issuer: ISSUER.to_owned(),
        subject: subject.to_owned(),
        actor: None,
    }
}

pub(crate) fn plan(proposer: Proposer) -> ResourceFacts {
    ResourceFacts {
        proposer: Some(proposer),
        ..object(ResourceType::Plan)
    }
}

pub(crate) fn enforced() -> ContextFacts {
    ContextFacts {
        mode: Mode::Enforced,
        loopback: false,
        kind: None,
        ttl_ms: 0,
        idempotency_key: true,
    }
}

/// The row of an action.
pub(crate) fn row_of(action: &str) -> &'static Row {
    let mut rows = interlock_surface::ROWS.iter();
    let found = rows.find(|row| row.action == Some(action));
    found.unwrap_or_else(|| panic!("no row has the action {action}"))
}

pub(crate) fn prepared(facts: &PrincipalFacts) -> Principal {
    Principal::prepare(facts, &Roles::default()).unwrap()
}

/// What a decision comes to, in one word and its reasons.
pub(crate) fn told(decision: &Decision) -> String {
    let list = |ids: &[cedar_policy::PolicyId]| {
        let mut ids: Vec<String> = ids.iter().map(ToString::to_string).collect();
        ids.sort();
        ids.join(" ")
    };
    let told = match decision {
        Decision::Allow { reasons } => format!("allow {}", list(reasons)),
        Decision::Deny {
            reasons,
            visible,
            problem,
        } => {
            let status = if *visible { "403" } else { "404" };
            let problem = problem.map_or(String::new(), |problem| format!("{problem} "));
            format!("{status} {problem}{}", list(reasons))
        }
        Decision::Broken { errors } => {
            let policies = errors.iter().filter_map(|fault| fault.policy.clone());
            format!("broken {}", list(&policies.collect::<Vec<_>>()))
        }
    };
    told.trim_end().to_owned()
}

/// Decides and tells.
pub(crate) fn ask(
    bundle: &Bundle,
    facts: &PrincipalFacts,
    action: &str,
    resource: &ResourceFacts,
    context: &ContextFacts,
) -> String {
    told(&bundle.decide_action(&prepared(facts), action, resource, context))
}

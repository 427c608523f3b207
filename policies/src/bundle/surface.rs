//! The schema against the surface rows and the facts.
//!
//! The schema lies in the bundle, where it can be edited; what a class or a
//! relation means is decided by the rows. A schema that moved `swarm_land` out
//! of `safety_write` would let a guard forbid stops without the stop gate
//! seeing it, so the two are compared at every load.

use std::collections::{BTreeSet, HashMap};

use cedar_policy::{Entities, Entity, EntityTypeName, EntityUid, Schema};
use interlock_surface::{ROWS, ResourceType};

use crate::diagnostics::{Check, Diagnostic, chain};
use crate::facts::{
    Principal, PrincipalFacts, PrincipalKind, Proposer, ResourceFacts, VehicleState,
};
use crate::grants::Directory;
use crate::roles::{Role, Roles};
use crate::slice::{Action, OBSERVE, Vocabulary};

/// Every action of every row is in the schema, in exactly its groups, for its
/// resource type and every kind of principal; so is `observe`.
pub(super) fn actions(schema: &Schema, actions: &HashMap<String, Action>) -> Vec<Diagnostic> {
    let rows = ROWS.iter().filter_map(|row| Some((row.action?, row)));
    let mut faults = Vec::new();
    for (name, row) in rows {
        let types = BTreeSet::from([row.resource.as_str().to_owned()]);
        let groups = row.action_groups().into_iter().collect();
        faults.extend(action(schema, actions, name, &groups, &types));
    }
    let types = ResourceType::ALL
        .iter()
        .map(|kind| kind.as_str().to_owned());
    let groups = BTreeSet::from(["read", "view"]);
    faults.extend(action(schema, actions, OBSERVE, &groups, &types.collect()));
    faults
}

fn action(
    schema: &Schema,
    actions: &HashMap<String, Action>,
    name: &str,
    groups: &BTreeSet<&str>,
    types: &BTreeSet<String>,
) -> Option<Diagnostic> {
    let fault = |what: String| {
        let fault = Diagnostic::new(Check::Surface, what);
        Some(fault.help("`cargo xtask golden` writes schema/actions.cedarschema from the rows"))
    };
    let Some(action) = actions.get(name) else {
        return fault(format!("the schema declares no action `{name}`"));
    };
    let ancestors = action.entity.ancestors();
    let got: BTreeSet<&str> = ancestors.map(|group| group.eid().as_ref()).collect();
    if got != *groups {
        return fault(format!(
            "action `{name}` is in {got:?}, and its row says {groups:?}"
        ));
    }
    let uid: EntityUid = action.entity.uid().clone().into();
    let resources = schema.resources_for_action(&uid);
    let got: BTreeSet<String> = resources.into_iter().flatten().map(type_name).collect();
    if got != *types {
        return fault(format!(
            "action `{name}` applies to {got:?}, and its row says {types:?}"
        ));
    }
    let principals = schema.principals_for_action(&uid);
    let got: BTreeSet<String> = principals.into_iter().flatten().map(type_name).collect();
    let kinds = PrincipalKind::ALL.map(|kind| kind.as_str().to_owned());
    if got != BTreeSet::from(kinds) {
        return fault(format!(
            "action `{name}` does not apply to every kind of principal"
        ));
    }
    None
}

fn type_name(name: &EntityTypeName) -> String {
    name.to_string()
}

/// Entities and context, as facts make them, fit the schema: so a decision can
/// never fail on a shape, and proofs over the schema speak of real requests.
pub(super) fn shapes(schema: &Schema, vocabulary: &Vocabulary) -> Vec<Diagnostic> {
    let fault = |what: String| Diagnostic::new(Check::Surface, what);
    let mut faults = Vec::new();
    for kind in PrincipalKind::ALL {
        match Principal::prepare(&sample(kind), &Roles::default()) {
            Ok(principal) => {
                let entity = principal.prepared().anywhere().clone();
                faults.extend(fits(schema, entity.into()).map(fault));
            }
            Err(error) => faults.push(fault(error.to_string())),
        }
    }
    let proposer = Proposer {
        issuer: "https://issuer.example".to_owned(),
        subject: "someone".to_owned(),
        actor: None,
    };
    for kind in ResourceType::ALL {
        let facts = ResourceFacts {
            kind: *kind,
            id: "sample".to_owned(),
            scopes: vec!["sample".to_owned()],
            proposer: None,
            state: VehicleState {
                features: Some(["control".to_owned()].into()),
                ..VehicleState::default()
            },
        };
        let plan = *kind == ResourceType::Plan;
        let proposers = [None, plan.then(|| Directory::default().proposer(&proposer))];
        for proposer in proposers {
            match vocabulary.resource(&facts, proposer) {
                Ok(resource) => {
                    let entity = resource.entity.as_ref().clone();
                    faults.extend(fits(schema, entity.into()).map(fault));
                }
                Err(error) => faults.push(fault(error.to_string())),
            }
        }
    }
    faults
}

fn fits(schema: &Schema, entity: Entity) -> Option<String> {
    let result = Entities::from_entities([entity], Some(schema));
    let error = result.err()?;
    Some(format!("facts do not fit the schema: {}", chain(&error)))
}

/// A principal that holds every role on the scope `sample`.
pub(super) fn sample(kind: PrincipalKind) -> PrincipalFacts {
    let holds = kind != PrincipalKind::Anonymous;
    let scope = || "sample".to_owned();
    let grants = Role::BUILT_IN.map(|role| (role, scope()));
    PrincipalFacts {
        kind,
        issuer: "https://issuer.example".to_owned(),
        subject: "someone".to_owned(),
        actor: None,
        person: None,
        bounds: Vec::new(),
        tenants: holds.then(scope).into_iter().collect(),
        grants: grants.into_iter().filter(|_| holds).collect(),
        suspended: false,
    }
}

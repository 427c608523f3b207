use interlock_surface::{Class, ROWS, Relation, ResourceType};
use proptest::prelude::*;

use super::{Bound, Reach, Right};
use crate::bundle::tests::scene::{ask, caller, enforced, object};
use crate::bundle::tests::shipped;
use crate::facts::{INSTALLATION, PrincipalFacts, PrincipalKind, ResourceFacts};
use crate::roles::{Role, Roles};

/// `installation > acme > depot > north > m1`, and `umbrella` beside `acme`.
const TREE: [(&str, Option<usize>); 6] = [
    (INSTALLATION, None),
    ("acme", Some(0)),
    ("depot", Some(1)),
    ("north", Some(2)),
    ("m1", Some(3)),
    ("umbrella", Some(0)),
];

fn above(place: usize) -> Vec<String> {
    let mut scopes = Vec::new();
    let mut next = Some(place);
    while let Some(at) = next {
        let (id, parent) = TREE[at];
        scopes.push(id.to_owned());
        next = parent;
    }
    scopes
}

/// An object that lies at one place of the tree.
fn at(kind: ResourceType, place: usize) -> ResourceFacts {
    ResourceFacts {
        id: TREE[place].0.to_owned(),
        scopes: above(place),
        ..object(kind)
    }
}

fn grants() -> impl Strategy<Value = Vec<(Role, String)>> {
    let role = prop::sample::select(Role::BUILT_IN.to_vec());
    let scope = prop::sample::select(TREE.to_vec()).prop_map(|(id, _)| id.to_owned());
    prop::collection::vec((role, scope), 0..5)
}

fn tenants() -> impl Strategy<Value = Vec<String>> {
    prop::sample::subsequence(vec!["acme".to_owned(), "umbrella".to_owned()], 0..=2)
}

prop_compose! {
    fn bound()(
        tenants in prop::option::of(tenants()),
        grants in prop::option::of(grants()),
    ) -> Bound {
        Bound { tenants, grants }
    }
}

prop_compose! {
    fn agent()(
        tenants in tenants(),
        grants in grants(),
        bounds in prop::collection::vec(bound(), 0..3),
    ) -> PrincipalFacts {
        PrincipalFacts { tenants, grants, bounds, ..caller(PrincipalKind::Agent, "bot", &[]) }
    }
}

/// Whoever holds what a bound says, and is not held back.
fn owner(bound: &Bound, agent: &PrincipalFacts) -> PrincipalFacts {
    let Bound { tenants, grants } = bound.clone();
    PrincipalFacts {
        tenants: tenants.unwrap_or_else(|| agent.tenants.clone()),
        grants: grants.unwrap_or_else(|| agent.grants.clone()),
        bounds: Vec::new(),
        ..agent.clone()
    }
}

fn holds(facts: &PrincipalFacts, right: Right, resource: &ResourceFacts) -> bool {
    let reach = |tenants, grants| Reach::of(tenants, grants, &Roles::default());
    let own = reach(Some(&facts.tenants), Some(&facts.grants));
    let bounds = facts.bounds.iter();
    let bounds = bounds.map(|b| reach(b.tenants.as_deref(), b.grants.as_deref()));
    let bounds: Vec<Reach> = bounds.collect();
    let left = own.within(&bounds, resource).unwrap_or(own);
    let mut held = left.scopes(right);
    held.any(|scope| resource.scopes.contains(scope))
}

proptest! {
    /// For every relation and every scope: held is what the caller and all of
    /// its bounds hold there, no more and no less.
    #[test]
    fn a_bounded_right_is_the_intersection(agent in agent()) {
        let free = PrincipalFacts { bounds: Vec::new(), ..agent.clone() };
        let owners: Vec<_> = agent.bounds.iter().map(|bound| owner(bound, &free)).collect();
        let relations = Relation::ALL.iter().map(|relation| Right::Relation(*relation));
        for right in relations.chain([Right::Tenant]) {
            for place in 0..TREE.len() {
                let resource = at(ResourceType::Scope, place);
                let all = holds(&free, right, &resource)
                    && owners.iter().all(|owner| holds(owner, right, &resource));
                prop_assert_eq!(holds(&agent, right, &resource), all, "{:?} {}", right, place);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Under the shipped policies an agent is allowed nothing that it would not
    /// be allowed with its own rights alone, or with those of a bound alone; and
    /// wherever it may look it may stop.
    #[test]
    fn an_agent_may_no_more_than_its_owner_and_stops_what_it_sees(
        agent in agent(),
        place in 0..TREE.len(),
    ) {
        let bundle = shipped();
        let may = |facts: &PrincipalFacts, action: &str, kind: ResourceType| {
            let told = ask(&bundle, facts, action, &at(kind, place), &enforced());
            told.starts_with("allow")
        };
        let free = PrincipalFacts { bounds: Vec::new(), ..agent.clone() };
        for row in ROWS.iter().filter(|row| row.service == "mowers") {
            let (Some(action), kind) = (row.action, row.resource) else { continue };
            let allowed = may(&agent, action, kind);
            if allowed {
                prop_assert!(may(&free, action, kind), "{}", action);
                for bound in &agent.bounds {
                    prop_assert!(may(&owner(bound, &free), action, kind), "{}", action);
                }
            }
            // A stop is also a right of whoever may start all members at once.
            if row.class == Class::SafetyWrite && may(&agent, "observe", kind) {
                prop_assert!(allowed, "{}", action);
            }
            if row.class == Class::SafetyWrite && kind == ResourceType::Mower && allowed {
                prop_assert!(may(&agent, "observe", kind), "{}", action);
            }
        }
    }
}

fn check(agent: &[(Role, &str)], owner: &[(Role, &str)], action: &str, expected: &str) {
    let held = |grants: &[(Role, &str)]| -> Vec<(Role, String)> {
        let owned = grants
            .iter()
            .map(|(role, id)| (role.clone(), (*id).to_owned()));
        owned.collect()
    };
    let facts = PrincipalFacts {
        grants: held(agent),
        bounds: vec![Bound {
            tenants: Some(vec!["acme".to_owned()]),
            grants: Some(held(owner)),
        }],
        ..caller(PrincipalKind::Agent, "bot", &[])
    };
    let mower = at(ResourceType::Mower, 4);
    let got = ask(&shipped(), &facts, action, &mower, &enforced());
    assert_eq!(got, expected, "{agent:?} within {owner:?}: {action}");
}

#[test]
fn the_narrower_scope_counts_whoever_holds_it() {
    let wide = [(Role::OPERATOR, "acme")];
    let narrow = [(Role::OPERATOR, "north")];
    let beside = [(Role::OPERATOR, "elsewhere")];
    check(&narrow, &wide, "pause_mow", "allow control.role");
    check(&wide, &narrow, "pause_mow", "allow control.role");
    check(&wide, &beside, "pause_mow", "404");
    check(&wide, &[], "mower_stop", "404");
}

#[test]
fn an_agent_of_somebody_who_only_looks_looks_and_stops() {
    let operator = [(Role::OPERATOR, "acme")];
    let viewer = [(Role::VIEWER, "acme")];
    check(&operator, &viewer, "mower_get", "allow view.role");
    check(&operator, &viewer, "mower_stop", "allow view.role");
    check(&operator, &viewer, "pause_mow", "403");
    check(&operator, &viewer, "path_preview", "403");
}

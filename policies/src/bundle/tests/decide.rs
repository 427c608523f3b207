//! Decisions on the shipped bundle that no case of the bundle can state:
//! visibility, identities from the grants file, and broken policies.

use interlock_surface::{ROWS, ResourceType};

use super::overlay::Overlay;
use super::scene::{
    ask, caller, enforced, missing, object, person, plan, prepared, proposer, row_of, told,
};
use super::{Bundle, shipped};
use crate::decision::Decision;
use crate::facts::{ContextFacts, PrincipalFacts, PrincipalKind, Proposer, ResourceFacts};
use crate::roles::Role;

const SWARM: ResourceType = ResourceType::Swarm;

fn check(facts: &PrincipalFacts, action: &str, resource: &ResourceFacts, expected: &str) {
    let got = ask(&shipped(), facts, action, resource, &enforced());
    assert_eq!(got, expected, "{facts:?} {action} {resource:?}");
}

#[test]
fn who_sees_gets_403_and_who_does_not_gets_404() {
    let viewer = person("vera", &[Role::VIEWER]);
    check(&viewer, "mission_start", &object(SWARM), "403");
    check(
        &viewer,
        "mission_start",
        &missing(SWARM),
        "404 guard.tenant guard.unplaced",
    );
    let stranger = person("nobody", &[]);
    check(&stranger, "mission_start", &object(SWARM), "404");
    let foreign = PrincipalFacts {
        tenants: vec!["umbrella".to_owned()],
        ..person("fay", &[Role::OPERATOR])
    };
    check(&foreign, "swarm_land", &object(SWARM), "404 guard.tenant");
    let nobody = caller(PrincipalKind::Anonymous, "anonymous", &[]);
    check(&nobody, "swarm_state", &object(SWARM), "404");
    check(
        &nobody,
        "swarm_state",
        &missing(SWARM),
        "404 guard.unplaced",
    );
}

#[test]
fn a_grant_on_the_installation_reaches_everything_of_the_tenants() {
    let everywhere = PrincipalFacts {
        grants: vec![(Role::VIEWER, "installation".to_owned())],
        ..person("vera", &[])
    };
    check(&everywhere, "swarm_land", &object(SWARM), "allow view.role");
    check(
        &everywhere,
        "swarm_land",
        &missing(SWARM),
        "404 guard.tenant",
    );
}

#[test]
fn decide_by_row_and_observe_agree_with_the_action() {
    let bundle = shipped();
    let viewer = prepared(&person("vera", &[Role::VIEWER]));
    let land = bundle.decide(&viewer, row_of("swarm_land"), &object(SWARM), &enforced());
    assert_eq!(told(&land), "allow view.role");
    assert!(
        bundle
            .observe(&viewer, &object(SWARM), &enforced())
            .is_allow()
    );
    assert!(
        !bundle
            .observe(&viewer, &missing(SWARM), &enforced())
            .is_allow()
    );
}

#[test]
fn a_row_without_an_action_is_never_decided() {
    let internal = ROWS.iter().find(|row| row.action.is_none()).unwrap();
    let viewer = prepared(&person("vera", &[Role::VIEWER]));
    let decision = shipped().decide(&viewer, internal, &object(SWARM), &enforced());
    assert_eq!(told(&decision), "broken");
}

#[test]
fn a_resource_of_another_type_than_the_rows_is_broken() {
    let viewer = person("vera", &[Role::VIEWER]);
    check(&viewer, "swarm_land", &object(ResourceType::Plan), "broken");
}

/// The grants file of the separation-of-duties tests.
const PEOPLE: &str = r#"{
  "format": 1,
  "people": [
    { "id": "alice", "tenants": [], "grants": [], "identities": [
      { "issuer": "https://idp.example", "subject": "alice" },
      { "issuer": "https://idp2.example", "subject": "a.liddell" },
      { "issuer": "https://idp.example", "subject": "alice-service" } ] },
    { "id": "sam", "suspended": true, "identities": [
      { "issuer": "https://idp.example", "subject": "sam" } ] }
  ],
  "identities": [
    { "issuer": "https://idp.example", "subject": "bot", "actsFor": "alice" }
  ]
}"#;

fn with_people() -> Bundle {
    let overlay = Overlay::new();
    overlay.write("grants.json", PEOPLE);
    overlay.load().unwrap()
}

/// Decides `plan_approve` with the person alias that the grants file gives.
fn approve(bundle: &Bundle, approver: PrincipalFacts, proposed_by: Proposer, expected: &str) {
    let entry = bundle
        .directory()
        .entry(&approver.issuer, &approver.subject);
    let approver = PrincipalFacts {
        person: entry.person,
        suspended: entry.suspended,
        ..approver
    };
    let got = ask(
        bundle,
        &approver,
        "plan_approve",
        &plan(proposed_by.clone()),
        &enforced(),
    );
    assert_eq!(got, expected, "{approver:?} {proposed_by:?}");
}

const APPROVER: [Role; 2] = [Role::OPERATOR, Role::APPROVER];

#[test]
fn a_proposer_does_not_approve_under_any_name() {
    let bundle = with_people();
    let refused = "403 guard.proposer";
    let alice = |subject: &str| person(subject, &APPROVER);
    approve(&bundle, alice("alice"), proposer("alice"), refused);
    // Another spelling of subject or issuer.
    approve(&bundle, alice("Alice"), proposer("alice"), refused);
    approve(&bundle, alice("alice"), proposer(" ALICE"), refused);
    let slash = Proposer {
        issuer: "https://IDP.example/".to_owned(),
        ..proposer("alice")
    };
    approve(&bundle, alice("alice"), slash, refused);
    // Another identity of the same person, an account of hers included.
    let elsewhere = PrincipalFacts {
        issuer: "https://idp2.example".to_owned(),
        ..alice("a.liddell")
    };
    approve(&bundle, elsewhere.clone(), proposer("alice"), refused);
    approve(&bundle, elsewhere, proposer("alice-service"), refused);
    approve(&bundle, alice("alice"), proposer("alice-service"), refused);
    // An agent with a token that alice delegated, and alice acting for another.
    let delegated = Proposer {
        actor: Some("any-agent".to_owned()),
        ..proposer("alice")
    };
    approve(&bundle, alice("alice"), delegated, refused);
    let acting = Proposer {
        actor: Some("alice".to_owned()),
        ..proposer("olga")
    };
    approve(&bundle, alice("alice"), acting, refused);
    // Every role there is does not help.
    approve(
        &bundle,
        person("alice", &Role::BUILT_IN),
        proposer("alice"),
        refused,
    );
}

#[test]
fn another_person_approves() {
    let bundle = with_people();
    let ada = || person("ada", &APPROVER);
    approve(&bundle, ada(), proposer("alice"), "allow approve.role");
    // The same subject at another issuer is somebody else, unless the file says so.
    let namesake = PrincipalFacts {
        issuer: "https://idp3.example".to_owned(),
        ..person("alice", &APPROVER)
    };
    approve(&bundle, namesake, proposer("alice"), "allow approve.role");
    // An agent with an identity of its own, and the person it acts for.
    approve(
        &bundle,
        person("alice", &APPROVER),
        proposer("bot"),
        "allow approve.role",
    );
    // The role is still needed, and suspension still holds.
    approve(
        &bundle,
        person("root", &[Role::MANAGER]),
        proposer("alice"),
        "403",
    );
    approve(
        &bundle,
        person("Sam", &APPROVER),
        proposer("alice"),
        "403 guard.suspended",
    );
}

#[test]
fn an_unknown_proposer_cannot_be_approved() {
    let ada = person("ada", &APPROVER);
    let unknown = object(ResourceType::Plan);
    check(&ada, "plan_approve", &unknown, "403 guard.proposer.known");
    check(&ada, "plan_reject", &unknown, "allow approve.role");
}

/// A guard that overflows for a very long time to live: it validates, and no
/// case of the bundle meets it.
const OVERFLOWING: &str = "@id(\"guard.overflow\")
forbid (principal, action == Action::\"mission_start\", resource)
when { context.ttl_ms + 500 > 600500 };
";

fn overflowing() -> Bundle {
    let overlay = Overlay::new();
    overlay.write("guards/90-overflow.cedar", OVERFLOWING);
    overlay.load().unwrap()
}

fn living(ttl_ms: i64) -> ContextFacts {
    ContextFacts {
        ttl_ms,
        ..enforced()
    }
}

#[test]
fn a_guard_that_fails_breaks_the_decision() {
    let bundle = overflowing();
    let otto = person("otto", &[Role::OPERATOR]);
    let decide = |ttl_ms| {
        ask(
            &bundle,
            &otto,
            "mission_start",
            &object(SWARM),
            &living(ttl_ms),
        )
    };
    assert_eq!(decide(600_000), "allow control.role");
    assert_eq!(decide(i64::MAX), "broken guard.overflow");
    // Other actions do not meet the guard.
    let land = ask(
        &bundle,
        &otto,
        "swarm_land",
        &object(SWARM),
        &living(i64::MAX),
    );
    assert_eq!(land, "allow view.role");
}

#[test]
fn a_permit_that_fails_breaks_the_decision_too() {
    let overlay = Overlay::new();
    let permit = "@id(\"view.overflow\")
permit (principal, action in Action::\"view\", resource)
when { resource in principal.grants.view && context.ttl_ms + 1 > 0 };
";
    overlay.write("permits/90-overflow.cedar", permit);
    // A case of the bundle stops with the longest time to live there is.
    overlay.remove("cases/stops.json");
    let bundle = overlay.load().unwrap();
    let vera = person("vera", &[Role::VIEWER]);
    let land = |bundle: &Bundle| {
        ask(
            bundle,
            &vera,
            "swarm_land",
            &object(SWARM),
            &living(i64::MAX),
        )
    };
    assert_eq!(land(&bundle), "broken view.overflow");
    // A denial whose visibility cannot be told is broken as well.
    let start = ask(
        &bundle,
        &vera,
        "mission_start",
        &object(SWARM),
        &living(i64::MAX),
    );
    assert_eq!(start, "broken view.overflow");
    // What a stop falls back on.
    assert_eq!(land(&Bundle::minimal().unwrap()), "allow view.role");
}

#[test]
fn the_minimal_bundle_gives_sight_and_stop_and_nothing_else() {
    let bundle = Bundle::minimal().unwrap();
    let root = person("root", &Role::BUILT_IN);
    for row in ROWS.iter() {
        let Some(action) = row.action else { continue };
        let got = bundle.decide(&prepared(&root), row, &object(row.resource), &enforced());
        let viewing = row.relation == interlock_surface::Relation::View;
        assert_eq!(got.is_allow(), viewing, "{action}");
        let foreign = PrincipalFacts {
            tenants: vec!["umbrella".to_owned()],
            ..root.clone()
        };
        let got = bundle.decide(&prepared(&foreign), row, &object(row.resource), &enforced());
        assert!(
            row.public || matches!(got, Decision::Deny { visible: false, .. }),
            "{action}"
        );
    }
}

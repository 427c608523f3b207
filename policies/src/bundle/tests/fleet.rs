//! Mowers: who may what in words and status, problems that a refusal names, and
//! roles of the grants file.

use interlock_surface::{ROWS, Relation, ResourceType};

use super::overlay::Overlay;
use super::scene::{ask, caller, enforced, missing, object, person, told};
use super::{Bundle, shipped};
use crate::facts::{
    ContextFacts, INSTALLATION, PrincipalFacts, PrincipalKind, ResourceFacts, VehicleState,
};
use crate::roles::Role;

const MOWER: ResourceType = ResourceType::Mower;

fn check(facts: &PrincipalFacts, action: &str, resource: &ResourceFacts, expected: &str) {
    let got = ask(&shipped(), facts, action, resource, &enforced());
    assert_eq!(got, expected, "{facts:?} {action} {resource:?}");
}

fn agent(role: Role) -> PrincipalFacts {
    caller(PrincipalKind::Agent, "bot", &[role])
}

fn foreign() -> PrincipalFacts {
    PrincipalFacts {
        tenants: vec!["umbrella".to_owned()],
        grants: vec![(Role::OWNER, "umbrella".to_owned())],
        ..person("fay", &[])
    }
}

fn standing(state: VehicleState) -> ResourceFacts {
    ResourceFacts {
        state,
        ..object(MOWER)
    }
}

/// Every kind of command and look, by every sort of caller, as callers are
/// answered.
#[test]
fn each_kind_is_answered_as_the_roles_say() {
    let kinds = [
        ("start_mow", [403, 200, 200, 200, 403, 404]),
        ("resume_mow", [403, 200, 200, 200, 403, 404]),
        ("pause_mow", [403, 200, 200, 200, 200, 404]),
        ("return_to_dock", [403, 200, 200, 200, 200, 404]),
        ("set_blade_height", [403, 200, 200, 200, 403, 404]),
        ("set_speed", [403, 200, 200, 200, 403, 404]),
        ("path_preview", [403, 200, 200, 200, 200, 404]),
        ("manual_drive", [403, 403, 200, 200, 403, 404]),
        ("emergency_stop", [200, 200, 200, 200, 200, 404]),
        ("mower_stop", [200, 200, 200, 200, 200, 404]),
        ("mower_get", [200, 200, 200, 200, 200, 404]),
    ];
    let callers = [
        person("vera", &[Role::VIEWER]),
        person("otto", &[Role::OPERATOR]),
        person("dora", &[Role::DRIVER]),
        person("olga", &[Role::OWNER]),
        agent(Role::OPERATOR),
        foreign(),
    ];
    let bundle = shipped();
    for (action, expected) in kinds {
        for (facts, status) in callers.iter().zip(expected) {
            let told = ask(&bundle, facts, action, &object(MOWER), &enforced());
            let word = if status == 200 {
                "allow"
            } else {
                &status.to_string()
            };
            assert!(told.starts_with(word), "{} {action}: {told}", facts.subject);
            // What is not there is what is somebody else's.
            let told = ask(&bundle, facts, action, &missing(MOWER), &enforced());
            assert!(
                told.starts_with("404"),
                "{} {action}: {told}",
                facts.subject
            );
        }
    }
}

/// A problem is told to those who have the right and may see the object, and
/// to nobody else.
#[test]
fn a_problem_is_told_where_it_alone_stands_in_the_way() {
    let otto = person("otto", &[Role::OPERATOR]);
    let vera = person("vera", &[Role::VIEWER]);
    let quiet = standing(VehicleState {
        quiet: true,
        ..VehicleState::default()
    });
    let looking = standing(VehicleState {
        features: Some(["reports".to_owned()].into()),
        ..VehicleState::default()
    });
    let both = standing(VehicleState {
        quiet: true,
        ..looking.state.clone()
    });
    check(
        &otto,
        "start_mow",
        &quiet,
        "403 quiet-hours guard.mower.quiet",
    );
    check(
        &otto,
        "start_mow",
        &looking,
        "403 feature-not-in-plan guard.mower.feature",
    );
    check(
        &otto,
        "start_mow",
        &both,
        "403 feature-not-in-plan guard.mower.feature guard.mower.quiet",
    );
    check(
        &agent(Role::OPERATOR),
        "start_mow",
        &object(MOWER),
        "403 agent-needs-plan guard.agent.start",
    );
    check(
        &agent(Role::OPERATOR),
        "resume_mow",
        &quiet,
        "403 agent-needs-plan guard.agent.start guard.mower.quiet",
    );
    // Without the right, the guard's reason is nobody's business.
    check(&vera, "start_mow", &quiet, "403 guard.mower.quiet");
    check(&vera, "start_mow", &looking, "403 guard.mower.feature");
    check(
        &agent(Role::VIEWER),
        "start_mow",
        &object(MOWER),
        "403 guard.agent.start",
    );
    // Without sight, nothing is told at all.
    check(
        &foreign(),
        "start_mow",
        &quiet,
        "404 guard.mower.quiet guard.tenant",
    );
    let stranger = person("nobody", &[]);
    check(&stranger, "start_mow", &quiet, "404 guard.mower.quiet");
    // A guard that names no problem decides too.
    let sue = PrincipalFacts {
        suspended: true,
        ..otto.clone()
    };
    check(
        &sue,
        "start_mow",
        &quiet,
        "403 guard.mower.quiet guard.suspended",
    );
    // Nothing of it reaches calming or stops.
    for action in ["pause_mow", "return_to_dock"] {
        check(&otto, action, &both, "allow control.role");
        check(&agent(Role::OPERATOR), action, &both, "allow control.role");
    }
    check(&vera, "emergency_stop", &both, "allow view.role");
}

#[test]
fn agents_are_sent_to_a_plan_for_whole_groups_too() {
    let bot = agent(Role::DISPATCHER);
    let group = object(ResourceType::Scope);
    check(
        &bot,
        "group_start_mow",
        &group,
        "403 agent-needs-plan guard.agent.start",
    );
    check(&bot, "group_set_speed", &group, "403 guard.agent.write");
    check(&bot, "group_pause_mow", &group, "allow bulk.role");
    check(&bot, "site_return_to_dock", &group, "allow bulk.role");
    check(&bot, "group_stop", &group, "allow stop.bulk view.role");
}

/// An agent that holds everything still does only what agents do.
#[test]
fn an_agent_looks_plans_calms_and_stops() {
    let bundle = shipped();
    let bot = agent(Role::OWNER);
    for row in ROWS.iter().filter(|row| row.service == "mowers") {
        let Some(action) = row.action else { continue };
        let told = ask(&bundle, &bot, action, &object(row.resource), &enforced());
        use interlock_surface::Class::{GatedWrite, Plan, PrivateRead, Read, SafetyWrite};
        let kept = matches!(
            row.class,
            Read | PrivateRead | Plan | GatedWrite | SafetyWrite
        );
        // Who stops how often is for the people who manage the account.
        let expected = row.calming || kept && row.relation != Relation::Manage;
        assert_eq!(told.starts_with("allow"), expected, "{row}: {told}");
    }
}

/// Roles of the grants file, as the worked example of bulk commands needs them:
/// a role that holds bulk and nothing else.
const ANNA: &str = r#"{
  "format": 1,
  "roles": { "bulk-only": ["bulk"], "mechanic": ["view", "manage"] },
  "people": [{
    "id": "anna",
    "identities": [{ "issuer": "https://idp.example", "subject": "anna" }],
    "tenants": ["acme"],
    "grants": [
      { "role": "operator", "scope": "m1" },
      { "role": "operator", "scope": "m2" },
      { "role": "viewer", "scope": "m3" },
      { "role": "bulk-only", "scope": "north" }
    ]
  }],
  "identities": []
}"#;

fn in_north(kind: ResourceType, id: &str) -> ResourceFacts {
    let scopes = [id, "north", "depot", "acme", INSTALLATION];
    ResourceFacts {
        id: id.to_owned(),
        scopes: scopes.map(str::to_owned).into(),
        ..object(kind)
    }
}

fn as_anna(bundle: &Bundle, action: &str, resource: &ResourceFacts) -> String {
    let entry = bundle.directory().entry("https://idp.example", "anna");
    let facts = PrincipalFacts {
        person: entry.person,
        tenants: entry.tenants,
        grants: entry.grants,
        ..person("anna", &[])
    };
    let principal = bundle.principal(&facts).unwrap();
    told(&bundle.decide_action(&principal, action, resource, &enforced()))
}

#[test]
fn a_role_of_the_grants_file_gives_what_it_lists_and_nothing_else() {
    let overlay = Overlay::new();
    overlay.write("grants.json", ANNA);
    let bundle = overlay.load().unwrap();
    let roles = bundle.directory().roles();
    let mechanic = Role::named("mechanic").unwrap();
    assert_eq!(
        roles.relations(&mechanic),
        [Relation::View, Relation::Manage]
    );
    let north = in_north(ResourceType::Scope, "north");
    let check = |action: &str, resource: &ResourceFacts, expected: &str| {
        assert_eq!(
            as_anna(&bundle, action, resource),
            expected,
            "{action} {resource:?}"
        );
    };
    check("group_start_mow", &north, "allow bulk.role");
    check("group_stop", &north, "allow stop.bulk");
    check("group_get", &north, "404");
    for (id, start, stop) in [
        ("m1", "allow control.role", "allow view.role"),
        ("m2", "allow control.role", "allow view.role"),
        ("m3", "403", "allow view.role"),
        ("m4", "404", "404"),
        ("m5", "404", "404"),
    ] {
        let mower = in_north(MOWER, id);
        check("start_mow", &mower, start);
        check("mower_stop", &mower, stop);
    }
}

#[test]
fn a_role_that_the_bundle_does_not_have_gives_nothing() {
    let chief = person("chief", &[Role::named("chief").unwrap()]);
    check(&chief, "mower_get", &object(MOWER), "404");
    let besides = person("both", &[Role::named("chief").unwrap(), Role::VIEWER]);
    check(&besides, "mower_get", &object(MOWER), "allow view.role");
}

/// A role can be held on one mower alone.
#[test]
fn a_role_on_one_mower_reaches_that_mower() {
    let only = PrincipalFacts {
        grants: vec![(Role::OPERATOR, "m1".to_owned())],
        ..person("otto", &[])
    };
    check(
        &only,
        "start_mow",
        &in_north(MOWER, "m1"),
        "allow control.role",
    );
    check(&only, "start_mow", &in_north(MOWER, "m2"), "404");
    check(
        &only,
        "mower_list",
        &object(ResourceType::Scope),
        "allow list.member",
    );
}

/// Plans of mowers are kept apart from their proposers too: every row of the
/// class that gives out a code.
#[test]
fn no_service_lets_a_proposer_approve() {
    let bundle = shipped();
    let olga = person("olga", &[Role::OWNER]);
    let context: ContextFacts = enforced();
    let mine = super::scene::plan(super::scene::proposer("olga"));
    let mut approvals = 0;
    for row in ROWS
        .iter()
        .filter(|row| row.class == interlock_surface::Class::Approval)
    {
        let action = row.action.unwrap();
        let told = ask(&bundle, &olga, action, &mine, &context);
        // Taking back one's own is allowed, and gives no code.
        if told == "allow approve.role reject.own" {
            continue;
        }
        approvals += 1;
        assert_eq!(told, "403 guard.proposer", "{action}");
    }
    assert_eq!(approvals, 2, "one for each vehicle service");
}

//! The index against the whole policy set: the same decision, reasons and
//! errors on random requests, and a bound on what is evaluated.

use std::fmt::Write;

use cedar_policy::{Authorizer, Entities, Entity, EntityUid, Request};
use interlock_surface::{ROWS, ResourceType, Row};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::Bundle;
use super::overlay::Overlay;
use super::scene::{caller, enforced, object, person, prepared, proposer, row_of};
use crate::decision::Verdict;
use crate::facts::{ContextFacts, Mode, PrincipalFacts, PrincipalKind, ResourceFacts};
use crate::roles::Role;
use crate::slice;

/// The shipped bundle with guards of `accounts` accounts and one guard that
/// overflows, so that errors are compared as well.
fn many(accounts: usize) -> Overlay {
    let overlay = Overlay::new();
    for account in 0..accounts {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "@id(\"tenant.{account}.calm\")
forbid (principal is Agent, action in [Action::\"plan\", Action::\"gated_write\"],
  resource in Scope::\"account-{account}\")
when {{ context.ttl_ms > 1000 }};
@id(\"tenant.{account}.overflow\")
forbid (principal, action in Action::\"gated_write\", resource in Scope::\"account-{account}\")
when {{ context.ttl_ms + 500 > 600500 }};"
        );
        overlay.write(&format!("tenants/account-{account}.cedar"), text);
    }
    overlay
}

/// The whole set through Cedar's public API alone, action entities included.
fn whole(
    bundle: &Bundle,
    principal: &PrincipalFacts,
    row: &Row,
    resource: &ResourceFacts,
    context: &ContextFacts,
) -> Verdict {
    let loaded = &bundle.0;
    let proposed = resource.proposer.as_ref();
    let proposed = proposed.map(|proposer| loaded.directory.proposer(proposer));
    let principal = prepared(principal).prepared().entity(resource).unwrap();
    let resource = loaded.vocabulary.resource(resource, proposed).unwrap();
    let action: EntityUid = format!("Action::{:?}", row.action.unwrap())
        .parse()
        .unwrap();
    let request = Request::new(
        principal.uid().clone().into(),
        action,
        resource.entity.uid().clone().into(),
        loaded.vocabulary.context(context).into(),
        Some(&loaded.schema),
    );
    let entities = [
        Entity::from(principal.as_ref().clone()),
        Entity::from(resource.entity.as_ref().clone()),
    ];
    let entities = Entities::from_entities(entities, Some(&loaded.schema)).unwrap();
    let mut verdict = Verdict::default();
    verdict.add(&Authorizer::new().is_authorized(&request.unwrap(), &loaded.policies, &entities));
    verdict
}

fn indexed(
    bundle: &Bundle,
    principal: &PrincipalFacts,
    row: &Row,
    resource: &ResourceFacts,
    context: &ContextFacts,
) -> Verdict {
    let principal = prepared(principal);
    let asking = super::super::Asking {
        principal: &principal,
        entity: principal.prepared().entity(resource).unwrap(),
        resource: bundle.0.resource(resource).unwrap(),
        kind: resource.kind.as_str(),
        context: bundle.0.vocabulary.context(context),
    };
    bundle.0.judge(&asking, row.action.unwrap()).unwrap()
}

fn sorted(mut verdict: Verdict) -> Verdict {
    verdict.permits.sort();
    verdict.forbids.sort();
    verdict.faults.sort_by(|l, r| l.policy.cmp(&r.policy));
    verdict
}

fn scopes() -> impl Strategy<Value = Vec<String>> {
    let scope = (0..12usize).prop_map(|n| match n {
        0 => "installation".to_owned(),
        1 => "acme".to_owned(),
        n => format!("account-{}", n - 2),
    });
    prop::collection::vec(scope, 0..4)
}

prop_compose! {
    fn principals()(
        kind in prop::sample::select(PrincipalKind::ALL.to_vec()),
        subject in prop::sample::select(vec!["alice", "bob"]),
        tenants in scopes(),
        held in scopes(),
        role in prop::sample::select(Role::BUILT_IN.to_vec()),
        suspended in any::<bool>(),
    ) -> PrincipalFacts {
        let mut facts = caller(kind, subject, &[]);
        facts.suspended = suspended;
        if kind != PrincipalKind::Anonymous {
            facts.tenants = tenants;
            facts.grants = held.into_iter().map(|scope| (role.clone(), scope)).collect();
        }
        facts
    }
}

prop_compose! {
    fn resources(kind: ResourceType)(
        scopes in scopes(),
        proposed in prop::option::of(prop::sample::select(vec!["alice", "bob"])),
    ) -> ResourceFacts {
        let mut facts = object(kind);
        facts.scopes = scopes;
        let plan = kind == ResourceType::Plan;
        facts.proposer = proposed.filter(|_| plan).map(proposer);
        facts
    }
}

prop_compose! {
    fn contexts()(
        mode in prop::sample::select(vec![Mode::Open, Mode::Enforced]),
        loopback in any::<bool>(),
        kind in prop::option::of("[a-z]{1,3}"),
        ttl_ms in prop::sample::select(vec![i64::MIN, -1, 0, 1500, 700_000, i64::MAX]),
        idempotency_key in any::<bool>(),
    ) -> ContextFacts {
        ContextFacts { mode, loopback, kind, ttl_ms, idempotency_key }
    }
}

fn rows() -> impl Strategy<Value = &'static Row> {
    let rows: Vec<&'static Row> = ROWS.iter().filter(|row| row.action.is_some()).collect();
    prop::sample::select(rows)
}

#[test]
fn the_index_decides_as_the_whole_set_does() {
    let bundle = many(10).load().unwrap();
    let requests = (principals(), contexts(), rows()).prop_flat_map(|(principal, context, row)| {
        (
            Just(principal),
            Just(context),
            Just(row),
            resources(row.resource),
        )
    });
    let mut seen = [0; 3];
    let mut runner = TestRunner::new(ProptestConfig::with_cases(3000));
    let result = runner.run(&requests, |(principal, context, row, resource)| {
        let whole = sorted(whole(&bundle, &principal, row, &resource, &context));
        let indexed = sorted(indexed(&bundle, &principal, row, &resource, &context));
        prop_assert_eq!(&whole, &indexed);
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    // What was compared includes every kind of answer.
    let mut runner = TestRunner::deterministic();
    for _ in 0..5000 {
        let (principal, context, row, resource) = requests.new_tree(&mut runner).unwrap().current();
        let verdict = indexed(&bundle, &principal, row, &resource, &context);
        seen[0] += usize::from(!verdict.permits.is_empty());
        seen[1] += usize::from(!verdict.forbids.is_empty());
        seen[2] += usize::from(!verdict.faults.is_empty());
    }
    assert!(seen.iter().all(|count| *count > 10), "{seen:?}");
}

#[test]
fn a_decision_evaluates_few_policies_however_many_there_are() {
    // Each account brings two policies.
    for accounts in [0, 65, 740] {
        let bundle = many(accounts).load().unwrap();
        let agent = prepared(&caller(PrincipalKind::Agent, "bot", &[Role::OPERATOR]));
        let otto = prepared(&person("otto", &[Role::OPERATOR]));
        let mut most = 0;
        for row in ROWS.iter().filter(|row| row.action.is_some()) {
            let mut resource = object(row.resource);
            resource.scopes.push("account-0".to_owned());
            most = most.max(bundle.evaluated(&agent, row, &resource));
            most = most.max(bundle.evaluated(&otto, row, &resource));
        }
        assert!(most <= 12, "{most} of {}", bundle.len());
        let land = row_of("swarm_land");
        let stop = bundle.evaluated(&otto, land, &object(ResourceType::Swarm));
        assert_eq!(stop, 2, "view.role and guard.tenant");
    }
}

#[test]
fn a_slice_holds_principal_action_and_resource() {
    let bundle = many(0).load().unwrap();
    let principal = prepared(&person("otto", &[Role::OPERATOR]));
    let swarm = object(ResourceType::Swarm);
    let principal = principal.prepared().entity(&swarm).unwrap();
    let resource = bundle.0.resource(&swarm).unwrap();
    let rows = ROWS.iter().filter_map(|row| row.action);
    for name in rows.chain([slice::OBSERVE]) {
        let action = &bundle.0.actions[name];
        let slice = slice::slice(&principal, action, &resource).unwrap();
        assert_eq!(slice.len(), 3);
        // With its groups: without them `action in Action::"write"` is false,
        // and every guard on a class would be off without an error.
        let uid: EntityUid = action.entity.uid().clone().into();
        assert!(slice.ancestors(&uid).unwrap().count() >= 2, "{name}");
    }
}

/// Why the test above is needed: what Cedar answers without the action.
#[test]
fn without_the_action_entity_a_guard_is_off() {
    let bundle = many(0).load().unwrap();
    let facts = caller(PrincipalKind::Agent, "bot", &[Role::OPERATOR]);
    let swarm = object(ResourceType::Swarm);
    let row = row_of("mission_start");
    let verdict = indexed(&bundle, &facts, row, &swarm, &enforced());
    let forbids: Vec<String> = verdict.forbids.iter().map(ToString::to_string).collect();
    assert_eq!(forbids, ["guard.agent.write"]);

    let resource = bundle.0.resource(&swarm).unwrap();
    let principal = prepared(&facts).prepared().entity(&swarm).unwrap();
    let request = Request::new(
        principal.uid().clone().into(),
        "Action::\"mission_start\"".parse().unwrap(),
        resource.entity.uid().clone().into(),
        bundle.0.vocabulary.context(&enforced()).into(),
        Some(&bundle.0.schema),
    );
    let two = [
        Entity::from(principal.as_ref().clone()),
        Entity::from(resource.entity.as_ref().clone()),
    ];
    let two = Entities::from_entities(two, None).unwrap();
    let answer = Authorizer::new().is_authorized(&request.unwrap(), &bundle.0.policies, &two);
    let mut verdict = Verdict::default();
    verdict.add(&answer);
    assert!(
        verdict.forbids.is_empty() && verdict.faults.is_empty(),
        "{verdict:?}"
    );
}

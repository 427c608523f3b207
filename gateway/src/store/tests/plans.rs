use jiff::SignedDuration;
use uuid::Uuid;

use super::{Check, Pair, at, lost, race, swapped};
use crate::effect::Effect;
use crate::plans::fixtures::{
    answer, approved, code, decision, dispatching, lease, pending, proposal, somebody,
};
use crate::plans::{DispatchEnd, Plan, PlanSummary, SettleAnswer, Status};
use crate::store::{PLAN_RETENTION, Swap};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("a plan in any state comes back as it was", |pair| {
        Box::pin(round_trip(pair))
    }),
    ("an id is written once", |pair| Box::pin(insert_once(pair))),
    ("a plan is replaced on its revision alone", |pair| {
        Box::pin(replace(pair))
    }),
    ("a list is of one service, newest first, bounded", |pair| {
        Box::pin(list(pair))
    }),
    (
        "an operation is unsettled once its lease has passed",
        |pair| Box::pin(unsettled(pair)),
    ),
    (
        "open plans are counted by proposer, up to a limit",
        |pair| Box::pin(open_plans(pair)),
    ),
    ("of twenty dispatches one begins", |pair| {
        Box::pin(one_dispatch(pair))
    }),
    ("old plans are collected, one in doubt is not", |pair| {
        Box::pin(garbage(pair))
    }),
];

/// A plan in each state.
fn every_state() -> Vec<Plan> {
    let ids = || (Uuid::new_v4(), Uuid::new_v4());
    let in_flight = |end: DispatchEnd| {
        let (id, operation) = ids();
        dispatching(id, operation, at(0))
            .finish(operation, end, at(1))
            .expect("finished")
    };
    vec![
        pending(ids().0, at(0)),
        Plan::propose(
            crate::plans::Proposal {
                conflicted: true,
                ..proposal(ids().0)
            },
            at(0),
        )
        .expect("a plan"),
        approved(ids().0, at(0)),
        dispatching(ids().0, ids().1, at(0)),
        in_flight(DispatchEnd::Accepted {
            mission_id: "m".to_owned(),
            answer: answer("{\"é\":\u{1f681}}"),
        }),
        in_flight(DispatchEnd::Refused {
            reason: "too close".to_owned(),
        }),
        pending(ids().0, at(0))
            .reject(decision("bob", at(1)))
            .expect("rejected"),
        approved(ids().0, at(0)).at(at(601)),
        in_flight(DispatchEnd::Unclear),
    ]
}

async fn round_trip(pair: Pair) {
    let plans = every_state();
    let statuses: Vec<Status> = plans.iter().map(Plan::status).collect();
    assert_eq!(statuses, Status::ALL);
    for plan in plans {
        swapped(pair.one.plans.insert(&plan).await);
        assert_eq!(pair.two.plans.get(plan.id).await, Ok(Some(plan)));
    }
    assert_eq!(pair.one.plans.get(Uuid::new_v4()).await, Ok(None));
}

async fn insert_once(pair: Pair) {
    let plan = pending(Uuid::new_v4(), at(0));
    swapped(pair.one.plans.insert(&plan).await);
    let other = pending(plan.id, at(5));
    lost(pair.two.plans.insert(&other).await);
    assert_eq!(pair.one.plans.get(plan.id).await, Ok(Some(plan)));
}

async fn replace(pair: Pair) {
    let plan = pending(Uuid::new_v4(), at(0));
    let next = plan
        .clone()
        .reject(decision("bob", at(1)))
        .expect("rejected");
    lost(pair.one.plans.replace(&next, 1).await);
    assert_eq!(pair.one.plans.get(plan.id).await, Ok(None));

    swapped(pair.one.plans.insert(&plan).await);
    lost(pair.two.plans.replace(&next, 2).await);
    assert_eq!(pair.one.plans.get(plan.id).await, Ok(Some(plan)));
    swapped(pair.two.plans.replace(&next, 1).await);
    assert_eq!(pair.one.plans.get(next.id).await, Ok(Some(next.clone())));
    lost(pair.one.plans.replace(&next, 1).await);
}

async fn list(pair: Pair) {
    let mut ids = Vec::new();
    for second in [3, 1, 2] {
        let plan = pending(Uuid::new_v4(), at(second));
        swapped(pair.one.plans.insert(&plan).await);
        ids.push((second, plan.id));
    }
    let mut mower = proposal(Uuid::new_v4());
    mower.service = "mowers".to_owned();
    let mower = Plan::propose(mower, at(9)).expect("a plan");
    swapped(pair.one.plans.insert(&mower).await);

    ids.sort_by_key(|(second, _)| -second);
    let newest: Vec<Uuid> = ids.into_iter().map(|(_, id)| id).collect();
    for (limit, expected) in [(20, &newest[..]), (2, &newest[..2]), (0, &[])] {
        let listed = pair.two.plans.list("drones", limit).await.expect("a list");
        let listed: Vec<Uuid> = listed.iter().map(PlanSummary::id).collect();
        assert_eq!(listed, expected, "limit {limit}");
    }
    assert_eq!(
        pair.two.plans.list("mowers", 20).await,
        Ok(vec![PlanSummary::of(&mower)])
    );
    let mower = mower.reject(decision("bob", at(10))).expect("rejected");
    swapped(pair.one.plans.replace(&mower, 1).await);
    let listed = pair.two.plans.list("mowers", 20).await;
    assert_eq!(listed, Ok(vec![PlanSummary::of(&mower)]));
    assert_eq!(pair.two.plans.list("boats", 20).await, Ok(vec![]));
}

async fn unsettled(pair: Pair) {
    let plans = &pair.one.plans;
    let (id, operation) = (Uuid::new_v4(), Uuid::new_v4());
    let waiting = approved(id, at(0));
    swapped(plans.insert(&waiting).await);
    assert_eq!(plans.unsettled(at(9999), 10).await, Ok(vec![]));

    let begun = waiting
        .begin_dispatch(Some(&code()), at(0), operation, lease("gateway-1", at(30)))
        .expect("dispatching");
    swapped(plans.replace(&begun, 2).await);
    assert_eq!(plans.unsettled(at(30), 10).await, Ok(vec![]));
    let found = pair.two.plans.unsettled(at(31), 10).await;
    assert_eq!(found, Ok(vec![begun.clone()]));
    assert_eq!(plans.unsettled(at(31), 0).await, Ok(vec![]));

    let taken = begun
        .begin_settle(at(31), lease("gateway-2", at(60)))
        .expect("taken up");
    swapped(plans.replace(&taken, 3).await);
    assert_eq!(plans.unsettled(at(60), 10).await, Ok(vec![]));
    assert_eq!(plans.unsettled(at(61), 10).await, Ok(vec![taken.clone()]));

    let tombstoned = SettleAnswer::Tombstoned {
        effect: Effect::None,
    };
    let back = taken
        .settle(operation, tombstoned, at(62))
        .expect("settled");
    assert_eq!(back.status(), Status::Approved);
    swapped(plans.replace(&back, 4).await);
    assert_eq!(plans.unsettled(at(9999), 10).await, Ok(vec![]));

    // The next attempt is found again, although the hint of the first has
    // just been cleared away.
    let again = back
        .begin_dispatch(Some(&code()), at(63), Uuid::new_v4(), lease("g", at(90)))
        .expect("dispatching");
    swapped(plans.replace(&again, 5).await);
    assert_eq!(plans.unsettled(at(91), 10).await, Ok(vec![again]));
}

async fn open_plans(pair: Pair) {
    let alice = somebody("alice").digest();
    let count = async |seconds, limit| {
        pair.two
            .plans
            .open_plans(&alice, at(seconds), limit)
            .await
            .expect("a count")
    };
    assert_eq!(count(0, 10).await, 0);
    let plan = pending(Uuid::new_v4(), at(0));
    let other = pending(Uuid::new_v4(), at(10));
    let flying = dispatching(Uuid::new_v4(), Uuid::new_v4(), at(0));
    for plan in [&plan, &other, &flying] {
        swapped(pair.one.plans.insert(plan).await);
    }
    assert_eq!(count(0, 10).await, 3);
    assert_eq!(count(0, 2).await, 2);
    assert_eq!(count(3600, 10).await, 3);
    assert_eq!(count(3601, 10).await, 2);
    assert_eq!(count(999_999, 10).await, 1);
    let rejected = other.reject(decision("bob", at(11))).expect("rejected");
    swapped(pair.one.plans.replace(&rejected, 1).await);
    assert_eq!(count(20, 10).await, 2);
    let bob = somebody("bob").digest();
    assert_eq!(pair.one.plans.open_plans(&bob, at(0), 10).await, Ok(0));
}

async fn one_dispatch(pair: Pair) {
    let plan = approved(Uuid::new_v4(), at(0));
    swapped(pair.one.plans.insert(&plan).await);
    let id = plan.id;
    let won = race(&pair, 20, |store, _| async move {
        let plan = store.plans.get(id).await.expect("read").expect("found");
        let revision = plan.revision;
        let operation = Uuid::new_v4();
        let begun = plan.begin_dispatch(Some(&code()), at(1), operation, lease("gateway", at(30)));
        let Ok(begun) = begun else {
            return None;
        };
        let swap = store.plans.replace(&begun, revision).await.expect("a step");
        (swap == Swap::Swapped).then_some(operation)
    })
    .await;
    let won: Vec<Uuid> = won.into_iter().flatten().collect();
    let [operation] = won[..] else {
        panic!("{} dispatches began", won.len());
    };
    let stored = pair.two.plans.get(id).await.expect("read").expect("found");
    assert_eq!(stored.status(), Status::Dispatching);
    assert_eq!(stored.state.operation().expect("one").id, operation);
}

async fn garbage(pair: Pair) {
    let old = pending(Uuid::new_v4(), at(0));
    let doubted = dispatching(Uuid::new_v4(), Uuid::new_v4(), at(0));
    swapped(pair.one.plans.insert(&old).await);
    swapped(pair.one.plans.insert(&doubted).await);
    let later = at(0) + PLAN_RETENTION + SignedDuration::from_secs(1);
    swapped(pair.one.plans.insert(&pending(Uuid::new_v4(), later)).await);
    let listed = pair.one.plans.list("drones", 100).await.expect("a list");
    assert!(listed.iter().all(|plan| plan.id() != old.id));
    assert_eq!(
        pair.one.plans.get(doubted.id).await,
        Ok(Some(doubted.clone()))
    );
    let found = pair.one.plans.unsettled(later, 10).await;
    assert_eq!(found, Ok(vec![doubted]));
}

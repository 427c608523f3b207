//! The gateway ends while it carries out a dispatch, or a start without one.

use interlock_gateway::crash::CrashPoint;
use interlock_tests::system::Plan;

use super::case::{Ask, EMBEDDED, REDIS, agrees, fragile, plan, restart};
use super::{Flow, each, gateway_points};
use crate::personas::stage;

/// What the store holds right after the crash.
fn left_behind(point: CrashPoint) -> &'static str {
    match point {
        CrashPoint::AfterConsume | CrashPoint::BeforeSend | CrashPoint::AfterSend => "Dispatching",
        CrashPoint::AfterFinish | CrashPoint::AfterKey => "Dispatched",
        _ => "Approved",
    }
}

/// Points after which the swarm flies.
fn flew(point: CrashPoint) -> bool {
    matches!(
        point,
        CrashPoint::AfterSend | CrashPoint::AfterFinish | CrashPoint::AfterKey
    )
}

async fn check_dispatch(shape: Plan, name: &'static str, point: CrashPoint) {
    let mut system = fragile(shape, name).await;
    let (id, code) = stage::approved(&system).await;
    let ask = Ask::dispatch(&id, &code);
    ask.lost(&mut system).await;
    let flights = u64::from(flew(point));
    assert_eq!(system.sim.counters().flights, flights, "{name}");

    restart(system.gateway_mut()).await;
    // The code stays consumed or unconsumed; only time may have gone by.
    let status = plan(&system, &id).await["status"].clone();
    let settled_since = ["Approved", "Dispatched"];
    assert!(
        status == left_behind(point)
            || (left_behind(point) == "Dispatching"
                && (status == "Unknown" || status == settled_since[usize::from(flew(point))])),
        "{name}: {status}"
    );
    let answer = ask.settled(&system).await.expect(201);
    let replayed = answer.header("idempotency-replayed").is_some();
    assert_eq!(replayed, flew(point), "{name}");
    agrees(&system, &id, &ask, &answer).await;
}

#[test]
fn on_the_embedded_store() {
    each(gateway_points(Flow::Dispatch), |name, point| {
        check_dispatch(EMBEDDED, name, point)
    });
}

#[test]
fn on_redis() {
    each(gateway_points(Flow::Dispatch), |name, point| {
        check_dispatch(REDIS, name, point)
    });
}

/// A start by right of policy alone has no plan to be settled from: the service
/// is asked.
async fn check_start(name: &'static str, point: CrashPoint) {
    let mut system = fragile(EMBEDDED, name).await;
    let ask = Ask {
        path: "/api/missions".to_owned(),
        body: Some(stage::route()),
        key: Some("once"),
    };
    ask.lost(&mut system).await;
    let flights = u64::from(flew(point));
    assert_eq!(system.sim.counters().flights, flights, "{name}");

    restart(system.gateway_mut()).await;
    let answer = ask.settled(&system).await.expect(201);
    let replayed = answer.header("idempotency-replayed").is_some();
    assert_eq!(replayed, flew(point), "{name}");
    let counted = system.sim.counters();
    assert_eq!((counted.starts, counted.flights), (1, 1), "{name}");
    let again = ask.send(&system).await.expect(201);
    assert_eq!(again.json(), answer.json());
    assert_eq!(system.sim.counters(), counted, "{name}");
}

/// Points that a start reaches too.
const OF_A_START: [CrashPoint; 5] = [
    CrashPoint::BeforeClaim,
    CrashPoint::AfterClaim,
    CrashPoint::BeforeSend,
    CrashPoint::AfterSend,
    CrashPoint::AfterKey,
];

#[test]
fn of_a_start_without_a_plan() {
    let mut points = gateway_points(Flow::Dispatch);
    points.retain(|(_, point)| OF_A_START.contains(point));
    each(points, check_start);
}

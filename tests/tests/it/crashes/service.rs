//! The drone service ends while it starts a mission: it never starts one again
//! that may have flown, and says what became of it.

use interlock_drones::crash::CrashPoint;
use interlock_tests::system::{Plan, System};

use super::case::{Ask, EMBEDDED, REDIS, aborted, agrees, brisk, plan, restart_service};
use super::{Flow, each, service_points};
use crate::personas::stage;

/// What the caller is told in the end: flown, or not flown because the service
/// does not know what happened to the swarm in between. None: the frame was on
/// the wire when the process ended, and either may be true.
fn outcome(point: CrashPoint) -> Option<u16> {
    match point {
        CrashPoint::BeforeBegin | CrashPoint::AfterBegin | CrashPoint::BeforeLinkSend => Some(409),
        CrashPoint::AfterLinkSend => None,
        _ => Some(201),
    }
}

async fn fragile(shape: Plan, point: &str) -> System {
    let mut system = System::start_with(shape, brisk).await;
    system.drones.process.terminate();
    restart_service(&mut system, Some(point)).await;
    system
}

async fn check_dispatch(shape: Plan, name: &'static str, point: CrashPoint) {
    let mut system = fragile(shape, name).await;
    let (id, code) = stage::approved(&system).await;
    let ask = Ask::dispatch(&id, &code);
    let told = ask.send(&system).await;
    assert_eq!(told.problem(), "may-have-acted", "{name}: {}", told.text());
    assert_eq!(told.expect(504).json()["effect"], "maybe");
    aborted(&mut system.drones.process);

    // While the service is gone nobody knows, and nobody says otherwise.
    let doubt = ask.send(&system).await;
    assert_eq!(doubt.problem(), "outcome-unknown", "{}", doubt.text());
    assert_eq!(doubt.expect(409).json()["effect"], "maybe");
    assert_eq!(plan(&system, &id).await["status"], "Unknown", "{name}");
    let reject = Ask::on(&id, "reject").send(&system).await;
    assert_eq!(reject.problem(), "plan-state", "{}", reject.text());

    restart_service(&mut system, None).await;
    let answer = ask.settled(&system).await;
    if let Some(expected) = outcome(point) {
        assert_eq!(answer.status, expected, "{name}: {}", answer.text());
    }
    agrees(&system, &id, &ask, &answer).await;
}

#[test]
fn of_a_dispatch_on_the_embedded_store() {
    each(service_points(Flow::Start), |name, point| {
        check_dispatch(EMBEDDED, name, point)
    });
}

#[test]
fn of_a_dispatch_on_redis() {
    each(service_points(Flow::Start), |name, point| {
        check_dispatch(REDIS, name, point)
    });
}

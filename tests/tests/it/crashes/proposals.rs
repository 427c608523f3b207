//! The gateway ends while it takes a proposal: there is one plan, or none.

use interlock_gateway::crash::CrashPoint;
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};

use super::case::{Ask, EMBEDDED, REDIS, fragile, restart};
use super::{Flow, each, gateway_points};
use crate::personas::stage;

async fn plans(system: &System) -> Vec<String> {
    let list = system.get(Persona::Viewer, "/api/mission-plans").await;
    let list = list.expect(200).json();
    let list = list.as_array().or_else(|| list["plans"].as_array());
    let ids = list.expect("a list of plans").iter();
    ids.map(|plan| plan["id"].as_str().expect("an id").to_owned())
        .collect()
}

async fn check(shape: Plan, name: &'static str, point: CrashPoint) {
    let mut system = fragile(shape, name).await;
    let ask = Ask {
        path: "/api/mission-plans".to_owned(),
        body: Some(stage::route()),
        key: Some("once"),
    };
    ask.lost(&mut system).await;
    restart(system.gateway_mut()).await;
    let survived = point == CrashPoint::AfterInsert;
    let before = plans(&system).await;
    assert_eq!(before.len(), usize::from(survived), "{name}");

    let answer = ask.settled(&system).await.expect(201);
    let replayed = answer.header("idempotency-replayed").is_some();
    assert_eq!(replayed, survived, "{name}");
    let told = answer.json();
    assert_eq!(told["status"], "PendingApproval");
    assert_eq!(plans(&system).await, [told["id"].as_str().unwrap()]);
    let place = format!("/api/mission-plans/{}", told["id"].as_str().unwrap());
    assert_eq!(answer.header("location"), Some(place.as_str()));
    assert_eq!(system.sim.counters(), Default::default());
}

#[test]
fn on_the_embedded_store() {
    each(gateway_points(Flow::Propose), |name, point| {
        check(EMBEDDED, name, point)
    });
}

#[test]
fn on_redis() {
    each(gateway_points(Flow::Propose), |name, point| {
        check(REDIS, name, point)
    });
}

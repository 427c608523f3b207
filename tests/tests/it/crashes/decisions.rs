//! The gateway ends while a person decides: an approval survives, its code is
//! shown at most once, and nobody is told of a decision that somebody else took.

use interlock_gateway::crash::CrashPoint;
use interlock_tests::system::Plan;
use serde_json::Value;

use super::case::{Ask, EMBEDDED, REDIS, agrees, fragile, plan, restart};
use super::{Flow, each, gateway_points};
use crate::personas::stage;

async fn check_approve(shape: Plan, name: &'static str, point: CrashPoint) {
    let mut system = fragile(shape, name).await;
    let id = stage::pending(&system).await;
    let ask = Ask::on(&id, "approve");
    ask.lost(&mut system).await;
    restart(system.gateway_mut()).await;

    let survived = point == CrashPoint::AfterDecide;
    let expected = if survived {
        "Approved"
    } else {
        "PendingApproval"
    };
    assert_eq!(plan(&system, &id).await["status"], expected, "{name}");

    let first = ask.settled(&system).await.expect(200).json();
    assert_eq!(first["plan"]["status"], "Approved", "{name}");
    let repeated = ask.send(&system).await.expect(200);
    assert_eq!(repeated.header("idempotency-replayed"), Some("true"));
    assert_eq!(repeated.json()["approvalCode"], Value::Null, "shown again");
    if survived {
        // The code went with the process: shown to nobody, and to nobody later.
        assert_eq!(first["approvalCode"], Value::Null, "{name}");
        let reject = Ask::on(&id, "reject");
        reject.send(&system).await.expect(200);
        assert_eq!(system.sim.counters().starts, 0);
        return;
    }
    let code = first["approvalCode"].as_str().expect("shown once");
    let dispatch = Ask::dispatch(&id, code);
    let flown = dispatch.send(&system).await.expect(201);
    agrees(&system, &id, &dispatch, &flown).await;
}

#[test]
fn an_approval_on_the_embedded_store() {
    each(gateway_points(Flow::Decide), |name, point| {
        check_approve(EMBEDDED, name, point)
    });
}

#[test]
fn an_approval_on_redis() {
    each(gateway_points(Flow::Decide), |name, point| {
        check_approve(REDIS, name, point)
    });
}

/// One decision is lost before it is made, and then somebody decides otherwise.
async fn check_overtaken(lost: &'static str, made: &'static str, status: &'static str) {
    let mut system = fragile(EMBEDDED, "before-decide").await;
    let id = stage::pending(&system).await;
    let ask = Ask::on(&id, lost);
    ask.lost(&mut system).await;
    restart(system.gateway_mut()).await;
    Ask::on(&id, made).keyless().send(&system).await.expect(200);

    let told = ask.settled(&system).await;
    if lost == "reject" {
        // Nobody had rejected: it is done now, before anything can fly.
        assert_eq!(told.expect(200).json()["status"], "Rejected");
    } else {
        let kind = told.problem();
        assert_eq!(kind, "plan-state", "{} {}", told.status, told.text());
    }
    assert_eq!(plan(&system, &id).await["status"], status);
}

#[tokio::test]
async fn a_lost_approval_is_not_answered_with_a_rejection() {
    check_overtaken("approve", "reject", "Rejected").await;
}

#[tokio::test]
async fn a_lost_rejection_is_not_answered_with_an_approval() {
    check_overtaken("reject", "approve", "Rejected").await;
}

async fn check_reject(name: &'static str, point: CrashPoint) {
    let mut system = fragile(EMBEDDED, name).await;
    let id = stage::pending(&system).await;
    let ask = Ask::on(&id, "reject");
    ask.lost(&mut system).await;
    restart(system.gateway_mut()).await;
    let survived = point == CrashPoint::AfterDecide;
    let expected = if survived {
        "Rejected"
    } else {
        "PendingApproval"
    };
    assert_eq!(plan(&system, &id).await["status"], expected, "{name}");
    let told = ask.settled(&system).await.expect(200).json();
    assert_eq!(told["status"], "Rejected", "{name}");
    let approve = Ask::on(&id, "approve").keyless().send(&system).await;
    assert_eq!(approve.problem(), "plan-state");
}

#[test]
fn a_rejection() {
    each(gateway_points(Flow::Decide), |name, point| {
        check_reject(name, point)
    });
}

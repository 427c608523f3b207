//! Approve, reject and dispatch at once: never a flight after a rejection that
//! was answered with success.

use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use serde_json::json;

use super::{at_once, doors, plan};
use crate::personas::stage;

const ROUNDS: usize = 5;

async fn check(shape: Plan) {
    let system = System::start(shape).await;
    let doors = doors(&system);
    let approver = Persona::Approver.token(&system.idp);
    let operator = Persona::Operator.token(&system.idp);
    let decide = |door: usize, id: &str, verb: &str| {
        let path = format!("/api/mission-plans/{id}/{verb}");
        let call = doors[door % doors.len()].post(&path);
        call.token(approver.as_ref())
    };
    let dispatch = |door: usize, id: &str, code: &str| {
        let path = format!("/api/mission-plans/{id}/dispatch");
        let call = doors[door % doors.len()].post(&path);
        call.token(operator.as_ref())
            .json(&json!({ "approvalCode": code }))
    };
    for round in 0..ROUNDS {
        stage::ground(&system).await;
        let before = system.sim.counters();

        // Both may succeed, in one order alone; then the code is worth nothing.
        let id = stage::pending(&system).await;
        let both = vec![
            decide(round, &id, "approve"),
            decide(round + 1, &id, "reject"),
        ];
        let answers = at_once(both).await;
        answers[1].clone().expect(200);
        assert_eq!(plan(&system, &id).await["status"], "Rejected");
        if answers[0].status == 200 {
            let code = answers[0].json()["approvalCode"]
                .as_str()
                .map(str::to_owned);
            let late = dispatch(round, &id, &code.expect("shown once"))
                .send()
                .await;
            assert_eq!((late.status, late.problem().as_str()), (409, "plan-state"));
        } else {
            assert_eq!(answers[0].problem(), "plan-state");
        }
        assert_eq!(system.sim.counters().starts, before.starts);

        // Either the person was first, or the flight.
        let (id, code) = stage::approved(&system).await;
        let three = vec![
            dispatch(round, &id, &code),
            decide(round + 1, &id, "reject"),
            decide(round, &id, "approve"),
        ];
        let answers = at_once(three).await;
        let told: Vec<(u16, String)> = answers
            .iter()
            .map(|answer| (answer.status, answer.problem()))
            .collect();
        let refused = (409, "plan-state".to_owned());
        assert_eq!(told[2], refused, "it was approved before");
        let status = plan(&system, &id).await["status"].clone();
        let flights = system.sim.counters().flights - before.flights;
        match (told[0].0, told[1].0) {
            (201, 409) => {
                assert_eq!(told[1], refused);
                assert_eq!((status, flights), (json!("Dispatched"), 1));
            }
            (409, 200) => {
                assert_eq!(told[0], refused);
                assert_eq!((status, flights), (json!("Rejected"), 0));
            }
            _ => panic!("dispatch, reject, approve were answered {told:?}"),
        }
    }
}

#[tokio::test]
async fn on_the_embedded_store() {
    check(Plan::ENFORCED).await;
}

#[tokio::test]
async fn over_two_gateways_on_one_redis() {
    check(Plan::PAIR).await;
}

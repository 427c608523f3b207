//! Many callers at once, on one gateway and on two that share a store: what
//! moves a vehicle happens once, and never against a decision or a stop.

mod decisions;
mod stops;

use std::collections::HashSet;

use interlock_tests::gateway::Gateway;
use interlock_tests::http::{Answer, Call, Http};
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use serde_json::{Value, json};

use crate::personas::stage;

/// Plans that are raced for, one after the other.
const ROUNDS: u64 = 3;
/// Callers with the same code.
const RACERS: usize = 20;
/// Callers with the same key.
const REPEATERS: usize = 50;

/// Sends all of them before it waits for any.
pub(crate) async fn at_once(calls: Vec<Call>) -> Vec<Answer> {
    let racing: Vec<_> = calls
        .into_iter()
        .map(|call| tokio::spawn(call.send()))
        .collect();
    let mut answers = Vec::new();
    for answer in racing {
        answers.push(answer.await.expect("the call is made"));
    }
    answers
}

/// A client of every gateway.
fn doors(system: &System) -> Vec<Http> {
    system.gateways.iter().map(Gateway::http).collect()
}

/// The plan as the last gateway shows it.
pub(crate) async fn plan(system: &System, id: &str) -> Value {
    let door = system.gateways.last().expect("a gateway").http();
    let call = door.get(&format!("/api/mission-plans/{id}"));
    let token = Persona::Viewer.token(&system.idp);
    call.token(token).send().await.expect(200).json()
}

/// Twenty callers with one code, some with keys of their own.
async fn check_one_code(shape: Plan) {
    let system = System::start(shape).await;
    let doors = doors(&system);
    let token = Persona::Operator.token(&system.idp);
    for round in 1..=ROUNDS {
        stage::ground(&system).await;
        let (id, code) = stage::approved(&system).await;
        let path = format!("/api/mission-plans/{id}/dispatch");
        let body = json!({ "approvalCode": code });
        let calls = (0..RACERS).map(|racer| {
            let call = doors[racer % doors.len()].post(&path).token(token.as_ref());
            let call = call.json(&body);
            match racer % 3 {
                0 => call,
                _ => call.key(&format!("round-{round}-racer-{racer}")),
            }
        });
        let answers = at_once(calls.collect()).await;
        let (won, lost): (Vec<Answer>, Vec<Answer>) =
            answers.into_iter().partition(|answer| answer.status == 201);
        assert_eq!(won.len(), 1, "one code, one flight; the others: {lost:#?}");
        for answer in lost {
            let kind = answer.problem();
            let told = answer.expect(409).json();
            assert_eq!(kind, "plan-state", "{told}");
            // While the winner's call is under way nobody knows what comes of it.
            let effect = match told["planStatus"].as_str() {
                Some("Dispatching") => "maybe",
                Some("Dispatched") => "none",
                _ => panic!("no state of a dispatch: {told}"),
            };
            assert_eq!(told["effect"], effect, "{told}");
        }
        let counted = system.sim.counters();
        assert_eq!((counted.starts, counted.flights), (round, round));
        let plan = plan(&system, &id).await;
        assert_eq!(plan["status"], "Dispatched");
        assert_eq!(plan["missionId"], won[0].json()["id"]);
    }
}

#[tokio::test]
async fn one_code_on_the_embedded_store() {
    check_one_code(Plan::ENFORCED).await;
}

#[tokio::test]
async fn one_code_over_two_gateways_on_one_redis() {
    check_one_code(Plan::PAIR).await;
}

/// Fifty times the same start under the same key.
async fn check_one_key(shape: Plan) {
    let system = System::start(shape).await;
    let doors = doors(&system);
    let token = Persona::Operator.token(&system.idp);
    let calls = (0..REPEATERS).map(|repeater| {
        let call = doors[repeater % doors.len()].post("/api/missions");
        call.token(token.as_ref()).key("one").json(&stage::route())
    });
    let answers = at_once(calls.collect()).await;
    let mut bodies = HashSet::new();
    let mut first = 0;
    for answer in answers {
        match answer.status {
            201 => {
                let replayed = answer.header("idempotency-replayed");
                first += usize::from(replayed.is_none());
                assert!(replayed.is_none_or(|told| told == "true"));
                bodies.insert(answer.body);
            }
            _ => assert_eq!(
                (answer.status, answer.problem().as_str()),
                (409, "request-in-progress"),
                "{}",
                answer.text()
            ),
        }
    }
    assert_eq!(first, 1, "one of them was carried out");
    assert_eq!(bodies.len(), 1, "a replay is the first answer to the byte");
    let counted = system.sim.counters();
    assert_eq!((counted.starts, counted.flights), (1, 1));
}

#[tokio::test]
async fn one_key_on_the_embedded_store() {
    check_one_key(Plan::ENFORCED).await;
}

#[tokio::test]
async fn one_key_over_two_gateways_on_one_redis() {
    check_one_key(Plan::PAIR).await;
}

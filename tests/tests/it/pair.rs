//! Two gateways on one Redis behave as one.

mod deaths;
mod shared;

use interlock_tests::http::{Answer, Call};
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use serde_json::{Value, json};

use crate::personas::stage;

const PLANS: &str = "/api/mission-plans";

/// A call by `persona` to one of the two.
fn post(system: &System, gateway: usize, persona: Persona, path: &str) -> Call {
    let call = system.gateways[gateway].http().post(path);
    call.token(persona.token(&system.idp))
}

async fn propose(system: &System, gateway: usize) -> Answer {
    let call = post(system, gateway, Persona::Proposer, PLANS);
    call.json(&stage::route()).send().await
}

/// A plan as one of the two shows it.
async fn plan(system: &System, gateway: usize, id: &str) -> Value {
    let call = system.gateways[gateway]
        .http()
        .get(&format!("{PLANS}/{id}"));
    let call = call.token(Persona::Viewer.token(&system.idp));
    call.send().await.expect(200).json()
}

/// Proposed on the first and approved on the second.
async fn approved(system: &System) -> (String, String) {
    let proposed = propose(system, 0).await.expect(201).json();
    let id = proposed["id"].as_str().expect("an id").to_owned();
    let approve = post(
        system,
        1,
        Persona::Approver,
        &format!("{PLANS}/{id}/approve"),
    );
    let told = approve.send().await.expect(200).json();
    let code = told["approvalCode"].as_str().expect("shown once");
    (id, code.to_owned())
}

fn dispatch(system: &System, gateway: usize, id: &str, code: &str) -> Call {
    let path = format!("{PLANS}/{id}/dispatch");
    let call = post(system, gateway, Persona::Operator, &path);
    call.json(&json!({ "approvalCode": code }))
}

/// What one has decided the other knows at once: nothing here waits.
#[tokio::test]
async fn a_plan_goes_through_both() {
    let system = System::start(Plan::PAIR).await;
    let (id, code) = approved(&system).await;
    let again = post(
        &system,
        0,
        Persona::Approver,
        &format!("{PLANS}/{id}/approve"),
    );
    assert_eq!(again.send().await.problem(), "plan-state");
    assert_eq!(plan(&system, 0, &id).await["status"], "Approved");

    let flown = dispatch(&system, 0, &id, &code)
        .key("once")
        .send()
        .await
        .expect(201);
    assert_eq!(flown.header("idempotency-replayed"), None);
    for gateway in [0, 1] {
        let shown = plan(&system, gateway, &id).await;
        assert_eq!(shown["status"], "Dispatched");
        assert_eq!(shown["missionId"], flown.json()["id"]);
        // The same key: the same answer. Another key, or none: too late.
        let call = dispatch(&system, gateway, &id, &code);
        let replayed = call.key("once").send().await.expect(201);
        assert_eq!(replayed.header("idempotency-replayed"), Some("true"));
        assert_eq!(replayed.body, flown.body);
        let call = dispatch(&system, gateway, &id, &code);
        assert_eq!(call.key("other").send().await.problem(), "plan-state");
        let call = dispatch(&system, gateway, &id, &code);
        assert_eq!(call.send().await.problem(), "plan-state");
    }
    let counted = system.sim.counters();
    assert_eq!((counted.starts, counted.flights), (1, 1));
}

/// A key has one meaning, whichever gateway it comes to.
#[tokio::test]
async fn a_key_has_one_meaning() {
    let system = System::start(Plan::PAIR).await;
    let with_key = |gateway, body: &Value| {
        let call = post(&system, gateway, Persona::Proposer, PLANS).key("one");
        call.json(body).send()
    };
    let first = with_key(0, &stage::route()).await.expect(201);
    let same = with_key(1, &stage::route()).await.expect(201);
    assert_eq!(same.header("idempotency-replayed"), Some("true"));
    assert_eq!(same.body, first.body);
    let mut longer = stage::route();
    longer["waypoints"][1]["x"] = json!(40);
    let other = with_key(1, &longer).await.expect(422);
    assert_eq!(other.problem(), "idempotency-key-reuse");
}

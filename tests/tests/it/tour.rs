//! The main job, from proposal to flight to stop.

use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use serde_json::{Value, json};

/// Three drones in that formation over the same route.
fn route(formation: &str) -> Value {
    json!({
        "name": "survey", "type": "formation", "formation": formation, "droneCount": 3,
        "spacingMeters": 3, "waypoints": [{ "x": 0, "y": 0, "z": 6 }, { "x": 30, "y": 0, "z": 6 }],
    })
}

async fn propose(system: &System, formation: &str) -> Value {
    let answer = system
        .post(Persona::Proposer, "/api/mission-plans", &route(formation))
        .await;
    let plan = answer.clone().expect(201).json();
    let location = format!("/api/mission-plans/{}", plan["id"].as_str().unwrap());
    assert_eq!(answer.header("location"), Some(location.as_str()));
    plan
}

async fn check(plan: Plan) {
    let system = System::start(plan).await;

    // A V from the pads: drones would come too close, and nobody can approve.
    let conflicted = propose(&system, "v").await;
    assert_eq!(conflicted["status"], "Conflicted");
    let closest = &conflicted["preview"]["conflicts"][0];
    assert_eq!(closest["distanceMeters"], 1.35);
    assert_eq!(closest["atSeconds"], 1.5);
    let path = format!("/api/mission-plans/{}", conflicted["id"].as_str().unwrap());
    let refused = system.call(Persona::Approver, "POST", &format!("{path}/approve"));
    refused.send().await.expect(409);

    // A line is fine.
    let pending = propose(&system, "line").await;
    assert_eq!(pending["status"], "PendingApproval");
    let path = format!("/api/mission-plans/{}", pending["id"].as_str().unwrap());

    // Whoever proposed cannot approve; another person can, and sees the code.
    let (approve, dispatch) = (format!("{path}/approve"), format!("{path}/dispatch"));
    if plan.enforced {
        let own = system
            .call(Persona::Proposer, "POST", &approve)
            .send()
            .await;
        own.expect(403);
    }
    let approved = system
        .call(Persona::Approver, "POST", &approve)
        .send()
        .await;
    let code = approved.expect(200).json()["approvalCode"].clone();
    assert_eq!(code.as_str().unwrap().len(), 32);

    // It flies once.
    assert_eq!(system.sim.counters().starts, 0);
    let wrong = json!({ "approvalCode": "A".repeat(32) });
    system
        .post(Persona::Operator, &dispatch, &wrong)
        .await
        .expect(403);
    let right = json!({ "approvalCode": code });
    let mission = system
        .post(Persona::Operator, &dispatch, &right)
        .await
        .expect(201)
        .json();
    assert_eq!(mission["status"], "Active");
    system
        .post(Persona::Operator, &dispatch, &right)
        .await
        .expect(409);
    system.settle("one flight", |counters| {
        counters.flights == 1 && counters.starts == 1
    });

    // Anyone who may look may stop.
    let land = system
        .call(Persona::Viewer, "POST", "/api/swarm/land")
        .send()
        .await;
    assert_eq!(land.expect(202).json()["command"], "Land");
    system.settle("one command", |counters| counters.commands == 1);

    // The code is nowhere.
    let code = code.as_str().unwrap();
    assert_eq!(
        system.holding(code.as_bytes()),
        Vec::<std::path::PathBuf>::new()
    );
}

#[tokio::test]
async fn open_on_the_embedded_store() {
    check(Plan::OPEN).await;
}

#[tokio::test]
async fn enforced_on_the_embedded_store() {
    check(Plan::ENFORCED).await;
}

#[tokio::test]
async fn enforced_on_redis() {
    check(Plan::REDIS).await;
}

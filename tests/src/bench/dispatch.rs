//! From the dispatch call to its answer: decided, approved, consumed, recorded,
//! planned anew by the drone service, sent to the swarm, acknowledged, finished.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::personas::Persona;
use crate::poll;
use crate::system::{Plan, System};

/// Flights per store.
const FLIGHTS: usize = 20;

/// The steps of one plan, on one store.
#[derive(Clone, Debug)]
pub(super) struct Flights {
    pub(super) store: &'static str,
    pub(super) propose: Vec<Duration>,
    pub(super) approve: Vec<Duration>,
    pub(super) dispatch: Vec<Duration>,
}

/// Flies on the embedded store and on Redis.
pub(super) async fn measure() -> Vec<Flights> {
    vec![
        fly("embedded", Plan::ENFORCED).await,
        fly("Redis", Plan::REDIS).await,
    ]
}

async fn fly(store: &'static str, plan: Plan) -> Flights {
    let quiet = |mut config: crate::gateway::GatewayConfig| {
        config.log = "warn".to_owned();
        config
    };
    let system = System::start_with(plan, quiet).await;
    let mut flights = Flights {
        store,
        propose: Vec::new(),
        approve: Vec::new(),
        dispatch: Vec::new(),
    };
    for _ in 0..FLIGHTS {
        let step = async |persona, path: &str, body| post(&system, persona, path, body).await;
        let (time, plan) = step(Persona::Proposer, "/api/mission-plans", Some(route())).await;
        flights.propose.push(time);
        let plan = format!("/api/mission-plans/{}", id(&plan));
        let (time, approved) = step(Persona::Approver, &format!("{plan}/approve"), None).await;
        flights.approve.push(time);
        let code = json!({ "approvalCode": approved["approvalCode"] });
        let dispatch = format!("{plan}/dispatch");
        let (time, mission) = step(Persona::Proposer, &dispatch, Some(code)).await;
        flights.dispatch.push(time);
        // Held where it is: the next plan begins there.
        let abort = format!("/api/missions/{}/abort", id(&mission));
        let hold = json!({ "action": "hold" });
        step(Persona::Operator, &abort, Some(hold)).await;
        poll::until_async("the swarm is free", async || {
            let state = system.get(Persona::Operator, "/api/swarm/state").await;
            state.expect(200).json()["activeMissionId"]
                .is_null()
                .then_some(())
        })
        .await;
    }
    flights
}

/// Parallel lanes, as far apart as the pads: free of conflicts from the ground
/// and from wherever the drones were held on them.
fn route() -> Value {
    json!({
        "name": "bench", "type": "waypoint", "droneCount": 3, "spacingMeters": 3,
        "waypoints": [{ "x": 0, "y": 0, "z": 6 }, { "x": 30, "y": 0, "z": 6 }],
    })
}

/// Makes a call that must succeed; returns how long it took and its answer.
async fn post(
    system: &System,
    persona: Persona,
    path: &str,
    body: Option<Value>,
) -> (Duration, Value) {
    let mut call = system.call(persona, "POST", path);
    if let Some(body) = &body {
        call = call.json(body);
    }
    let began = Instant::now();
    let answer = call.send().await;
    let time = began.elapsed();
    let good = answer.status < 300;
    assert!(good, "{path}: {} {}", answer.status, answer.text());
    (time, answer.json())
}

fn id(value: &Value) -> &str {
    value["id"].as_str().expect("what was made has an id")
}

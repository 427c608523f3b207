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
        let plan = timed(
            &mut flights.propose,
            201,
            &system,
            Persona::Proposer,
            "/api/mission-plans",
            &route(),
        )
        .await;
        let plan = format!(
            "/api/mission-plans/{}",
            plan["id"].as_str().expect("a plan has an id")
        );
        let approved = timed(
            &mut flights.approve,
            200,
            &system,
            Persona::Approver,
            &format!("{plan}/approve"),
            &Value::Null,
        )
        .await;
        let code = json!({ "approvalCode": approved["approvalCode"] });
        let mission = timed(
            &mut flights.dispatch,
            201,
            &system,
            Persona::Proposer,
            &format!("{plan}/dispatch"),
            &code,
        )
        .await;
        let mission = format!(
            "/api/missions/{}",
            mission["id"].as_str().expect("a mission has an id")
        );
        // Held where it is: the next plan begins there.
        let hold = json!({ "action": "hold" });
        system
            .post(Persona::Operator, &format!("{mission}/abort"), &hold)
            .await
            .expect(200);
        poll::until_async("the swarm is free", async || {
            let state = system
                .get(Persona::Operator, "/api/swarm/state")
                .await
                .expect(200);
            state.json()["activeMissionId"].is_null().then_some(())
        })
        .await;
    }
    flights
}

fn route() -> Value {
    json!({
        "name": "bench", "type": "formation", "formation": "line", "droneCount": 3,
        "waypoints": [{ "x": 0.0, "y": 0.0, "z": 10.0 }, { "x": 50.0, "y": 0.0, "z": 10.0 }],
    })
}

async fn timed(
    times: &mut Vec<Duration>,
    status: u16,
    system: &System,
    persona: Persona,
    path: &str,
    body: &Value,
) -> Value {
    let mut call = system.call(persona, "POST", path);
    if !body.is_null() {
        call = call.json(body);
    }
    let began = Instant::now();
    let answer = call.send().await;
    times.push(began.elapsed());
    answer.expect(status).json()
}

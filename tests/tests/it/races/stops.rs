//! A stop against motion: what was asked or previewed before the stop does not
//! start after it.

use interlock_tests::chaos::{Chaos, Line};
use interlock_tests::gateway::GatewayConfig;
use interlock_tests::http::Answer;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};
use serde_json::json;

use super::{at_once, plan};
use crate::personas::stage;

const ROUNDS: usize = 5;

fn stopped_since(answer: &Answer) {
    let told = (answer.status, answer.problem());
    assert_eq!(told, (409, "stopped-since".to_owned()), "{}", answer.text());
    assert_eq!(answer.json()["effect"], "none");
}

/// Motion that is held up between the gateway and the service, a stop that
/// comes through another gateway meanwhile, and motion that arrives after it.
#[tokio::test]
async fn motion_on_its_way_is_overtaken() {
    let slow = Chaos::nowhere();
    let change = |mut config: GatewayConfig| {
        if config.state.ends_with("gateway-1") {
            slow.aim(config.drones);
            config.drones = slow.address();
        }
        config
    };
    let system = System::start_with(Plan::PAIR, change).await;
    let other = system.gateways[1].http();
    let land = || {
        let call = other.post("/api/swarm/land");
        call.token(Persona::Viewer.token(&system.idp)).send()
    };

    // Asked directly.
    slow.set(Line::Hung);
    let held = slow.accepted();
    let start = system.call(Persona::Operator, "POST", "/api/missions");
    let start = tokio::spawn(start.key("start").json(&stage::route()).send());
    poll::until_async("the start is on its way", async || {
        (slow.accepted() > held).then_some(())
    })
    .await;
    land().await.expect(202);
    slow.set(Line::Up);
    stopped_since(&start.await.unwrap());
    assert_eq!(system.sim.counters().starts, 0);

    // Approved by a person.
    let (id, code) = stage::approved(&system).await;
    slow.set(Line::Hung);
    let path = format!("/api/mission-plans/{id}/dispatch");
    let dispatch = system.call(Persona::Operator, "POST", &path);
    let dispatch = tokio::spawn(dispatch.json(&json!({ "approvalCode": code })).send());
    poll::until_async("the dispatch is on its way", async || {
        (plan(&system, &id).await["status"] == "Dispatching").then_some(())
    })
    .await;
    land().await.expect(202);
    slow.set(Line::Up);
    stopped_since(&dispatch.await.unwrap());
    assert_eq!(plan(&system, &id).await["status"], "Refused");
    let counted = system.sim.counters();
    assert_eq!((counted.starts, counted.commands), (0, 2));
}

/// A dispatch and a stop in the same moment: flown before the stop and ended
/// by it, or not flown.
#[tokio::test]
async fn a_stop_in_the_same_moment_has_the_last_word() {
    let system = System::start(Plan::ENFORCED).await;
    for _ in 0..ROUNDS {
        stands(&system).await;
        let (id, code) = stage::approved(&system).await;
        let (waiting, its_code) = stage::approved(&system).await;
        let dispatch = |id: &str, code: &str| {
            let path = format!("/api/mission-plans/{id}/dispatch");
            let call = system.call(Persona::Operator, "POST", &path);
            call.json(&json!({ "approvalCode": code }))
        };
        let before = system.sim.counters();
        let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
        let answers = at_once(vec![dispatch(&id, &code), land]).await;
        answers[1].clone().expect(202);
        let flown = match answers[0].status {
            201 => 1,
            _ => {
                stopped_since(&answers[0]);
                0
            }
        };
        // Nobody stops it again, and it comes to rest.
        stands(&system).await;
        // What was previewed before the stop does not fly after it.
        stopped_since(&dispatch(&waiting, &its_code).send().await);
        let after = system.sim.counters();
        assert_eq!(after.flights - before.flights, flown);
        assert_eq!(after.commands - before.commands, 1);
        assert_eq!(after.starts - before.starts, flown, "frames that flew");
    }
}

/// Waits until no mission is on and every drone is on the ground.
async fn stands(system: &System) {
    poll::until_async("the swarm stands", async || {
        let state = system.get(Persona::Viewer, "/api/swarm/state").await;
        let state = state.expect(200).json();
        let drones = state["drones"].as_array().expect("a list of drones");
        let stand = drones.iter().all(|drone| drone["armed"] == false);
        (stand && state["activeMissionId"].is_null()).then_some(())
    })
    .await;
}

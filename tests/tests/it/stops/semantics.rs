//! What a stop means: again and again, under any key, by whom, and what is
//! said when it did not arrive.

use interlock_tests::chaos::Line;
use interlock_tests::gateway::GatewayConfig;
use interlock_tests::http::Answer;
use interlock_tests::personas::Persona;
use interlock_tests::ports;
use interlock_tests::system::{Plan, System};
use serde_json::json;

use crate::outage::{flies, lands};
use crate::personas::stage;

const LAND: &str = "/api/swarm/land";

async fn land(system: &System, key: &str) -> Answer {
    let call = system.call(Persona::Viewer, "POST", LAND);
    call.header("idempotency-key", key).send().await
}

#[tokio::test]
async fn a_stop_may_be_repeated_and_no_key_refuses_it() {
    let system = System::start(Plan::ENFORCED).await;
    let mission = stage::mission(&system).await;
    flies(&system).await;
    let mut sent = system.sim.counters().commands;

    // One key for three stops that differ.
    let abort = format!("/api/missions/{mission}/abort");
    for action in ["hold", "rtl", "land"] {
        let call = system.call(Persona::Viewer, "POST", &abort).key("again");
        let stop = call.json(&json!({ "action": action })).send().await;
        assert_eq!(stop.status, 200, "{action}: {}", stop.text());
        sent += 1;
        assert_eq!(system.sim.counters().commands, sent);
    }
    // Each is sent anew: what was stopped may move again since.
    for _ in 0..3 {
        land(&system, "again").await.expect(202);
        sent += 1;
        assert_eq!(system.sim.counters().commands, sent);
    }
    // Keys that are refused elsewhere.
    for key in ["", "a b", "\"half", &"k".repeat(201)] {
        land(&system, key).await.expect(202);
    }
    lands(&system).await;
    // On the ground, too.
    stage::ground(&system).await;
    land(&system, "again").await.expect(202);
    assert_eq!(system.sim.counters().flights, 1);
}

/// Two under one key, the one while the other runs.
#[tokio::test]
async fn a_key_refuses_no_stop_while_another_one_runs_under_it() {
    let system = System::start(Plan::ENFORCED).await;
    stage::mission(&system).await;
    flies(&system).await;
    system.link.set(Line::Hung);
    let (one, two) = tokio::join!(land(&system, "same"), land(&system, "same"));
    for stop in [one, two] {
        // Both went all the way, and neither was answered there.
        assert_eq!(stop.status, 504, "{}", stop.text());
        assert_eq!(stop.json()["effect"], "maybe");
    }
    system.link.set(Line::Up);
    let (one, two) = tokio::join!(land(&system, "same"), land(&system, "same"));
    for stop in [one, two] {
        stop.expect(202);
    }
    lands(&system).await;
}

/// Nobody listens where the service should be.
#[tokio::test]
async fn a_stop_that_reached_nobody_says_so() {
    let change = |mut config: GatewayConfig| {
        config.drones = ports::free();
        config
    };
    let system = System::start_with(Plan::ENFORCED, change).await;
    let stop = land(&system, "one").await;
    assert_eq!(stop.status, 503, "{}", stop.text());
    assert_eq!(stop.problem(), "not-stopped");
    assert_eq!(stop.json()["effect"], "none");
    assert_eq!(system.sim.counters().commands, 0);
}

/// Somebody listens, and says nothing.
#[tokio::test]
async fn a_stop_without_an_answer_says_that_it_may_have_arrived() {
    let system = System::start(Plan::ENFORCED).await;
    system.upstream.set(Line::Hung);
    let stop = land(&system, "one").await;
    assert_eq!(stop.status, 504, "{}", stop.text());
    assert_eq!(stop.problem(), "may-not-have-stopped");
    assert_eq!(stop.json()["effect"], "maybe");
}

/// The service is there, and the swarm is not.
#[tokio::test]
async fn a_stop_that_the_swarm_never_got_says_so() {
    let mut system = System::start(Plan::ENFORCED).await;
    system.sim.process.kill();
    let stop = land(&system, "one").await;
    let said = stop.json();
    assert_eq!(stop.status, 503, "{said}");
    assert_eq!(said["effect"], "none", "{said}");
    assert_eq!(stop.problem(), "not-stopped");
}

/// A token that verifies is the one thing a stop needs (docs/adr/0005).
#[tokio::test]
async fn a_stop_without_a_good_token_is_refused() {
    let system = System::start(Plan::ENFORCED).await;
    let mission = stage::mission(&system).await;
    flies(&system).await;
    let before = (system.sim.counters(), system.upstream.bytes_to_target());
    for path in [LAND, &format!("/api/missions/{mission}/abort")] {
        for persona in [Persona::Nobody, Persona::Forged, Persona::Expired] {
            let stop = system.call(persona, "POST", path).send().await;
            assert_eq!(stop.status, 401, "{persona:?}, {path}: {}", stop.text());
            assert!(stop.header("www-authenticate").is_some(), "{persona:?}");
        }
    }
    let after = (system.sim.counters(), system.upstream.bytes_to_target());
    assert_eq!(after, before, "something was sent");
    land(&system, "good").await.expect(202);
}

//! A gateway that starts while the store and the identity provider are gone.

use interlock_tests::gateway::GatewayConfig;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};
use serde_json::{Value, json};

use super::{PLANS, flies, lands};
use crate::matrix::trouble::told;
use crate::personas::stage::{self, route};

/// Takes everything but the drone service away, and restarts the gateway.
pub(crate) async fn leave_alone(system: &mut System) {
    let kept = system.gateway().config.state.join("kept");
    poll::until("the registry is kept on disk", || {
        let snapshot = std::fs::read_to_string(kept.join("registry.json")).ok()?;
        snapshot.contains("swarm-1").then_some(())
    });
    system.gateway_mut().process.kill();
    if let Some(redis) = &mut system.redis {
        redis.kill();
    }
    system.idp.close();
    system.gateway_mut().restart();
}

#[tokio::test]
async fn a_restarted_gateway_stops_while_store_and_provider_are_gone() {
    // Keys that are soon too old are still keys, and said to be old.
    let change = |mut config: GatewayConfig| {
        config.issuer = "refresh_ms = 200\ncooldown_ms = 100".to_owned();
        config
    };
    let mut system = System::start_with(Plan::REDIS, change).await;
    let (plan, code) = stage::approved(&system).await;
    let mission = stage::mission(&system).await;
    flies(&system).await;
    leave_alone(&mut system).await;

    let commands = system.sim.counters().commands;
    for (path, status) in [
        (format!("/api/missions/{mission}/abort"), 200),
        ("/api/swarm/land".to_owned(), 202),
    ] {
        let stop = system.call(Persona::Viewer, "POST", &path).send().await;
        assert_eq!(stop.status, status, "{path}: {}", stop.text());
    }
    assert_eq!(system.sim.counters().commands - commands, 2);
    lands(&system).await;

    // It says what it lacks, and what it has from its own disk.
    let ops = system.gateway().ops();
    let ready = ops.get("/readyz").send().await;
    assert_eq!(ready.status, 503, "{}", ready.text());
    let said = ready.json();
    assert_eq!(said["ready"], false, "{said}");
    assert_eq!(said["store"]["ready"], false, "{said}");
    assert!(said["store"]["fault"].is_string(), "{said}");
    assert_eq!(said["issuers"][0]["keys"], 1, "{said}");
    assert_eq!(said["registry"]["objects"], 1, "{said}");
    let fault = |told: &Value| {
        let issuer = &told["issuers"][0];
        issuer["fault"].is_string() && issuer["stale"] == true
    };
    told(&system, "readiness says that the provider is gone", fault).await;

    // Nothing else moves.
    let starts = system.sim.counters().starts;
    let code = json!({ "approvalCode": code });
    let dispatch = format!("{PLANS}/{plan}/dispatch");
    for (path, body) in [(dispatch, code), (PLANS.to_owned(), route())] {
        let refused = system.post(Persona::Operator, &path, &body).await;
        assert_eq!(refused.status, 503, "{path}: {}", refused.text());
    }
    assert_eq!(system.sim.counters().starts, starts);

    system.redis.as_mut().unwrap().restart();
    system.idp.open();
    system.gateway().ready().await;
}

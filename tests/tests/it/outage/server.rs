//! A Redis server that is there, and not as it must be.

use interlock_tests::gateway::{Gateway, GatewayConfig, Storage};
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::redis::{Redis, Setup};
use interlock_tests::system::{Plan, System, key};
use serde_json::{Value, json};

use super::{PLANS, flies, lands, refused};
use crate::matrix::trouble::told;
use crate::personas::stage::{self, route};

fn redis(system: &System) -> &Redis {
    system.redis.as_ref().expect("a system on Redis")
}

/// Proposals and dispatches are refused and no flight is sent; reads and stops
/// work.
async fn writes_refuse_and_stops_work(system: &System, plan: &str, code: &str) {
    let starts = system.sim.counters().starts;
    // To preview a proposal moves nothing.
    let propose = system.post(Persona::Operator, PLANS, &route()).await;
    refused("propose", &propose);
    let before = system.upstream.bytes_to_target();
    let code = json!({ "approvalCode": code });
    let dispatch = format!("{PLANS}/{plan}/dispatch");
    let dispatch = system.post(Persona::Operator, &dispatch, &code).await;
    refused("dispatch", &dispatch);
    let after = system.upstream.bytes_to_target();
    assert_eq!(after, before, "something was sent");
    assert_eq!(system.sim.counters().starts, starts);
    let state = system.get(Persona::Viewer, "/api/swarm/state").await;
    state.expect(200);
    let commands = system.sim.counters().commands;
    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    land.send().await.expect(202);
    assert_eq!(system.sim.counters().commands - commands, 1);
    lands(system).await;
}

/// A flight is possible again, in the same process.
async fn flies_again(system: &System) {
    system.gateway().ready().await;
    stage::ground(system).await;
    let (plan, code) = stage::approved(system).await;
    let path = format!("{PLANS}/{plan}/dispatch");
    let code = json!({ "approvalCode": code });
    system
        .post(Persona::Operator, &path, &code)
        .await
        .expect(201);
}

#[tokio::test]
async fn a_read_only_replica_takes_no_writes() {
    let system = System::start(Plan::REDIS).await;
    let (plan, code) = stage::approved(&system).await;
    stage::mission(&system).await;
    flies(&system).await;
    redis(&system).command::<()>(&["REPLICAOF", "127.0.0.1", "1"]);
    let replica = |told: &Value| {
        let fault = told["store"]["fault"].as_str().unwrap_or_default();
        told["ready"] == false && fault.contains("replica")
    };
    told(&system, "readiness says that it is a replica", replica).await;
    writes_refuse_and_stops_work(&system, &plan, &code).await;
    redis(&system).command::<()>(&["REPLICAOF", "NO", "ONE"]);
    flies_again(&system).await;
}

#[tokio::test]
async fn a_server_without_memory_takes_no_writes() {
    let system = System::start(Plan::REDIS).await;
    let (plan, code) = stage::approved(&system).await;
    stage::mission(&system).await;
    flies(&system).await;
    redis(&system).command::<()>(&["CONFIG", "SET", "maxmemory", "1"]);
    writes_refuse_and_stops_work(&system, &plan, &code).await;
    redis(&system).command::<()>(&["CONFIG", "SET", "maxmemory", "0"]);
    flies_again(&system).await;
}

/// Plans are lost with the store; the memory of what there is to stop is not,
/// and the store gets it back.
#[tokio::test]
async fn a_flushed_store_gets_the_registry_back() {
    let system = System::start(Plan::PAIR).await;
    let (plan, code) = stage::approved(&system).await;
    let (other, _) = stage::approved(&system).await;
    stage::mission(&system).await;
    flies(&system).await;
    let registered = || redis(&system).command::<u64>(&["HLEN", "interlock:{registry}:objects"]);
    assert_eq!(registered(), 1);
    let revision = || {
        let objects: Vec<String> =
            redis(&system).command(&["HVALS", "interlock:{registry}:objects"]);
        let object: Value = serde_json::from_str(&objects[0]).unwrap();
        object["revision"].clone()
    };
    let before = revision();
    redis(&system).flush();

    poll::until("the registry is written back", || {
        (registered() == 1).then_some(())
    });
    assert_eq!(revision(), before);
    for gateway in &system.gateways {
        let call = gateway.http().get("/api/swarm/state");
        let call = call.token(Persona::Viewer.token(&system.idp));
        call.send().await.expect(200);
        let said = gateway.ops().get("/readyz").send().await.json();
        assert_eq!(said["registry"]["objects"], 1, "{said}");
    }
    // A code that the store no longer vouches for flies nothing.
    let starts = system.sim.counters().starts;
    let code = json!({ "approvalCode": code });
    for id in [&plan, &other] {
        let path = format!("{PLANS}/{id}/dispatch");
        let lost = system.post(Persona::Operator, &path, &code).await;
        lost.expect(404);
    }
    assert_eq!(system.sim.counters().starts, starts);
    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    land.send().await.expect(202);
    lands(&system).await;
    flies_again(&system).await;
}

/// Seen while it runs, and a stop works all the same.
#[tokio::test]
async fn an_eviction_policy_set_at_run_time_is_told() {
    let system = System::start(Plan::REDIS).await;
    let set = |policy: &str| {
        redis(&system).command::<()>(&["CONFIG", "SET", "maxmemory-policy", policy]);
    };
    set("allkeys-lru");
    let evicting = |told: &Value| {
        let fault = told["store"]["fault"].as_str().unwrap_or_default();
        told["ready"] == false && fault.contains("`allkeys-lru`") && fault.contains("noeviction")
    };
    told(&system, "readiness names the eviction policy", evicting).await;
    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    land.send().await.expect(202);
    set("noeviction");
    system.gateway().ready().await;
}

#[test]
fn a_start_on_an_evicting_server_is_refused() {
    let check = |eviction: &'static str, refused: bool| {
        let folder = tempfile::tempdir().unwrap();
        let redis = Redis::start_with(Setup {
            eviction,
            ..Setup::default()
        });
        let service = interlock_tests::ports::free();
        let state = folder.path().to_owned();
        let mut config = GatewayConfig::new(service, vec![key("drones-1")], state);
        config.storage = Storage::Redis {
            address: redis.address(),
            pool: 4,
        };
        if !refused {
            Gateway::start("accepted", config, folder.path());
            return;
        }
        let (status, said) = Gateway::refused("refused", config, folder.path());
        assert_eq!(status.code(), Some(69), "{said}");
        assert!(
            said.contains(eviction) && said.contains("noeviction"),
            "{said}"
        );
    };
    check("volatile-lru", true);
    check("allkeys-random", true);
    check("noeviction", false);
}

//! What both know: objects, heartbeats, each other's policies, quotas.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use interlock_guard::{FEED_HEADER, KeySet, Keys, sign_feed};
use interlock_tests::gateway::{Gateway, GatewayConfig};
use interlock_tests::http::Answer;
use interlock_tests::personas::{ACCOUNT, Persona};
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};
use interlock_tests::vehicles::SWARM;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{PLANS, post, propose};
use crate::personas::stage;
use crate::problems::machinery;

/// A revision after all of the drone service.
const LATER: u64 = 1 << 50;

async fn readiness(gateway: &Gateway) -> Value {
    gateway.ops().get("/readyz").send().await.json()
}

/// One call to a gateway's registry as the drone service makes it.
async fn feed(gateway: &Gateway, method: &str, body: &Value) -> Answer {
    let keys = Keys::new(KeySet::parse(&gateway.config.keys[0]).unwrap());
    let path = format!("/registry/objects/Swarm/{SWARM}");
    let path = path.as_str();
    let body = body.to_string();
    let call = (method, path, body.as_bytes());
    let token = sign_feed(&keys, "drones", call, Uuid::new_v4(), Timestamp::now()).unwrap();
    let call = gateway.ops().call(method, path).header(FEED_HEADER, &token);
    call.body("application/json", body).send().await
}

/// The swarm is known to the first through the second: not there for anybody
/// once it is gone, and there again.
#[tokio::test]
async fn objects_that_one_was_told_of() {
    let system = System::start(Plan::PAIR).await;
    let [first, second] = &system.gateways[..] else {
        panic!("a pair has two");
    };
    let shown = async |gateway: &Gateway, status: u16| {
        poll::until_async("the swarm is known, or gone", async || {
            let call = gateway.http().get("/api/swarm/state");
            let call = call.token(Persona::Viewer.token(&system.idp));
            (call.send().await.status == status).then_some(())
        })
        .await;
    };
    shown(first, 200).await;
    shown(second, 200).await;
    let gone = feed(second, "DELETE", &json!({ "revision": LATER })).await;
    gone.expect(200);
    shown(second, 404).await;
    shown(first, 404).await;
    let put = json!({ "revision": LATER + 1, "parents": [ACCOUNT] });
    feed(first, "PUT", &put).await.expect(200);
    shown(first, 200).await;
    shown(second, 200).await;
}

/// The service speaks to the first alone, and both have heard of it.
#[tokio::test]
async fn heartbeats() {
    let system = System::start(Plan::PAIR).await;
    for gateway in &system.gateways {
        let heard = readiness(gateway).await["services"]["drones"].clone();
        assert_eq!(heard["heard"], true, "{heard}");
        let health = gateway.http().get("/health");
        let health = health.send().await.expect(200).json();
        let bridge = &health["checks"]["swarm_bridge"];
        assert_eq!(bridge["status"], "Healthy", "{health}");
    }
}

/// The hashes that a gateway knows its peers, and itself, to decide by.
async fn hashes(gateway: &Gateway) -> Vec<String> {
    let ready = readiness(gateway).await;
    let instances = ready["instances"].as_array().expect("a list").iter();
    instances
        .map(|instance| instance["policyHash"].as_str().expect("a hash").to_owned())
        .collect()
}

fn bundle_of(config: &GatewayConfig) -> PathBuf {
    config.state.join("bundle")
}

/// An edit that changes what the bundle is and not what it says.
fn edit(gateway: &Gateway) {
    let folder = bundle_of(&gateway.config).join("guards");
    let entries = fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|kind| kind == "cedar"));
    files.sort();
    let text = fs::read_to_string(&files[0]).unwrap();
    fs::write(&files[0], format!("{text}\n// Edited.\n")).unwrap();
}

#[tokio::test]
async fn which_policies_each_decides_by() {
    let system = System::start_with(Plan::PAIR, |mut config| {
        machinery::copy(&config.bundle, &bundle_of(&config));
        config.bundle = bundle_of(&config);
        config
    })
    .await;
    let agree = async |kinds: usize| {
        for gateway in &system.gateways {
            poll::until_async("both hashes are known", async || {
                let hashes = hashes(gateway).await;
                let distinct: BTreeSet<&String> = hashes.iter().collect();
                (hashes.len() == 2 && distinct.len() == kinds).then_some(())
            })
            .await;
        }
    };
    agree(1).await;
    let before = hashes(&system.gateways[0]).await;
    edit(&system.gateways[0]);
    agree(2).await;
    edit(&system.gateways[1]);
    agree(1).await;
    assert_ne!(hashes(&system.gateways[0]).await, before);
}

#[tokio::test]
async fn quotas() {
    let system = System::start_with(Plan::PAIR, |mut config| {
        config.extra = "[limits]\nkeys_per_caller = 2\nplans_per_caller = 3\n".to_owned();
        config
    })
    .await;
    let keyed = |gateway, key: &'static str| {
        let call = post(&system, gateway, Persona::Proposer, PLANS).key(key);
        call.json(&stage::route()).send()
    };
    keyed(0, "one").await.expect(201);
    keyed(1, "two").await.expect(201);
    for gateway in [0, 1] {
        let told = keyed(gateway, "three").await.expect(429);
        assert_eq!(told.problem(), "quota-exceeded");
    }
    propose(&system, 0).await.expect(201);
    for gateway in [0, 1] {
        let told = propose(&system, gateway).await.expect(429);
        assert_eq!(told.problem(), "quota-exceeded");
    }
}

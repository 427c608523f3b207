//! What operators are told of the mower service and its device gateways, and
//! what managers are told of those who stop.

use std::net::SocketAddr;

use interlock_tests::http::Http;
use interlock_tests::mowers::{MowersConfig, Shard};
use interlock_tests::nats::Nats;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};
use serde_json::{Value, json};

use super::bus::on;
use super::stage::Caller;
use crate::personas::stage::fleet::{command_at, mower};

async fn started() -> System {
    let plan = Plan::ENFORCED.with_mowers();
    let told = |config: MowersConfig| MowersConfig {
        operations: true,
        ..config
    };
    System::start_fleet(plan, |config| config, told).await
}

/// What the listener of operators says now.
async fn scrape(address: SocketAddr) -> String {
    let answer = Http::to(address).get("/metrics").send().await;
    answer.expect(200).text()
}

#[track_caller]
fn check(text: &str, line: &str) {
    assert!(text.lines().any(|it| it == line), "no `{line}` in:\n{text}");
}

#[tokio::test]
async fn a_command_and_a_stop_that_nobody_had_are_counted() {
    let mut system = started().await;
    let mower = mower(&system).await;
    let operations = system.mowers.as_mut().unwrap().operations();
    command_at(
        &system,
        &mower,
        &json!({ "command": { "kind": "pause_mow" } }),
    )
    .await;
    let text = scrape(operations).await;
    check(
        &text,
        r#"interlock_mowers_commands_total{kind="pause_mow",outcome="queued"} 1"#,
    );
    check(&text, "interlock_mowers_stops_failed_total 0");
    check(&text, "interlock_device_mowers_held 1");
    check(&text, "interlock_device_accepted_total 1");

    // A bus that ends, and nobody else who could have a stop.
    let mut nats = Nats::start();
    let bus = format!("kind = \"nats\"\nurl = \"{}\"", nats.url());
    on(&mut system, bus, "").await;
    nats.kill();
    let viewer = Caller::persona(&system, Persona::Viewer);
    let stop = format!("/mowers/{mower}/emergency-stop");
    let answer = viewer.call(&system, "POST", &stop).send().await;
    assert_eq!(answer.problem(), "not-stopped", "{}", answer.text());
    // The process is another one, and chose another port.
    let operations = system.mowers.as_mut().unwrap().operations();
    let text = scrape(operations).await;
    // The gateway tries a stop again within its budget.
    let failed = text
        .lines()
        .find_map(|line| line.strip_prefix("interlock_mowers_stops_failed_total "));
    assert!(failed.is_some_and(|count| count != "0"), "{text}");
    check(&text, "interlock_mowers_records_answer 1");
    assert!(!text.contains("interlock_device_"), "{text}");
    let health = Http::to(operations).get("/healthz").send().await;
    health.expect(200);
}

#[tokio::test]
async fn a_shard_without_a_fleet_is_alive_and_not_ready() {
    let folder = tempfile::tempdir().unwrap();
    let nats = Nats::start();
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 9));
    let keys = vec![format!("k:{}", "A".repeat(43))];
    let mut config = MowersConfig::new(nowhere, keys, folder.path());
    config.bus = format!("kind = \"nats\"\nurl = \"{}\"", nats.url());
    config.operations = true;
    let mut shard = Shard::start(config, folder.path());
    let operations = shard.operations();
    Http::to(operations)
        .get("/healthz")
        .send()
        .await
        .expect(200);
    let text = scrape(operations).await;
    check(&text, "interlock_device_ready 0");
    check(&text, "interlock_device_mowers_held 0");
    assert!(!text.contains("interlock_mowers_"), "{text}");
    assert!(shard.process.terminate().success());
}

#[tokio::test]
async fn who_manages_the_account_sees_who_stops() {
    let system = started().await;
    let mower = mower(&system).await;
    let viewer = Caller::persona(&system, Persona::Viewer);
    let stop = format!("/mowers/{mower}/emergency-stop");
    for _ in 0..3 {
        let answer = viewer.call(&system, "POST", &stop).send().await;
        answer.expect(202);
    }
    let manager = Caller::persona(&system, Persona::Manager);
    // A stop is sent first and written down after it.
    let page = poll::until_async("the stops are on record", async || {
        let page = manager.get(&system, "/stops").await.expect(200).json();
        (page["items"][0]["stops"] == 3).then_some(page)
    })
    .await;
    assert_eq!(page["items"].as_array().map(Vec::len), Some(1), "{page}");
    assert_eq!(page["items"][0]["mowers"], 1, "{page}");
    assert_eq!(page["items"][0]["on_behalf_of"], Value::Null, "{page}");
    let refused = viewer.get(&system, "/stops").await;
    assert_eq!(refused.status, 403, "{}", refused.text());
}

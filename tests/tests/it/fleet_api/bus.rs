//! What the callers of a fleet are told when its bus loses what it took, or
//! nobody is at its other end.

use interlock_tests::nats::Nats;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::System;
use serde_json::{Value, json};

use super::stage::{Caller, start};
use crate::personas::stage::fleet::{area, mower};
use crate::personas::stage::text;

/// Starts the service again with another bus; its records and mowers stay.
pub(super) async fn on(system: &mut System, bus: String, extra: &str) {
    let fleet = system.mowers.as_mut().expect("mowers");
    fleet.process.kill();
    let config = fleet.config_mut();
    config.bus = bus;
    config.extra = extra.to_owned();
    fleet.restart();
    let viewer = Caller::persona(system, Persona::Viewer);
    poll::until_async("the service is back, and its bus", async || {
        let answer = viewer.get(system, "/readyz").await;
        (answer.status == 200).then_some(())
    })
    .await;
}

/// B95: the bus had it and has it no more. Nobody guesses what became of it, and
/// that is told.
#[tokio::test]
async fn a_command_that_the_bus_lost_is_overdue() {
    let mut system = start().await;
    let operator = Caller::persona(&system, Persona::Operator);
    let mower = mower(&system).await;
    let lawn = area(&system, &mower).await;
    let mut nats = Nats::start();
    // A bus without a device gateway: what it takes waits in its stream. Only what
    // calms is sent to a mower that nobody holds.
    on(
        &mut system,
        format!("kind = \"nats\"\nurl = \"{}\"", nats.url()),
        "",
    )
    .await;
    let commands = format!("/mowers/{mower}/commands");
    let start = json!({
        "command": { "kind": "start_mow", "area_ids": [lawn] }, "area_clear_confirmed": true,
    });
    let refused = operator.post(&system, &commands, &start).await;
    assert_eq!(refused.expect(503).problem(), "not-held");
    let home = json!({ "command": { "kind": "return_to_dock" }, "ttl_seconds": 1 });
    let accepted = operator.post(&system, &commands, &home).await;
    let accepted = accepted.expect(202).json();
    let record = format!("/commands/{}", text(&accepted["command_id"]));
    nats.kill();

    // Without the bus: said, recorded, and not tried again.
    let refused = operator.post(&system, &commands, &home).await;
    let told = (refused.status, refused.problem());
    // A bus that dies with the command in hand may have stored it.
    let known = [(503, "bus-unavailable"), (504, "may-have-acted")];
    let known = known.map(|(status, problem)| (status, problem.to_owned()));
    assert!(known.contains(&told), "{}", refused.text());
    let stop = format!("/mowers/{mower}/emergency-stop");
    let viewer = Caller::persona(&system, Persona::Viewer);
    let unstopped = viewer.call(&system, "POST", &stop).send().await;
    assert_eq!(unstopped.status, 503, "{}", unstopped.text());
    assert_eq!(unstopped.problem(), "not-stopped", "{}", unstopped.text());

    // All that the bus held is gone, and the mower is back.
    on(&mut system, "kind = \"local\"".to_owned(), "").await;
    let overdue = poll::until_async("it is overdue", async || {
        let told = operator.get(&system, &record).await.expect(200).json();
        (told["overdue"] == true).then_some(told)
    })
    .await;
    assert_eq!(overdue["status"], "pending", "nobody knows: {overdue}");
}

/// B98: whoever waits longer tells who did not answer.
#[tokio::test]
async fn each_layer_of_a_preview_tells_its_own_timeout() {
    let mut system = start().await;
    let operator = Caller::persona(&system, Persona::Operator);
    let mower = mower(&system).await;
    let lawn = area(&system, &mower).await;
    let nats = Nats::start();
    let bus = format!("kind = \"nats\"\nurl = \"{}\"", nats.url());
    let short = "[timeouts]\nmower = 1\nservice = 3\ngateway = 5\nclient = 7\n";
    on(&mut system, bus, short).await;
    let path = format!("/mowers/{mower}/path-preview");
    let nobody = operator
        .post(&system, &path, &json!({ "area_ids": [lawn] }))
        .await;
    assert_eq!(nobody.status, 503, "{}", nobody.text());
    assert_eq!(
        nobody.problem(),
        "path-preview-unavailable",
        "{}",
        nobody.text()
    );
    // Somebody who hears it and says nothing.
    let client = async_nats::connect(nats.url()).await.expect("a connection");
    let subject = format!("gateway.mower.{mower}.path.preview");
    let _heard = client.subscribe(subject).await.expect("a subscription");
    client.flush().await.expect("a server");
    let silent = operator
        .post(&system, &path, &json!({ "area_ids": [lawn] }))
        .await;
    assert_eq!(silent.status, 504, "{}", silent.text());
    assert_eq!(silent.problem(), "gateway-timeout", "{}", silent.text());
    let told: Value = silent.json();
    assert_eq!(told["layer"], "device-gateway", "{told}");
    assert_eq!(told["effect"], "none", "{told}");
}

//! The bus is gone, or takes messages and says nothing.

use interlock_tests::chaos::Line;
use interlock_tests::personas::Persona;
use serde_json::Value;

use super::stand::{
    Shape, Spread, command, ends, height, latched, mower, not_stopped, record, records, refused,
    start, state, stop,
};
use crate::personas::stage::fleet::FLEET;
use crate::personas::stage::text;
use crate::races::at_once;

/// The shard keeps its mowers over an outage of seconds.
const KEEPS: Shape = Shape {
    lease: 15,
    stop_life: 20,
    ..Shape::ONE
};

/// F1. Nothing is sent, now or later; a stop says that it was none, and reaches
/// the mower all the same when the bus is back within its life.
#[tokio::test]
async fn nobody_listens() {
    let mut spread = Spread::start(KEEPS).await;
    let (mower, other) = (mower(&spread.system).await, mower(&spread.system).await);
    state(&spread.system, &mower.id).await;
    spread.nats.kill();
    spread.bus_is("Degraded").await;

    let system = &spread.system;
    let started = command(system, &mower.id, &start(&mower, 300)).await;
    refused(&started, 503, "bus-unavailable", "none");
    let stopped = stop(system, &other.id).await;
    not_stopped(&stopped, "none");
    for path in ["", "/state"] {
        let path = format!("{FLEET}/mowers/{}{path}", mower.id);
        system.get(Persona::Viewer, &path).await.expect(200);
    }
    let kept = async |mower| records(system, mower).await.remove(0);
    let start = kept(&mower.id).await;
    assert_eq!(start["kind"], "start_mow");
    assert_eq!(start["status"], "failed", "{start}");
    assert!(text(&start["reason"]).starts_with("bus-unavailable"));
    let stop = kept(&other.id).await;
    assert_eq!(stop["kind"], "emergency_stop");
    assert_eq!(stop["status"], "pending", "{stop}");

    spread.nats.restart();
    spread.bus_is("Healthy").await;
    // It is tried until its life ends.
    ends(&spread.system, &text(&stop["command_id"]), "executed").await;
    latched(&spread.system, &other.id).await;
    let works = command(&spread.system, &mower.id, &height(40)).await;
    let works = text(&works.expect(202).json()["command_id"]);
    ends(&spread.system, &works, "executed").await;
    // Everything before it in the stream has been seen by now.
    let taken = spread.nats.holds("COMMAND").await;
    assert_eq!(taken.len(), 1, "the start came after all: {taken:?}");
    assert_eq!(spread.arrivals(&text(&start["command_id"])), 0);
    assert_eq!(spread.arrivals(&works), 1);
}

/// The stream keeps the last eight stops of a mower: of more, the device gateway
/// never sees the first ones. All the same each has an end, and the true one.
#[tokio::test]
async fn it_keeps_fewer_stops_than_there_were() {
    let mut spread = Spread::start(Shape::ONE).await;
    let mower = mower(&spread.system).await;
    spread.shards[0].process.terminate();
    let system = &spread.system;
    let path = format!("{FLEET}/mowers/{}/emergency-stop", mower.id);
    let calls = (0..20).map(|_| system.call(Persona::Viewer, "POST", &path));
    let mut stops = Vec::new();
    for answer in at_once(calls.collect()).await {
        stops.push(text(&answer.expect(202).json()["command_id"]));
    }
    assert_eq!(spread.nats.holds("STOP").await.len(), 8);
    spread.shards[0].restart();
    let system = &spread.system;
    let mut overtaken = 0;
    for stop in &stops {
        let ended = ends(system, stop, "executed").await;
        let reason = ended["reason"].as_str().unwrap_or_default();
        overtaken += usize::from(reason.starts_with("overtaken"));
        assert_eq!(ended["overdue"], false, "{ended}");
        assert_eq!(ended["late_status"], Value::Null, "{ended}");
    }
    assert_eq!(overtaken, 12);
    latched(system, &mower.id).await;
}

/// F2. What nobody confirmed may happen: the caller is told so, and both ends
/// are on record. The stop is repeated under one id.
#[tokio::test]
async fn nobody_answers() {
    let spread = Spread::start(KEEPS).await;
    let system = &spread.system;
    let (moved, stopped) = (mower(system).await, mower(system).await);
    spread.line.set(Line::Hung);

    let started = command(system, &moved.id, &start(&moved, 60)).await;
    refused(&started, 504, "may-have-acted", "maybe");
    let told = stop(system, &stopped.id).await;
    not_stopped(&told, "maybe");
    let sent = |kept: Vec<Value>| text(&kept[0]["command_id"]);
    let start = sent(records(system, &moved.id).await);
    let stop = sent(records(system, &stopped.id).await);
    let failed = ends(system, &start, "failed").await;
    assert!(text(&failed["reason"]).starts_with("publish-unconfirmed"));
    assert_eq!(spread.arrivals(&start), 0);

    spread.line.set(Line::Up);
    latched(system, &stopped.id).await;
    let late = |it: &Value| it["late_status"] == "executed";
    let both = record(system, "the mower's word is kept", &start, late).await;
    assert_eq!(both["status"], "failed", "{both}");
    assert_eq!(spread.arrivals(&start), 1);
    let of_stop = |(subject, content): &(String, Value)| {
        subject.ends_with(&stopped.id) && content["command_id"] == stop.as_str()
    };
    let stops = spread.nats.holds("STOP").await;
    assert_eq!(
        stops.iter().filter(|it| of_stop(it)).count(),
        1,
        "{stops:?}"
    );
}

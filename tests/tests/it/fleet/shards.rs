//! A device gateway is frozen, killed, alone or doubled; a message comes twice;
//! a mower has no power.

use interlock_tests::mowers::arrivals;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::process::Signal;
use interlock_tests::system::System;
use serde_json::{Value, json};

use super::stand::{
    EMBEDDED, Shape, Spread, after, command, ends, height, latched, mower, mower_with, record,
    refused, shows, start, state, stop,
};
use crate::personas::stage::fleet::FLEET;
use crate::personas::stage::text;

/// The shortest life that a stop may have beside the usual lease of a test.
const BRIEF: Shape = Shape {
    stop_life: 5,
    ..Shape::ONE
};

/// F12. What waited beyond its life is never done.
#[tokio::test]
async fn expired_in_the_queue() {
    let mut spread = Spread::start(Shape::ONE).await;
    let moved = mower(&spread.system).await;
    spread.shards[0].process.signal(Signal::Stop);
    let started = command(&spread.system, &moved.id, &start(&moved, 1)).await;
    let started = started.expect(202).json();
    after(&started["expires_at"]).await;

    spread.shards[0].process.signal(Signal::Continue);
    let id = text(&started["command_id"]);
    ends(&spread.system, &id, "expired").await;
    assert_eq!(spread.arrivals(&id), 0, "{started}");
}

/// F12 and F16. A stop that the stream took and whose shard is gone is answered
/// as accepted; when nobody says in its life that it was carried out, that is an
/// alarm.
#[tokio::test]
async fn a_stop_that_nobody_carried_out() {
    let mut spread = Spread::start(BRIEF).await;
    let stopped = mower(&spread.system).await;
    spread.shards[0].process.signal(Signal::Stop);
    let asked = stop(&spread.system, &stopped.id).await.expect(202).json();
    let id = text(&asked["command_id"]);

    let fleet = &spread.fleet().process;
    let alarm = |line: &str| line.contains("alarm: nobody") && line.contains(&id);
    poll::until("somebody is alarmed", || {
        fleet.stderr().lines().any(alarm).then_some(())
    });
    spread.shards[0].process.signal(Signal::Continue);
    let fresh = |state: &Value| state["age_ms"].as_u64().is_some_and(|age| age < 3_000);
    shows(&spread.system, "the shard is back", &stopped.id, fresh).await;
    assert_eq!(spread.arrivals(&id), 0, "{asked}");
}

/// F11. The bus gives a command twice: the second time is answered, not done.
#[tokio::test]
async fn delivered_twice() {
    let spread = Spread::start(Shape::ONE).await;
    let mower = mower(&spread.system).await;
    let told = command(&spread.system, &mower.id, &height(45)).await;
    let id = text(&told.expect(202).json()["command_id"]);
    ends(&spread.system, &id, "executed").await;
    let stream = spread.nats.jetstream().await;
    let (subject, content) = spread.nats.holds("COMMAND").await.remove(0);
    assert_eq!(content["command_id"], id.as_str());
    // Under no id, so that the stream takes it.
    let again = stream.publish(subject, content.to_string().into()).await;
    again.expect("sent").await.expect("stored");
    // What comes after it is done after it.
    let next = command(&spread.system, &mower.id, &height(50)).await;
    let next = text(&next.expect(202).json()["command_id"]);
    ends(&spread.system, &next, "executed").await;
    assert_eq!(spread.nats.taken("COMMAND").await, 3);
    assert_eq!(spread.arrivals(&id), 1);
    let set = |state: &Value| state["blade_height_mm"] == 50;
    shows(&spread.system, "its blade is set", &mower.id, set).await;
}

/// F13. A mower without power hears nothing: a start is not kept for later, a
/// stop is tried until it is back.
#[tokio::test]
async fn a_mower_is_offline() {
    let system = System::start(EMBEDDED).await;
    // Twenty seconds of its own time without power.
    let mower = mower_with(&system, &json!({ "speed": 5 })).await;
    let restart = json!({ "command": { "kind": "restart_mower" } });
    let path = format!("{FLEET}/mowers/{}/commands", mower.id);
    let off = system.post(Persona::Manager, &path, &restart).await;
    ends(
        &system,
        &text(&off.expect(202).json()["command_id"]),
        "executed",
    )
    .await;
    shows(&system, "it is offline", &mower.id, |state| {
        state["activity"] == "offline"
    })
    .await;
    let started = command(&system, &mower.id, &start(&mower, 1)).await;
    let started = text(&started.expect(202).json()["command_id"]);
    let stopped = stop(&system, &mower.id).await.expect(202).json();

    ends(&system, &text(&stopped["command_id"]), "executed").await;
    latched(&system, &mower.id).await;
    let process = &system.mowers.as_ref().expect("a fleet").process;
    assert_eq!(arrivals(process, &started), 0);
    let state = state(&system, &mower.id).await;
    assert_eq!(state["job"], Value::Null, "{state}");
}

/// F16 and F17. A shard that was away for longer than its lease finds its
/// mowers with another one: it moves none of them, and both may stop them.
#[tokio::test]
async fn one_shard_is_away_and_comes_back() {
    let shape = Shape {
        shards: 2,
        ..Shape::ONE
    };
    let mut spread = Spread::start(shape).await;
    let mower = mower(&spread.system).await;
    let holder = holder(&spread, &mower.id);
    spread.shards[holder].process.signal(Signal::Stop);
    // Nobody who could act hears it: it ends in the stream.
    let lost = command(&spread.system, &mower.id, &start(&mower, 1)).await;
    let lost = lost.expect(202).json();
    after(&lost["expires_at"]).await;
    takes_over(&spread, 1 - holder, &mower.id);
    spread.shards[holder].process.signal(Signal::Continue);

    let works = command(&spread.system, &mower.id, &height(45)).await;
    let works = text(&works.expect(202).json()["command_id"]);
    ends(&spread.system, &works, "executed").await;
    let stopped = stop(&spread.system, &mower.id).await.expect(202).json();
    ends(&spread.system, &text(&stopped["command_id"]), "executed").await;
    latched(&spread.system, &mower.id).await;
    let lost = text(&lost["command_id"]);
    assert_eq!(spread.arrivals(&lost), 0);
    assert_eq!(spread.arrivals(&works), 1);
    let over = |it: &Value| {
        it["status"] != "executed" && it["overdue"] == true
            || it["status"] == "failed"
            || it["status"] == "expired"
    };
    record(&spread.system, "the start is over", &lost, over).await;
}

/// F17. Without a shard nothing is done, and a start is not kept for the shard
/// that comes; a stop is, for as long as it lives.
#[tokio::test]
async fn nobody_holds_it() {
    let mut spread = Spread::start(Shape::ONE).await;
    let (moved, stopped) = (mower(&spread.system).await, mower(&spread.system).await);
    spread.shards[0].process.kill();
    let path = format!("{FLEET}/mowers/{}/map", moved.id);
    let read = spread.system.get(Persona::Viewer, &path).await;
    refused(&read, 503, "not-held", "none");
    let lost = command(&spread.system, &moved.id, &start(&moved, 1)).await;
    let lost = lost.expect(202).json();
    after(&lost["expires_at"]).await;
    let asked = stop(&spread.system, &stopped.id).await.expect(202).json();
    spread.shards[0].restart();

    ends(&spread.system, &text(&asked["command_id"]), "executed").await;
    latched(&spread.system, &stopped.id).await;
    let lost = text(&lost["command_id"]);
    let over = |it: &Value| it["overdue"] == true || it["status"] == "expired";
    record(&spread.system, "the start is over", &lost, over).await;
    assert_eq!(spread.arrivals(&lost), 0);
}

/// Which shard holds a mower, by what it has said.
pub(super) fn holder(spread: &Spread, mower: &str) -> usize {
    let shards = spread.shards.iter();
    let mut held = shards.map(|shard| holds(&shard.process.stderr(), mower));
    held.position(|held| held).expect("a shard holds the mower")
}

fn holds(said: &str, mower: &str) -> bool {
    let mut lines = said.lines().rev().filter(|line| line.contains(mower));
    let word = lines.find_map(|line| {
        let taken = line.contains("\"holds a mower\"");
        (taken || line.contains("\"let go of a mower\"")).then_some(taken)
    });
    word.unwrap_or_default()
}

/// Waits until a shard holds a mower.
pub(super) fn takes_over(spread: &Spread, shard: usize, mower: &str) {
    poll::until("the other shard takes the mower over", || {
        holds(&spread.shards[shard].process.stderr(), mower).then_some(())
    });
}

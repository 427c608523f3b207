use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use uuid::Uuid;

use crate::commands::testkit::{Asking, Cut, Rig, mower, state};
use crate::contract::{Activity, Status};

fn start() -> Value {
    json!({ "kind": "start_mow", "area_ids": [Uuid::from_u128(1)] })
}

/// The service, and no device gateway.
async fn alone() -> Rig {
    let rig = Rig::new(2).await;
    rig.bus.held.store(false, Ordering::SeqCst);
    rig
}

fn not_held() -> (u16, String, String) {
    (503, "not-held".to_owned(), "none".to_owned())
}

#[tokio::test]
async fn a_command_to_a_mower_that_nobody_holds_ends_at_once() {
    let rig = alone().await;
    let asking = Asking::command(mower(1), start());
    assert_eq!(rig.send(&asking).await.problem(), not_held());
    assert_eq!(rig.bus.published(), 0);
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Failed);
    let reason = record.outcome.reason.unwrap_or_default();
    assert!(reason.starts_with("not-held"), "{reason}");
    // A repeat is answered like the first one.
    assert_eq!(rig.send(&asking).await.problem(), not_held());
}

#[tokio::test]
async fn of_many_it_is_said_for_each() {
    let rig = alone().await;
    rig.allow("start_mow", mower(1));
    rig.allow("start_mow", mower(2));
    let heard = state(mower(2), Activity::Docked, 1, rig.now());
    rig.fleet.telemetry.hear(heard, rig.now());
    let asking = Asking::group(start());
    let answer = rig.send(&asking).await.json();
    assert_eq!(
        (&answer["accepted"], &answer["failed"]),
        (&json!(1), &json!(1))
    );
    assert_eq!(rig.bus.published(), 1);
}

#[tokio::test]
async fn a_mower_that_was_heard_of_lately_is_held() {
    let rig = alone().await;
    let heard = state(mower(1), Activity::Docked, 1, rig.now());
    rig.fleet.telemetry.hear(heard, rig.now());
    let asking = Asking::command(mower(1), start());
    assert_eq!(rig.send(&asking).await.status, 202);
    rig.pass(30_001);
    let later = Asking::command(mower(1), start());
    assert_eq!(rig.send(&later).await.problem(), not_held());
}

#[tokio::test]
async fn what_calms_is_tried_all_the_same() {
    let rig = alone().await;
    for kind in ["pause_mow", "return_to_dock"] {
        let calm = Asking::command(mower(1), json!({ "kind": kind }));
        assert_eq!(rig.send(&calm).await.status, 202);
    }
    assert_eq!(rig.bus.published(), 2);
}

#[tokio::test]
async fn a_bus_that_cannot_ask_says_nothing_of_a_holder() {
    let rig = alone().await;
    rig.bus.cut(Cut::Lost);
    let asking = Asking::command(mower(1), start());
    assert_eq!(rig.send(&asking).await.problem().1, "bus-unavailable");
}

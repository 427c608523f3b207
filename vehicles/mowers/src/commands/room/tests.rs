use serde_json::{Value, json};
use uuid::Uuid;

use crate::commands::testkit::{Asking, Cut, Rig, mower};

fn speed() -> Value {
    json!({ "kind": "set_speed", "speed_mps": 0.3 })
}

/// Sets the speed so often.
async fn fill(rig: &Rig, count: usize) {
    for _ in 0..count {
        let sent = rig.send(&Asking::command(mower(1), speed())).await;
        assert_eq!(sent.status, 202, "{}", sent.text);
    }
}

#[tokio::test]
async fn what_calms_has_room_that_nothing_else_may_take() {
    let rig = Rig::new(2).await;
    fill(&rig, 48).await;
    let full = (503, "bus-unavailable".to_owned(), "none".to_owned());
    let more = Asking::command(mower(1), speed());
    assert_eq!(rig.send(&more).await.problem(), full);
    assert!(rig.record(more.operation).await.is_none());
    for kind in ["pause_mow", "return_to_dock"] {
        let calm = Asking::command(mower(1), json!({ "kind": kind }));
        assert_eq!(rig.send(&calm).await.status, 202);
    }
    // The other mower is none of its business, one by one and of many.
    let other = Asking::command(mower(2), speed());
    assert_eq!(rig.send(&other).await.status, 202);
    let start = json!({ "kind": "start_mow", "area_ids": [Uuid::from_u128(1)] });
    rig.allow("start_mow", mower(1));
    rig.allow("start_mow", mower(2));
    let many = rig.send(&Asking::group(start)).await.json();
    assert_eq!((&many["accepted"], &many["failed"]), (&json!(1), &json!(1)));
    let reason = many["items"][0]["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("bus-unavailable"), "{reason}");
    // The stream keeps none of them for ever.
    rig.pass(401_000);
    fill(&rig, 1).await;
}

#[tokio::test]
async fn what_was_not_sent_takes_no_room() {
    let rig = Rig::new(1).await;
    rig.bus.cut(Cut::Streams);
    for _ in 0..48 {
        let sent = rig.send(&Asking::command(mower(1), speed())).await;
        assert_eq!(sent.status, 503);
    }
    rig.bus.cut(Cut::None);
    fill(&rig, 48).await;
}

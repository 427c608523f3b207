use futures_util::future::join_all;
use serde_json::{Value, json};
use uuid::Uuid;

use super::take;
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

/// On Postgres many replicas write at once, and each sees what was committed.
#[tokio::test]
async fn the_last_place_is_given_once() {
    let rig = Rig::postgres(1).await;
    fill(&rig, 44).await;
    let racing: Vec<Asking> = (0..8).map(|_| Asking::command(mower(1), speed())).collect();
    let sent = join_all(racing.iter().map(|it| rig.send(it))).await;
    let accepted = sent.iter().filter(|it| it.status == 202).count();
    assert_eq!(accepted, 4, "{sent:?}");
    assert_eq!(rig.count().await, 48);
}

/// A replica that froze as it wrote down a command holds up no pause.
#[tokio::test]
async fn what_calms_waits_for_no_other_command() {
    let rig = Rig::postgres(1).await;
    fill(&rig, 1).await;
    let mut frozen = rig.fleet.records.begin().await.expect("a transaction");
    let full = take(&mut frozen, &[(mower(1), 0)], rig.now()).await;
    assert!(full.expect("room").is_empty());
    let calm = Asking::command(mower(1), json!({ "kind": "pause_mow" }));
    assert_eq!(rig.send(&calm).await.status, 202);
    // It does hold up all others.
    let other = Asking::command(mower(1), speed());
    tokio::select! {
        sent = rig.send(&other) => panic!("it waited for nobody: {}", sent.text),
        () = somebody_waits(&rig) => {}
    }
}

/// Until a connection to the records waits for a lock.
async fn somebody_waits(rig: &Rig) {
    let waiting = "SELECT COUNT(*) FROM pg_stat_activity
         WHERE datname = current_database() AND wait_event_type = 'Lock'";
    loop {
        let count: i64 = sqlx::query_scalar(waiting)
            .fetch_one(rig.fleet.records.pool())
            .await
            .expect("a count");
        if count > 0 {
            return;
        }
    }
}

/// Calming commands count, so that the last of a mower's room is left for more
/// of them; and those that the stream has dropped count no longer.
#[tokio::test]
async fn what_calmed_takes_room_as_long_as_the_stream_keeps_it() {
    let rig = Rig::new(1).await;
    for _ in 0..40 {
        let calm = Asking::command(mower(1), json!({ "kind": "pause_mow" }));
        assert_eq!(rig.send(&calm).await.status, 202);
    }
    fill(&rig, 8).await;
    let more = Asking::command(mower(1), speed());
    assert_eq!(rig.send(&more).await.status, 503);
    rig.pass(401_000);
    fill(&rig, 10).await;
}

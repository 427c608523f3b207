use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use sqlx::{Connection, Executor};
use uuid::Uuid;

use super::rig::{Call, Rig, Silent, route};
use crate::epoch::LEAP;

/// A start that a life began and never finished.
const BEGUN: &str = r#"
    INSERT INTO operations (id, state, effect, kind, digest, status, body, begun_ms)
    VALUES ('00000000-0000-4000-8000-000000000001', 'started', 'maybe', 'start', 'x', 201,
        '{"id": "00000000-0000-4000-8000-000000000001", "name": "field", "type": "WaypointFollow",
          "formation": "Line", "waypoints": [], "droneCount": 1, "spacingMeters": 3.0,
          "createdAtUtc": "2026-01-01T00:00:00Z", "status": "Active", "endedAtUtc": null}', 1)"#;

/// The same request with a grant of its own, as the gateway repeats it in a later life.
fn repeated(call: &Call) -> Call {
    Call {
        jti: Uuid::new_v4(),
        asked_at: Timestamp::now() + Duration::from_millis(5),
        ..call.clone()
    }
}

/// Changes the file as a crash would have left it.
async fn rewrite(rig: &Rig, statement: &'static str) {
    let path = rig.directory.path().join("drones.db");
    let url = format!("sqlite://{}", path.display());
    let mut connection = sqlx::SqliteConnection::connect(&url).await.unwrap();
    connection.execute(statement).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn an_operation_never_seen_is_tombstoned_and_refused_when_it_comes() {
    let rig = Rig::slow().await;
    let start = Call::start(&route());
    let settled = rig
        .check(&Call::settle(start.operation), 200, "", "")
        .await
        .json();
    assert_eq!(settled, json!({"state": "tombstoned", "effect": "none"}));
    rig.check(&start, 409, "operation-tombstoned", "none").await;
    assert_eq!(rig.counters().await.starts, 0);
    let rig = rig.restart(true).await.live().await;
    let again = repeated(&start);
    rig.check(&again, 409, "operation-tombstoned", "none").await;
    assert_eq!(rig.counters().await.starts, 0);
}

#[tokio::test]
async fn a_done_operation_is_settled_with_its_answer() {
    let rig = Rig::slow().await;
    let start = Call::start(&route());
    let answer = rig.check(&start, 201, "", "").await;
    let settled = rig
        .check(&Call::settle(start.operation), 200, "", "")
        .await
        .json();
    let expected = json!({
        "state": "done", "effect": "done",
        "answer": {
            "status": 201, "body": answer.json(),
            "location": format!("/api/missions/{}", start.operation),
        },
    });
    assert_eq!(settled, expected);
}

#[tokio::test]
async fn what_was_begun_before_a_crash_and_flew_is_settled_as_done() {
    let rig = Rig::slow().await;
    let start = Call::start(&route());
    let answer = rig.check(&start, 201, "", "").await;
    rewrite(
        &rig,
        "UPDATE operations SET state = 'started'; DELETE FROM missions",
    )
    .await;
    let rig = rig.restart(true).await.live().await;
    let again = repeated(&start);
    let settled = rig
        .check(&Call::settle(start.operation), 200, "", "")
        .await
        .json();
    assert_eq!(settled["state"], "done");
    assert_eq!(settled["answer"]["body"], answer.json());
    let mission = rig
        .send(&Call::mission(&start.operation.to_string()))
        .await
        .json();
    assert_eq!(mission["status"], "Active");
    let repeated = rig.check(&again, 201, "", "").await;
    assert_eq!(repeated.text, answer.text);
    assert_eq!(rig.counters().await.starts, 1, "never sent again");
}

#[tokio::test]
async fn what_was_begun_before_a_crash_and_never_sent_is_settled_as_not_done() {
    let rig = Rig::slow().await;
    let start = Call::start(&route());
    rewrite(&rig, BEGUN).await;
    let begun: Uuid = "00000000-0000-4000-8000-000000000001".parse().unwrap();
    let rig = rig.restart(true).await.live().await;
    let settled = rig.check(&Call::settle(begun), 200, "", "").await.json();
    assert_eq!(settled, json!({"state": "tombstoned", "effect": "none"}));
    let late = Call {
        operation: begun,
        ..Call::start(&route())
    };
    rig.check(&late, 409, "operation-reused", "none").await;
    assert_eq!(rig.counters().await.starts, 0);
    drop(start);
}

#[tokio::test]
async fn without_a_swarm_what_was_begun_stays_unclear_and_nothing_starts() {
    let silent = Silent::new().await;
    let rig = Rig::with(&silent.address).await;
    rewrite(&rig, BEGUN).await;
    let begun: Uuid = "00000000-0000-4000-8000-000000000001".parse().unwrap();
    let rig = rig.restart(true).await;
    let settled = rig.check(&Call::settle(begun), 200, "", "").await.json();
    assert_eq!(
        (&settled["state"], &settled["effect"]),
        (&json!("running"), &json!("maybe"))
    );
    assert!(settled["detail"].is_string());
    let asked_at = jiff::Timestamp::now() + std::time::Duration::from_millis(5);
    let next = Call {
        asked_at,
        ..Call::start(&route())
    };
    rig.check(&next, 503, "operation-unsettled", "none").await;
}

/// Whatever that life did not write down, a stop among it, no motion from before it is made.
#[tokio::test]
async fn a_life_that_breaks_off_leaps_the_stop_epoch() {
    let mut rig = Rig::slow().await;
    for life in 1..=2 {
        let mut waiting = Call::start(&route());
        waiting.fence = Some(super::fence(&rig, &route()).await);
        // Acknowledged and perhaps not recorded; counted from the same number, it would be forgotten.
        rig.check(&Call::land(), 202, "", "").await;
        rig = rig.restart(true).await.live().await;
        assert!(rig.life.service.epoch.current().epoch >= life * LEAP);
        rig.check(&repeated(&waiting), 409, "stopped-since", "none")
            .await;
    }
    assert_eq!(rig.counters().await.starts, 0);
}

#[tokio::test]
async fn a_life_that_ends_in_order_does_not() {
    let rig = Rig::slow().await;
    rig.check(&Call::start(&route()), 201, "", "").await;
    let rig = rig.restart(false).await.live().await;
    assert_eq!(rig.life.service.epoch.current().epoch, 0);
    rig.check(&Call::start(&route()), 409, "mission-active", "none")
        .await;
}

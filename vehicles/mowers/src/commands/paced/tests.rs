use jiff::SignedDuration;
use serde_json::json;
use uuid::Uuid;

use super::{end, send_due};
use crate::commands::record::Record;
use crate::commands::testkit::{Asking, Cut, Rig, mower};
use crate::contract::Status;

/// Six starts in one second: the sixth waits for its turn.
async fn waiting() -> (Rig, Uuid) {
    let rig = Rig::new(6).await;
    for number in 1..=6 {
        rig.allow("start_mow", mower(number));
    }
    let command = json!({ "kind": "start_mow", "area_ids": [Uuid::from_u128(1)] });
    let asking = Asking::group(command);
    assert_eq!(rig.send(&asking).await.status, 202);
    assert_eq!(rig.fleet.control.paced.len(), 1);
    let sixth = Uuid::new_v5(&asking.operation, mower(6).as_bytes());
    (rig, sixth)
}

async fn ended(rig: &Rig, id: Uuid) -> Record {
    assert!(rig.fleet.control.paced.is_empty());
    rig.record(id).await.expect("a record")
}

#[tokio::test]
async fn a_turn_is_neither_early_nor_lost() {
    let (rig, sixth) = waiting().await;
    rig.pass(999);
    send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), 5);
    rig.pass(1);
    send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), 6);
    let record = ended(&rig, sixth).await;
    assert_eq!(record.outcome.status, Status::Pending);
    let life = record
        .envelope
        .expires_at
        .duration_since(record.envelope.issued_at);
    assert_eq!(life, SignedDuration::from_secs(31));
}

#[tokio::test]
async fn what_cannot_be_sent_in_its_life_is_said_to_be_expired() {
    let (rig, sixth) = waiting().await;
    rig.pass(31_000);
    send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), 5, "an expired command is never sent");
    let record = ended(&rig, sixth).await;
    assert_eq!(record.outcome.status, Status::Expired);
    assert_eq!(rig.fleet.control.counters.paced_unsent.get(), 1);
}

#[tokio::test]
async fn a_stop_overtakes_what_waits() {
    let (rig, sixth) = waiting().await;
    assert_eq!(rig.send(&Asking::stop(mower(6))).await.status, 202);
    rig.pass(1_000);
    send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), 5);
    let record = ended(&rig, sixth).await;
    assert_eq!(record.outcome.status, Status::Rejected);
    let reason = record.outcome.reason.unwrap_or_default();
    assert!(reason.starts_with("superseded-by-stop"), "{reason}");
}

#[tokio::test]
async fn a_bus_that_refuses_ends_what_waits() {
    let (rig, sixth) = waiting().await;
    rig.bus.cut(Cut::Streams);
    rig.pass(1_000);
    send_due(&rig.fleet).await;
    assert_eq!(ended(&rig, sixth).await.outcome.status, Status::Failed);
}

#[tokio::test]
async fn a_service_that_ends_says_what_it_did_not_send() {
    let (rig, sixth) = waiting().await;
    end(&rig.fleet).await;
    let record = ended(&rig, sixth).await;
    assert_eq!(record.outcome.status, Status::Failed);
    let reason = record.outcome.reason.unwrap_or_default();
    assert!(reason.starts_with("service-ended"), "{reason}");
}

#[tokio::test]
async fn a_service_that_dies_leaves_it_overdue_and_nobody_sends_it() {
    let (rig, sixth) = waiting().await;
    let rig = rig.again().await;
    rig.pass(40_000);
    send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), 5);
    assert!(ended(&rig, sixth).await.overdue(rig.now()));
}

/// What waited was not sent, and why.
async fn not_sent(rig: &Rig, id: Uuid, word: &str) {
    let before = rig.bus.published();
    rig.pass(1_000);
    send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), before, "{word}");
    let record = ended(rig, id).await;
    assert_eq!(record.outcome.status, Status::Rejected);
    let reason = record.outcome.reason.unwrap_or_default();
    assert!(reason.starts_with(word), "{reason}");
}

#[tokio::test]
async fn what_calms_overtakes_what_waits() {
    for kind in ["pause_mow", "return_to_dock"] {
        let (rig, sixth) = waiting().await;
        let calm = Asking::command(mower(6), json!({ "kind": kind }));
        assert_eq!(rig.send(&calm).await.status, 202);
        not_sent(&rig, sixth, "superseded-by-calming").await;
        let (rig, sixth) = waiting().await;
        rig.allow(kind, mower(6));
        let calm = Asking::group(json!({ "kind": kind }));
        assert_eq!(rig.send(&calm).await.status, 202);
        not_sent(&rig, sixth, "superseded-by-calming").await;
    }
}

#[tokio::test]
async fn what_calms_at_another_replica_overtakes_what_waits_here() {
    let (rig, sixth) = waiting().await;
    // Its clock is behind: what counts is the order of the records.
    let mut change = rig.fleet.records.begin().await.expect("a transaction");
    let raised = crate::commands::calming::raise(&mut change, &[mower(6)]).await;
    assert_eq!(raised.expect("an epoch").get(&mower(6)), Some(&1));
    change.commit().await.expect("a commit");
    not_sent(&rig, sixth, "superseded-by-calming").await;
}

#[tokio::test]
async fn what_was_asked_after_a_pause_is_not_held_up_by_it() {
    let rig = Rig::new(6).await;
    for number in 1..=6 {
        rig.allow("start_mow", mower(number));
        let pause = Asking::command(mower(number), json!({ "kind": "pause_mow" }));
        assert_eq!(rig.send(&pause).await.status, 202);
    }
    let command = json!({ "kind": "start_mow", "area_ids": [Uuid::from_u128(1)] });
    assert_eq!(rig.send(&Asking::group(command)).await.status, 202);
    rig.pass(1_000);
    send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), 12);
}

#[tokio::test]
async fn a_stop_at_another_replica_overtakes_what_waits_here() {
    let (rig, sixth) = waiting().await;
    let epoch = rig.now().as_millisecond();
    sqlx::query("INSERT INTO stop_epochs (mower_id, epoch) VALUES ($1, $2)")
        .bind(mower(6).to_string())
        .bind(epoch)
        .execute(rig.fleet.records.pool())
        .await
        .expect("a stop");
    not_sent(&rig, sixth, "superseded-by-stop").await;
}

#[tokio::test]
async fn a_decision_on_what_has_changed_is_not_carried_out() {
    for change in [
        // Quarantined, placed elsewhere or taken out of its group.
        format!(
            "UPDATE mowers SET hierarchy_rev = 2 WHERE id = '{}'",
            mower(6)
        ),
        "UPDATE accounts SET suspended = 1, rev = 2".to_owned(),
        "UPDATE sites SET rev = 2".to_owned(),
        "UPDATE mower_groups SET rev = 2".to_owned(),
    ] {
        let (rig, sixth) = waiting().await;
        sqlx::query(sqlx::AssertSqlSafe(change))
            .execute(rig.fleet.records.pool())
            .await
            .expect("a change");
        not_sent(&rig, sixth, "authz-stale").await;
    }
}

#[tokio::test]
async fn nothing_is_sent_without_the_records() {
    let (rig, _) = waiting().await;
    rig.fleet.records.pool().close().await;
    rig.pass(1_000);
    send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), 5);
}

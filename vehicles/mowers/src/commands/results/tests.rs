use std::time::Duration;

use jiff::SignedDuration;
use serde_json::json;
use uuid::Uuid;

use super::{Answered, judge};
use crate::commands::testkit::{Asking, Rig, mower};
use crate::contract::{CommandResult, Status};

async fn sent(rig: &Rig) -> CommandResult {
    let asking = Asking::command(mower(1), json!({ "kind": "pause_mow" }));
    assert_eq!(rig.send(&asking).await.status, 202);
    CommandResult {
        command_id: asking.operation,
        mower_id: mower(1),
        account_id: "acme".to_owned(),
        status: Status::Accepted,
        reason: None,
        at: rig.now() + SignedDuration::from_secs(1),
    }
}

async fn take(rig: &Rig, result: &CommandResult, attempt: u64) -> Answered {
    let payload = serde_json::to_vec(result).expect("JSON");
    judge(&rig.fleet, &payload, attempt).await
}

async fn status(rig: &Rig, id: Uuid) -> Status {
    rig.record(id).await.expect("a record").outcome.status
}

#[tokio::test]
async fn results_in_any_order_and_number() {
    let rig = Rig::new(1).await;
    let accepted = sent(&rig).await;
    let executed = CommandResult {
        status: Status::Executed,
        ..accepted.clone()
    };
    assert_eq!(take(&rig, &executed, 1).await, Answered::Ack);
    assert_eq!(status(&rig, accepted.command_id).await, Status::Executed);
    // A final twice, and `accepted` after it.
    assert_eq!(take(&rig, &executed, 2).await, Answered::Ack);
    assert_eq!(take(&rig, &accepted, 1).await, Answered::Ack);
    assert_eq!(status(&rig, accepted.command_id).await, Status::Executed);
    assert_eq!(rig.fleet.control.counters.results_same.get(), 2);
    let expired = CommandResult {
        status: Status::Expired,
        ..accepted.clone()
    };
    assert_eq!(take(&rig, &expired, 1).await, Answered::Ack);
    assert_eq!(rig.fleet.control.counters.results_conflicting.get(), 1);
    let shown = {
        rig.allow("observe", mower(1));
        rig.send(&Asking::record(accepted.command_id)).await.json()
    };
    assert_eq!(
        (&shown["status"], &shown["late_status"]),
        (&json!("executed"), &json!("expired"))
    );
}

#[tokio::test]
async fn an_unknown_command_is_looked_for_a_few_times_and_never_made() {
    let rig = Rig::new(1).await;
    let unknown = CommandResult {
        command_id: Uuid::from_u128(99),
        ..sent(&rig).await
    };
    let rows = rig.count().await;
    for attempt in 1..5 {
        assert!(matches!(
            take(&rig, &unknown, attempt).await,
            Answered::Retry(_)
        ));
    }
    assert_eq!(take(&rig, &unknown, 5).await, Answered::Ack);
    assert_eq!(rig.fleet.control.counters.results_unknown.get(), 1);
    assert_eq!(rig.count().await, rows);
}

#[tokio::test]
async fn a_foreign_or_unreadable_result_blocks_nothing() {
    let rig = Rig::new(2).await;
    let foreign = CommandResult {
        mower_id: mower(2),
        ..sent(&rig).await
    };
    assert_eq!(take(&rig, &foreign, 1).await, Answered::Ack);
    assert_eq!(rig.fleet.control.counters.results_foreign.get(), 1);
    assert_eq!(status(&rig, foreign.command_id).await, Status::Pending);
    assert_eq!(judge(&rig.fleet, b"{", 1).await, Answered::Reject);
    assert_eq!(rig.fleet.control.counters.results_unreadable.get(), 1);
}

#[tokio::test]
async fn records_that_are_down_acknowledge_nothing() {
    let rig = Rig::new(1).await;
    let result = sent(&rig).await;
    rig.fleet.records.pool().close().await;
    assert_eq!(take(&rig, &result, 1).await, Answered::Silent);
}

#[tokio::test]
async fn the_result_of_a_spooled_stop_waits_for_its_record() {
    let rig = Rig::new(1).await;
    let stop = crate::commands::testkit::record(
        mower(1),
        crate::contract::Command::EmergencyStop { reason: None },
    );
    let spool = &rig.fleet.control.spool;
    spool
        .append(None, std::slice::from_ref(&stop))
        .await
        .expect("an append");
    let result = CommandResult {
        command_id: stop.envelope.command_id,
        status: Status::Executed,
        ..sent(&rig).await
    };
    let waits = Answered::Retry(Duration::from_secs(4));
    assert_eq!(take(&rig, &result, 19).await, waits);
    spool.replay(&rig.fleet.records).await.expect("a replay");
    assert_eq!(take(&rig, &result, 20).await, Answered::Ack);
    assert_eq!(status(&rig, result.command_id).await, Status::Executed);
}

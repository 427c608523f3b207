use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use jiff::SignedDuration;
use serde_json::json;
use uuid::Uuid;

use super::{Answered, judge};
use crate::bus::{BusError, Delivery, Receipt};
use crate::commands::testkit::{Asking, Rig, mower};
use crate::contract::{CommandResult, Priority, Status};

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
    judge(&rig.fleet, &[(payload.into(), attempt)]).await[0]
}

/// Keeps what was said of a delivery.
#[derive(Clone, Default)]
struct Slip(Arc<Mutex<Vec<&'static str>>>);

impl Slip {
    fn say(&self, word: &'static str) -> Result<(), BusError> {
        self.0.lock().expect("the words").push(word);
        Ok(())
    }
}

#[async_trait]
impl Receipt for Slip {
    async fn ack(self: Box<Self>) -> Result<(), BusError> {
        self.say("ack")
    }

    async fn retry(self: Box<Self>, _: Duration) -> Result<(), BusError> {
        self.say("retry")
    }

    async fn reject(self: Box<Self>) -> Result<(), BusError> {
        self.say("reject")
    }

    async fn progress(&self) -> Result<(), BusError> {
        self.say("progress")
    }
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
    // It came often while the records were away: that was no look.
    for milliseconds in [500, 1_000, 2_000, 4_000] {
        let again = Answered::Retry(Duration::from_millis(milliseconds));
        assert_eq!(take(&rig, &unknown, 30).await, again);
    }
    assert_eq!(take(&rig, &unknown, 31).await, Answered::Ack);
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
    let said = judge(&rig.fleet, &[(Bytes::from_static(b"{"), 1)]).await;
    assert_eq!(said, [Answered::Reject]);
    assert_eq!(rig.fleet.control.counters.results_unreadable.get(), 1);
}

#[tokio::test]
async fn what_comes_together_is_answered_one_by_one() {
    let rig = Rig::new(2).await;
    let (first, second) = (sent(&rig).await, sent(&rig).await);
    let with = |of: &CommandResult, status| CommandResult {
        status,
        ..of.clone()
    };
    let unknown = CommandResult {
        command_id: Uuid::from_u128(99),
        ..first.clone()
    };
    let foreign = CommandResult {
        mower_id: mower(2),
        ..second.clone()
    };
    let heard = |result: &CommandResult| {
        let payload = serde_json::to_vec(result).expect("JSON");
        (Bytes::from(payload), 1)
    };
    let together = [
        heard(&with(&second, Status::Executed)),
        (Bytes::from_static(b"{"), 1),
        heard(&unknown),
        heard(&first),
        heard(&foreign),
        heard(&with(&first, Status::Rejected)),
        heard(&with(&first, Status::Executed)),
        heard(&second),
    ];
    let said = judge(&rig.fleet, &together).await;
    let again = Answered::Retry(Duration::from_millis(500));
    let mut expected = [Answered::Ack; 8];
    (expected[1], expected[2]) = (Answered::Reject, again);
    assert_eq!(said, expected);
    // Of one command, the first end stands.
    assert_eq!(status(&rig, first.command_id).await, Status::Rejected);
    assert_eq!(status(&rig, second.command_id).await, Status::Executed);
    let counters = &rig.fleet.control.counters;
    let counts = [
        counters.results_conflicting.get(),
        counters.results_foreign.get(),
        counters.results_unreadable.get(),
        counters.results_same.get(),
    ];
    assert_eq!(counts, [1; 4]);
}

#[tokio::test]
async fn nothing_is_acknowledged_that_is_not_on_record() {
    let rig = Rig::new(1).await;
    let result = serde_json::to_vec(&sent(&rig).await).expect("JSON");
    let words = Slip::default();
    let two = || {
        [(); 2].map(|()| Delivery {
            subject: "command.result.mower.x".to_owned(),
            id: "x".to_owned(),
            priority: Priority::Normal,
            payload: result.clone().into(),
            attempt: 1,
            receipt: Box::new(words.clone()),
        })
    };
    super::take(&rig.fleet, two().into()).await;
    assert_eq!(*words.0.lock().expect("the words"), ["ack", "ack"]);
    rig.fleet.records.pool().close().await;
    super::take(&rig.fleet, two().into()).await;
    assert_eq!(words.0.lock().expect("the words").len(), 2);
}

#[test]
fn no_result_is_given_up_while_the_records_are_away() {
    assert_eq!(super::consumer().max_deliver, 0, "for ever");
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
    for _ in 0..10 {
        let waits = take(&rig, &result, 19).await;
        assert!(matches!(waits, Answered::Retry(_)), "{waits:?}");
    }
    spool.replay(&rig.fleet.records).await.expect("a replay");
    assert_eq!(take(&rig, &result, 20).await, Answered::Ack);
    assert_eq!(status(&rig, result.command_id).await, Status::Executed);
}

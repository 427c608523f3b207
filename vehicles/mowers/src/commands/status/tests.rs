use jiff::SignedDuration;
use uuid::Uuid;

use super::{Moved, Why, close, explain};
use crate::commands::record::{Outcome, Record};
use crate::commands::{store, testkit};
use crate::contract::{Command, CommandResult, Status};
use crate::records::testkit::fresh;
use crate::records::{Records, RecordsError};

const FINALS: [Status; 4] = [
    Status::Executed,
    Status::Rejected,
    Status::Expired,
    Status::Failed,
];

async fn written(records: &Records) -> Record {
    let record = testkit::record(Uuid::from_u128(1), Command::PauseMow {});
    let mut transaction = records.begin().await.expect("a transaction");
    let rows = store::insert(&mut transaction, std::slice::from_ref(&record)).await;
    assert_eq!(rows.expect("an insert"), 1);
    transaction.commit().await.expect("a commit");
    record
}

fn result(record: &Record, status: Status) -> CommandResult {
    CommandResult {
        command_id: record.envelope.command_id,
        mower_id: record.envelope.mower_id,
        account_id: record.envelope.account_id.clone(),
        status,
        reason: Some(format!("{}: text", status.as_str())),
        at: record.envelope.issued_at + SignedDuration::from_secs(1),
    }
}

async fn advance(records: &Records, result: &CommandResult) -> Result<Moved, RecordsError> {
    let moved = super::advance(records, std::slice::from_ref(result)).await?;
    Ok(moved[0])
}

async fn outcome(records: &Records, record: &Record) -> Outcome {
    let found = store::find(records, record.envelope.command_id).await;
    found.expect("a read").expect("a record").outcome
}

/// Every distinct order of two `accepted` and three of a final.
fn orders(last: Status) -> Vec<[Status; 5]> {
    let mut orders = Vec::new();
    for first in 0..5 {
        for second in first + 1..5 {
            let mut order = [last; 5];
            order[first] = Status::Accepted;
            order[second] = Status::Accepted;
            orders.push(order);
        }
    }
    orders
}

#[tokio::test]
async fn all_forty_orders_end_in_the_final_after_one_or_two_writes() {
    let (_folder, records) = fresh().await;
    let all: Vec<_> = FINALS.into_iter().flat_map(orders).collect();
    assert_eq!(all.len(), 40);
    for order in all {
        let record = written(&records).await;
        let mut writes = 0;
        for status in order {
            match advance(&records, &result(&record, status)).await {
                Ok(Moved::Forward) => writes += 1,
                Ok(Moved::Same) => {}
                other => panic!("{order:?}: {other:?}"),
            }
        }
        let end = outcome(&records, &record).await;
        let last = order.into_iter().find(|status| status.is_final());
        assert_eq!(Some(end.status), last, "{order:?}");
        assert_eq!(end.late, None, "{order:?}");
        assert!((1..=2).contains(&writes), "{order:?}: {writes}");
    }
}

#[tokio::test]
async fn the_first_final_stays_and_the_second_is_kept_beside_it_once() {
    let (_folder, records) = fresh().await;
    let record = written(&records).await;
    let say = |status| result(&record, status);
    let moved = async |status| advance(&records, &say(status)).await.expect("a write");
    assert_eq!(moved(Status::Expired).await, Moved::Forward);
    assert_eq!(moved(Status::Executed).await, Moved::Conflict);
    assert_eq!(moved(Status::Executed).await, Moved::Same);
    assert_eq!(moved(Status::Failed).await, Moved::Same);
    assert_eq!(moved(Status::Accepted).await, Moved::Same);
    let end = outcome(&records, &record).await;
    assert_eq!(end.status, Status::Expired);
    let late = end.late.expect("the second final");
    assert_eq!(late.status, Status::Executed);
    assert_eq!(late.reason.as_deref(), Some("executed: text"));
}

/// A stop is published before it is on record, so its row may come between the update that found
/// none and the look that says why.
#[tokio::test]
async fn a_record_that_is_behind_is_never_taken_for_a_repeat() {
    let (_folder, records) = fresh().await;
    let record = written(&records).await;
    let why = async |status| {
        let mut connection = records.pool().acquire().await.expect("a connection");
        let why = explain(&mut connection, &result(&record, status)).await;
        why.expect("a read")
    };
    assert_eq!(why(Status::Executed).await, Why::Behind);
    assert_eq!(why(Status::Accepted).await, Why::Behind);
    let executed = result(&record, Status::Executed);
    advance(&records, &executed).await.expect("a write");
    assert_eq!(why(Status::Executed).await, Why::Nothing(Moved::Same));
    assert_eq!(why(Status::Accepted).await, Why::Nothing(Moved::Same));
}

#[tokio::test]
async fn nobody_else_speaks_for_a_mower() {
    let (_folder, records) = fresh().await;
    let record = written(&records).await;
    let mower = CommandResult {
        mower_id: Uuid::from_u128(2),
        ..result(&record, Status::Executed)
    };
    let account = CommandResult {
        account_id: "other".to_owned(),
        ..result(&record, Status::Executed)
    };
    for foreign in [mower, account] {
        let moved = advance(&records, &foreign).await.expect("a read");
        assert_eq!(moved, Moved::Foreign);
    }
    assert_eq!(outcome(&records, &record).await, Outcome::PENDING);
    let unknown = CommandResult {
        command_id: Uuid::from_u128(9),
        ..result(&record, Status::Executed)
    };
    let moved = advance(&records, &unknown).await.expect("a read");
    assert_eq!(moved, Moved::Unknown);
    assert!(
        store::find(&records, Uuid::from_u128(9))
            .await
            .expect("a read")
            .is_none()
    );
}

#[tokio::test]
async fn what_the_service_says_never_replaces_what_was_heard() {
    let (_folder, records) = fresh().await;
    let heard = written(&records).await;
    let silent = written(&records).await;
    let executed = result(&heard, Status::Executed);
    assert_eq!(
        advance(&records, &executed).await.ok(),
        Some(Moved::Forward)
    );
    let failed = Outcome {
        status: Status::Failed,
        reason: Some("bus-unavailable".to_owned()),
        result_at: Some(testkit::noon()),
        late: None,
    };
    let ids = [heard.envelope.command_id, silent.envelope.command_id];
    assert_eq!(close(&records, &ids, &failed).await.expect("a write"), 1);
    assert_eq!(outcome(&records, &heard).await.status, Status::Executed);
    assert_eq!(outcome(&records, &silent).await, failed);
}

#[tokio::test]
async fn a_reason_is_cut_to_its_column() {
    let (_folder, records) = fresh().await;
    let record = written(&records).await;
    let long = CommandResult {
        reason: Some("ü".repeat(300)),
        ..result(&record, Status::Failed)
    };
    assert_eq!(advance(&records, &long).await.ok(), Some(Moved::Forward));
    let kept = outcome(&records, &record).await.reason.expect("a reason");
    assert_eq!(kept.chars().count(), 200);
}

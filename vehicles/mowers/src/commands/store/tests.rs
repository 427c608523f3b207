use jiff::SignedDuration;
use uuid::Uuid;

use super::{Filter, Place, find, insert, list, of_bulk, placeholders};
use crate::commands::record::{AreaClear, Decided, Late, Outcome, Record};
use crate::commands::testkit;
use crate::contract::{Command, Status};
use crate::records::Records;
use crate::records::testkit::fresh;

async fn write(records: &Records, new: &[Record]) -> u64 {
    let mut transaction = records.begin().await.expect("a transaction");
    let written = insert(&mut transaction, new).await.expect("an insert");
    transaction.commit().await.expect("a commit");
    written
}

#[tokio::test]
async fn a_record_is_read_as_it_was_written() {
    let (_folder, records) = fresh().await;
    let stop = Command::EmergencyStop {
        reason: Some("a dog".to_owned()),
    };
    let bare = testkit::record(Uuid::from_u128(1), stop.clone());
    let mut full = testkit::record(Uuid::from_u128(1), stop);
    full.bulk_id = Some(Uuid::from_u128(5));
    full.plan_id = Some(Uuid::from_u128(6));
    full.area_clear = Some(AreaClear::Approval);
    full.envelope.stop_epoch = 1 << 50;
    full.decided = Decided {
        hierarchy_rev: 3,
        decision: Some(Uuid::from_u128(7)),
        bundle: Some("ab".to_owned()),
    };
    full.outcome = Outcome {
        status: Status::Failed,
        reason: Some("offline".to_owned()),
        result_at: Some(testkit::noon()),
        late: Some(Late {
            status: Status::Executed,
            reason: None,
            at: testkit::noon(),
        }),
    };
    assert_eq!(write(&records, &[bare.clone(), full.clone()]).await, 2);
    for record in [&bare, &full] {
        let found = find(&records, record.envelope.command_id).await;
        assert_eq!(found.expect("a read").as_ref(), Some(record));
    }
    assert_eq!(write(&records, &[bare]).await, 0);
    let bulk = of_bulk(&records, Uuid::from_u128(5)).await.expect("a read");
    assert_eq!(bulk, [full]);
}

#[tokio::test]
async fn many_records_are_one_write() {
    let (_folder, records) = fresh().await;
    let many: Vec<Record> = (0..1_201_u128)
        .map(|n| testkit::record(Uuid::from_u128(n), Command::PauseMow {}))
        .collect();
    assert_eq!(write(&records, &many).await, 1_201);
}

#[tokio::test]
async fn lists_page_from_the_newest_without_gaps() {
    let (_folder, records) = fresh().await;
    let mut all = Vec::new();
    for n in 0..7_i64 {
        let mut record = testkit::record(Uuid::from_u128(1), Command::PauseMow {});
        // Two of each instant.
        let at = testkit::noon() + SignedDuration::from_secs(n / 2);
        record.envelope.issued_at = at;
        all.push(record);
    }
    let mut foreign = testkit::record(Uuid::from_u128(1), Command::PauseMow {});
    foreign.envelope.account_id = "other".to_owned();
    write(&records, &all).await;
    write(&records, &[foreign]).await;
    let mut filter = Filter::default();
    let mut seen = Vec::new();
    loop {
        let page = list(&records, "acme", &filter, 2).await.expect("a page");
        let Some(last) = page.last() else { break };
        filter.after = Some(Place {
            issued_ms: last.envelope.issued_at.as_millisecond(),
            id: last.envelope.command_id,
        });
        seen.extend(page);
    }
    let order = |record: &Record| {
        let envelope = &record.envelope;
        (envelope.issued_at, envelope.command_id.to_string())
    };
    all.sort_by_key(|record| std::cmp::Reverse(order(record)));
    assert_eq!(seen, all);
}

#[tokio::test]
async fn lists_are_filtered() {
    let (_folder, records) = fresh().await;
    let mut one = testkit::record(Uuid::from_u128(1), Command::PauseMow {});
    one.bulk_id = Some(Uuid::from_u128(5));
    let mut two = testkit::record(Uuid::from_u128(2), Command::PauseMow {});
    two.outcome.status = Status::Executed;
    two.envelope.issued_at += SignedDuration::from_secs(60);
    write(&records, &[one.clone(), two.clone()]).await;
    let only = async |filter: Filter| list(&records, "acme", &filter, 9).await.expect("a page");
    let mower = Filter {
        mower: Some(Uuid::from_u128(1)),
        ..Filter::default()
    };
    assert_eq!(only(mower).await, [one.clone()]);
    let bulk = Filter {
        bulk: one.bulk_id,
        ..Filter::default()
    };
    assert_eq!(only(bulk).await, [one]);
    let status = Filter {
        status: Some(Status::Executed),
        ..Filter::default()
    };
    assert_eq!(only(status).await, [two.clone()]);
    let since = Filter {
        since: Some(two.envelope.issued_at),
        ..Filter::default()
    };
    assert_eq!(only(since).await, [two]);
}

#[test]
fn places_are_counted_through() {
    assert_eq!(placeholders(2, 3), "($1, $2, $3), ($4, $5, $6)");
}

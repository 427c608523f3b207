use jiff::SignedDuration;
use uuid::Uuid;

use super::end;
use crate::commands::record::{Outcome, Record};
use crate::commands::{store, testkit};
use crate::contract::{Command, Status};
use crate::records::Records;
use crate::records::testkit::on_both;

const MOWER: Uuid = Uuid::from_u128(1);

/// A stop so many milliseconds after noon; `executed`: and when it was carried
/// out.
fn stop(mower: Uuid, issued: i64, executed: Option<i64>) -> Record {
    let command = Command::EmergencyStop { reason: None };
    let mut record = asked(testkit::record(mower, command), issued);
    if let Some(at) = executed {
        record.outcome = Outcome {
            status: Status::Executed,
            reason: None,
            result_at: Some(testkit::noon() + SignedDuration::from_millis(at)),
            late: None,
        };
    }
    record
}

fn asked(mut record: Record, issued: i64) -> Record {
    let envelope = &mut record.envelope;
    envelope.issued_at = testkit::noon() + SignedDuration::from_millis(issued);
    envelope.expires_at = envelope.issued_at + SignedDuration::from_secs(10);
    record
}

async fn write(records: &Records, some: &[Record]) {
    let mut change = records.begin().await.expect("a transaction");
    store::insert(&mut change, some).await.expect("an insert");
    change.commit().await.expect("a commit");
}

/// What becomes of a stop at noon, among others, 16 seconds later.
async fn check(others: &[Record], expected: Status) {
    on_both(async |store| {
        let first = stop(MOWER, 0, None);
        let mut all = others.to_vec();
        all.push(first.clone());
        for record in &mut all {
            // The same values go to two databases.
            record.bulk_id = None;
        }
        write(&store.records, &all).await;
        let late = testkit::noon() + SignedDuration::from_secs(16);
        let ended = end(&store.records, late).await.expect("a look");
        let found = store::find(&store.records, first.envelope.command_id).await;
        let outcome = found.expect("a read").expect("a record").outcome;
        assert_eq!(outcome.status, expected, "{others:?}");
        assert_eq!(ended, u64::from(expected == Status::Executed));
        let again = end(&store.records, late).await.expect("a look");
        assert_eq!(again, 0, "an end is written once");
    })
    .await;
}

#[tokio::test]
async fn a_stop_ends_with_the_one_that_was_carried_out_in_its_place() {
    check(&[stop(MOWER, 5, Some(40))], Status::Executed).await;
    // Asked for a moment before, and stored after.
    check(&[stop(MOWER, -3, Some(40))], Status::Executed).await;
    let two = [stop(MOWER, 5, Some(40)), stop(MOWER, 6, Some(41))];
    check(&two, Status::Executed).await;
}

#[tokio::test]
async fn a_stop_that_nobody_carried_out_stays_open() {
    check(&[], Status::Pending).await;
    // Of another mower; not carried out; before it was asked for; after its life.
    check(&[stop(Uuid::from_u128(2), 5, Some(40))], Status::Pending).await;
    let mut failed = stop(MOWER, 5, Some(40));
    failed.outcome.status = Status::Failed;
    check(&[failed], Status::Pending).await;
    check(&[stop(MOWER, -50, Some(-10))], Status::Pending).await;
    // Carried out after its life was over.
    check(&[stop(MOWER, 5, Some(10_001))], Status::Pending).await;
    check(&[stop(MOWER, 10_001, Some(10_020))], Status::Pending).await;
}

#[tokio::test]
async fn a_stop_after_new_motion_does_not_end_with_the_one_before() {
    let reset = testkit::record(
        MOWER,
        Command::ResetEmergency {
            on_site_confirmed: true,
        },
    );
    // The mower's word for the earlier stop came late.
    let others = [stop(MOWER, -3_000, Some(40)), asked(reset, -1_000)];
    check(&others, Status::Pending).await;
}

#[tokio::test]
async fn a_stop_whose_own_end_may_still_come_is_left_alone() {
    on_both(async |store| {
        let first = stop(MOWER, 0, None);
        write(&store.records, &[first, stop(MOWER, 5, Some(40))]).await;
        let early = testkit::noon() + SignedDuration::from_secs(15);
        assert_eq!(end(&store.records, early).await.expect("a look"), 0);
    })
    .await;
}

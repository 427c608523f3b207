use jiff::SignedDuration;

use super::{Alarms, silent};
use crate::bus::Stream;
use crate::commands::testkit::{ACCOUNT, Asking, Rig, mower, next, say, take_results};
use crate::contract::Status;

#[tokio::test]
async fn a_stop_that_nobody_spoke_of_is_told_once() {
    let rig = Rig::new(2).await;
    let mut alarms = Alarms::starting(rig.now());
    assert_eq!(rig.send(&Asking::stop(mower(1))).await.status, 202);
    let count = || rig.fleet.control.counters.stops_unconfirmed.get();
    // Its life is 10 s, and a word may take 5 s more.
    for (passed, expected) in [(14_999, 0), (1, 1), (60_000, 1)] {
        rig.pass(passed);
        alarms.look(&rig.fleet).await.expect("a look");
        assert_eq!(count(), expected, "{passed} ms on");
    }
    assert_eq!(rig.send(&Asking::stop(mower(2))).await.status, 202);
    rig.pass(15_000);
    alarms.look(&rig.fleet).await.expect("a look");
    assert_eq!(count(), 2);
}

#[tokio::test]
async fn of_one_call_for_many_all_are_told() {
    let rig = Rig::new(600).await;
    rig.rights.allow("observe", ACCOUNT);
    let mut alarms = Alarms::starting(rig.now());
    assert_eq!(rig.send(&Asking::stop_account()).await.status, 202);
    // What the records could not take in time is in the spool.
    let spool = &rig.fleet.control.spool;
    spool.replay(&rig.fleet.records).await.expect("a replay");
    rig.pass(15_000);
    for _ in 0..2 {
        alarms.look(&rig.fleet).await.expect("a look");
        assert_eq!(rig.fleet.control.counters.stops_unconfirmed.get(), 600);
    }
}

#[tokio::test]
async fn a_stop_that_was_carried_out_is_none() {
    let rig = Rig::new(1).await;
    let since = rig.now();
    let asking = Asking::stop(mower(1));
    assert_eq!(rig.send(&asking).await.status, 202);
    let sent = next(&rig.bus, Stream::Stop).await;
    let until = since + SignedDuration::from_secs(60);
    let found = silent(&rig.fleet.records, since, until)
        .await
        .expect("a look");
    assert_eq!(found.len(), 1);
    say(&rig.bus, &sent, Status::Executed).await;
    take_results(&rig, 1).await;
    let found = silent(&rig.fleet.records, since, until)
        .await
        .expect("a look");
    assert_eq!(found, []);
}

/// The records were down for longer than the stop lived.
#[tokio::test]
async fn a_stop_that_came_on_record_late_is_told_once() {
    let rig = Rig::new(1).await;
    rig.fleet.records.pool().close().await;
    let asking = Asking::stop(mower(1));
    assert_eq!(rig.send(&asking).await.json()["recorded"], false);
    rig.pass(3_600_000);
    let rig = rig.again().await;
    let control = &rig.fleet.control;
    let count = || control.counters.stops_unconfirmed.get();
    let mut alarms = Alarms::starting(rig.now());
    alarms.look(&rig.fleet).await.expect("a look");
    let replayed = control.spool.replay(&rig.fleet.records).await;
    control.late.add(&replayed.expect("a replay"), rig.now());
    // A word on it may still wait for its record.
    for (passed, expected) in [(4_999, 0), (1, 1), (60_000, 1)] {
        rig.pass(passed);
        alarms.look(&rig.fleet).await.expect("a look");
        assert_eq!(count(), expected, "{passed} ms on");
    }
}

/// Its life is not over yet as it comes on record: it is told when it is.
#[tokio::test]
async fn a_stop_that_came_on_record_in_time_is_told_once() {
    let rig = Rig::new(1).await;
    rig.fleet.records.pool().close().await;
    assert_eq!(rig.send(&Asking::stop(mower(1))).await.status, 202);
    rig.pass(2_000);
    let rig = rig.again().await;
    let control = &rig.fleet.control;
    let replayed = control.spool.replay(&rig.fleet.records).await;
    control.late.add(&replayed.expect("a replay"), rig.now());
    let mut alarms = Alarms::starting(rig.now());
    for (passed, expected) in [(12_999, 0), (1, 1), (60_000, 1)] {
        rig.pass(passed);
        alarms.look(&rig.fleet).await.expect("a look");
        assert_eq!(
            control.counters.stops_unconfirmed.get(),
            expected,
            "{passed} ms on"
        );
    }
}

#[tokio::test]
async fn a_stop_that_nobody_answered_while_no_replica_ran_is_told() {
    let rig = Rig::new(1).await;
    assert_eq!(rig.send(&Asking::stop(mower(1))).await.status, 202);
    let rig = rig.again().await;
    rig.pass(600_000);
    let mut alarms = Alarms::starting(rig.now());
    alarms.look(&rig.fleet).await.expect("a look");
    assert_eq!(rig.fleet.control.counters.stops_unconfirmed.get(), 1);
}

use jiff::SignedDuration;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{StopEpochs, of};
use crate::commands::testkit::noon;
use crate::records::Records;
use crate::records::testkit::fresh;

const MOWER: Uuid = Uuid::from_u128(1);

async fn open(records: &Records, seconds: i64) -> StopEpochs {
    let now = noon() + SignedDuration::from_secs(seconds);
    StopEpochs::open(records, "fleet", now)
        .await
        .expect("the epochs")
}

/// What another replica reads with the row of the mower.
async fn recorded(records: &Records, mower: Uuid) -> u64 {
    let sql = format!("SELECT {} FROM (SELECT $1 AS id) AS m", super::RECORDED);
    let epoch: i64 = sqlx::query_scalar(AssertSqlSafe(sql))
        .bind(mower.to_string())
        .fetch_one(records.pool())
        .await
        .expect("a read");
    epoch.try_into().expect("an epoch")
}

#[tokio::test]
async fn a_stop_raises_the_epoch_whatever_the_clock_does() {
    let (_folder, records) = fresh().await;
    let epochs = open(&records, 0).await;
    assert_eq!(epochs.current(MOWER), 0);
    let first = epochs.raise(&[MOWER], noon());
    assert_eq!(first, [of(noon())]);
    let same_instant = epochs.raise(&[MOWER], noon());
    assert_eq!(same_instant, [of(noon()) + 1]);
    let clock_set_back = epochs.raise(&[MOWER], noon() - SignedDuration::from_hours(1));
    assert_eq!(clock_set_back, [of(noon()) + 2]);
    assert_eq!(epochs.current(Uuid::from_u128(2)), 0);
}

#[tokio::test]
async fn motion_asked_before_the_stop_or_in_its_instant_is_too_early() {
    let (_folder, records) = fresh().await;
    let epochs = open(&records, 0).await;
    epochs.raise(&[MOWER], noon());
    let asked = |milliseconds| noon() + SignedDuration::from_millis(milliseconds);
    assert!(epochs.stopped_since(MOWER, asked(-1)));
    assert!(epochs.stopped_since(MOWER, asked(0)));
    assert!(!epochs.stopped_since(MOWER, asked(1)));
    assert!(!epochs.stopped_since(Uuid::from_u128(2), asked(-1)));
}

#[tokio::test]
async fn epochs_outlive_a_life_that_ends_in_order() {
    let (_folder, records) = fresh().await;
    let epochs = open(&records, 0).await;
    let raised = epochs.raise(&[MOWER], noon());
    epochs.close(&records).await.expect("an end in order");
    let again = open(&records, 60).await;
    assert_eq!(vec![again.current(MOWER)], raised);
    assert_eq!(again.current(Uuid::from_u128(2)), 0);
}

#[tokio::test]
async fn a_life_that_broke_off_may_have_stopped_everything() {
    let (_folder, records) = fresh().await;
    let epochs = open(&records, 0).await;
    // Never recorded.
    epochs.raise(&[MOWER], noon() + SignedDuration::from_secs(30));
    let lost = epochs.current(MOWER);
    drop(epochs);
    let again = open(&records, 60).await;
    assert!(again.current(MOWER) > lost);
    let before = noon() + SignedDuration::from_secs(59);
    assert!(again.stopped_since(Uuid::from_u128(2), before));
}

/// The device gateways were told of it: a later life that comes below it could
/// move nothing.
#[tokio::test]
async fn the_floor_outlives_lives_that_end_in_order() {
    let (_folder, records) = fresh().await;
    drop(open(&records, 0).await);
    let broken_off = open(&records, 60).await;
    let floor = broken_off.current(MOWER);
    assert_eq!(floor, of(noon() + SignedDuration::from_secs(60)));
    broken_off.close(&records).await.expect("an end in order");
    let again = open(&records, 120).await;
    assert_eq!(again.current(MOWER), floor);
    // Another replica reads it with the row of the mower.
    assert_eq!(recorded(&records, MOWER).await, floor);
}

#[tokio::test]
async fn after_a_clock_set_back_the_floor_is_above_the_record() {
    let (_folder, records) = fresh().await;
    let epochs = open(&records, 3_600).await;
    epochs.raise(&[MOWER], noon() + SignedDuration::from_hours(1));
    epochs.record(&records).await.expect("a write");
    let recorded = epochs.current(MOWER);
    let again = open(&records, 0).await;
    assert!(again.current(MOWER) > recorded);
}

#[tokio::test]
async fn a_record_never_sinks() {
    let (_folder, records) = fresh().await;
    let epochs = open(&records, 0).await;
    epochs.raise(&[MOWER], noon());
    epochs.record(&records).await.expect("a write");
    super::kept::raise(&records, &[(MOWER, 5)])
        .await
        .expect("a write");
    assert_eq!(recorded(&records, MOWER).await, of(noon()));
}

#[tokio::test]
async fn another_replica_is_believed_when_it_knows_more() {
    let (_folder, records) = fresh().await;
    let epochs = open(&records, 0).await;
    epochs.learn(MOWER, 7);
    epochs.learn(MOWER, 5);
    assert_eq!(epochs.current(MOWER), 7);
}

#[tokio::test]
async fn ten_thousand_at_once() {
    let (_folder, records) = fresh().await;
    let epochs = open(&records, 0).await;
    let mowers: Vec<Uuid> = (0..10_000_u128).map(Uuid::from_u128).collect();
    assert_eq!(epochs.raise(&mowers, noon()).len(), 10_000);
    epochs.close(&records).await.expect("an end in order");
    let again = open(&records, 1).await;
    assert_eq!(again.current(mowers[9_999]), of(noon()));
}

//! What must hold on SQLite and on Postgres alike.

use std::time::Duration;

use jiff::SignedDuration;
use uuid::Uuid;

use super::bulk::kept::{self, Head, Target};
use super::epochs::StopEpochs;
use super::record::{AreaClear, Late, Outcome, Record};
use super::retention::{Retention, purge};
use super::status::{Moved, advance, close};
use super::store::{self, Filter, Mowers};
use super::testkit::{noon, record};
use crate::contract::{Command, CommandKind, CommandResult, Status};
use crate::records::Records;
use crate::records::testkit::{Store, on_both};

const MOWER: Uuid = Uuid::from_u128(1);

async fn write(records: &Records, new: &[Record]) -> u64 {
    let mut change = records.begin().await.expect("a transaction");
    let written = store::insert(&mut change, new).await.expect("an insert");
    change.commit().await.expect("a commit");
    written
}

#[tokio::test]
async fn records_are_read_as_they_were_written() {
    on_both(async |kept: Store| {
        let bare = record(MOWER, Command::PauseMow {});
        let mut full = record(MOWER, Command::SetSpeed { speed_mps: 0.57 });
        full.bulk_id = Some(Uuid::from_u128(5));
        full.plan_id = Some(Uuid::from_u128(6));
        full.area_clear = Some(AreaClear::Confirmed);
        full.decided.bundle = Some("ab".to_owned());
        full.outcome = Outcome {
            status: Status::Failed,
            reason: Some("offline".to_owned()),
            result_at: Some(noon()),
            late: Some(Late {
                status: Status::Executed,
                reason: None,
                at: noon(),
            }),
        };
        assert_eq!(write(&kept.records, &[bare.clone(), full.clone()]).await, 2);
        assert_eq!(write(&kept.records, std::slice::from_ref(&bare)).await, 0);
        for record in [bare, full] {
            let found = store::find(&kept.records, record.envelope.command_id).await;
            assert_eq!(found.expect("a read"), Some(record));
        }
        let filter = Filter {
            mower: Some(MOWER),
            status: Some(Status::Failed),
            since: Some(noon()),
            mowers: Mowers::These(vec![MOWER, Uuid::from_u128(2)]),
            ..Filter::default()
        };
        let page = store::list(&kept.records, "acme", &filter, 10).await;
        assert_eq!(page.expect("a page").len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_record_goes_forward_only_also_under_racing_results() {
    on_both(async |kept: Store| {
        let written = record(MOWER, Command::PauseMow {});
        write(&kept.records, std::slice::from_ref(&written)).await;
        let result = |status| CommandResult {
            command_id: written.envelope.command_id,
            mower_id: MOWER,
            account_id: "acme".to_owned(),
            status,
            reason: None,
            at: noon(),
        };
        let racing = [
            Status::Accepted,
            Status::Executed,
            Status::Expired,
            Status::Executed,
            Status::Accepted,
        ]
        .map(|status| {
            let (records, result) = (kept.records.clone(), result(status));
            async move {
                let moved = advance(&records, &[result]).await.expect("a write");
                moved[0]
            }
        });
        let moved = futures_util::future::join_all(racing).await;
        let conflicts = moved.iter().filter(|it| **it == Moved::Conflict).count();
        assert_eq!(conflicts, 1, "{moved:?}");
        let found = store::find(&kept.records, written.envelope.command_id).await;
        let outcome = found.expect("a read").expect("a record").outcome;
        let late = outcome.late.as_ref().map(|late| late.status);
        let ends = [Some(outcome.status), late];
        assert!(ends.contains(&Some(Status::Executed)) && ends.contains(&Some(Status::Expired)));
        let ours = Outcome {
            status: Status::Failed,
            ..Outcome::PENDING
        };
        let closed = close(&kept.records, &[written.envelope.command_id], &ours).await;
        assert_eq!(closed.expect("a write"), 0);
    })
    .await;
}

#[tokio::test]
async fn epochs_and_lives_are_kept() {
    on_both(async |kept: Store| {
        let epochs = StopEpochs::open(&kept.records, "one", noon())
            .await
            .expect("epochs");
        epochs.raise(&[MOWER], noon());
        let other = StopEpochs::open(&kept.records, "two", noon())
            .await
            .expect("epochs");
        assert_eq!(
            other.current(MOWER),
            0,
            "another replica's life says nothing of this one's"
        );
        epochs.close(&kept.records).await.expect("an end in order");
        let again = StopEpochs::open(&kept.records, "one", noon())
            .await
            .expect("epochs");
        let stopped = u64::try_from(noon().as_millisecond()).expect("after 1970");
        assert_eq!(again.current(MOWER), stopped);
        let later = noon() + SignedDuration::from_secs(60);
        let broken = StopEpochs::open(&kept.records, "one", later)
            .await
            .expect("epochs");
        assert!(broken.stopped_since(Uuid::from_u128(9), later));
    })
    .await;
}

#[tokio::test]
async fn what_is_old_is_exported_and_forgotten_by_one_replica() {
    on_both(async |kept: Store| {
        let folder = tempfile::TempDir::new().expect("a folder");
        let retention = Retention {
            commands: Duration::from_secs(90 * 86_400),
            safety: Duration::from_secs(1_095 * 86_400),
            export: Some(folder.path().join("export.jsonl")),
        };
        let head = Head {
            bulk_id: Uuid::from_u128(5),
            account_id: "acme".to_owned(),
            kind: CommandKind::PauseMow,
            target: Target::Group(Uuid::from_u128(6)),
            issued_at: noon(),
            expires_at: noon(),
        };
        let mut change = kept.records.begin().await.expect("a transaction");
        kept::insert(&mut change, &head).await.expect("a bulk");
        change.commit().await.expect("a commit");
        let found = kept::find(&kept.records, head.bulk_id).await;
        assert_eq!(found.expect("a read"), Some(head));
        write(&kept.records, &[record(MOWER, Command::PauseMow {})]).await;
        write(
            &kept.records,
            &[record(MOWER, Command::EmergencyStop { reason: None })],
        )
        .await;
        let later = noon() + SignedDuration::from_hours(24 * 91);
        if kept.is_postgres() {
            let mut other = kept.records.begin().await.expect("a transaction");
            let locked: bool = sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)")
                .bind(super::retention::LOCK)
                .fetch_one(&mut *other)
                .await
                .expect("the lock");
            assert!(locked);
            let none = purge(&kept.records, &retention, later).await;
            assert_eq!(none.expect("a purge"), 0, "another replica is at it");
            other.rollback().await.expect("the lock back");
        }
        let purged = purge(&kept.records, &retention, later).await;
        assert_eq!(purged.expect("a purge"), 2, "the stop stays");
        let lines = std::fs::read_to_string(folder.path().join("export.jsonl"));
        assert_eq!(lines.expect("the export").lines().count(), 2);
    })
    .await;
}

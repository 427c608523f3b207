use std::time::Duration;

use jiff::SignedDuration;
use serde_json::Value;
use uuid::Uuid;

use super::{Retention, RetentionError, purge};
use crate::commands::record::Record;
use crate::commands::{store, testkit};
use crate::contract::Command;
use crate::records::Records;
use crate::records::testkit::fresh;

const DAY: u64 = 86_400;

fn retention() -> Retention {
    Retention {
        commands: Duration::from_secs(90 * DAY),
        safety: Duration::from_secs(3 * 365 * DAY),
        export: None,
    }
}

/// A command that was issued so many days before noon.
async fn issued(records: &Records, days: i64, command: Command) -> Record {
    let mut record = testkit::record(Uuid::from_u128(1), command);
    record.envelope.issued_at = testkit::noon() - SignedDuration::from_hours(24 * days);
    let mut change = records.begin().await.expect("a transaction");
    store::insert(&mut change, std::slice::from_ref(&record))
        .await
        .expect("an insert");
    change.commit().await.expect("a commit");
    record
}

async fn is_there(records: &Records, record: &Record) -> bool {
    let found = store::find(records, record.envelope.command_id).await;
    found.expect("a read").is_some()
}

#[tokio::test]
async fn commands_go_after_ninety_days_and_stops_after_three_years() {
    let (_folder, records) = fresh().await;
    let stop = || Command::EmergencyStop { reason: None };
    let old = issued(&records, 91, Command::PauseMow {}).await;
    let young = issued(&records, 89, Command::PauseMow {}).await;
    let stopped = issued(&records, 1_000, stop()).await;
    let ancient = issued(&records, 1_096, stop()).await;
    let purged = purge(&records, &retention(), testkit::noon()).await;
    assert_eq!(purged.expect("a purge"), 2);
    assert!(!is_there(&records, &old).await);
    assert!(is_there(&records, &young).await);
    assert!(is_there(&records, &stopped).await);
    assert!(!is_there(&records, &ancient).await);
    let again = purge(&records, &retention(), testkit::noon()).await;
    assert_eq!(again.expect("a purge"), 0);
}

#[tokio::test]
async fn what_is_forgotten_is_exported_first() {
    let (folder, records) = fresh().await;
    let export = folder.path().join("export.jsonl");
    let retention = Retention {
        export: Some(export.clone()),
        ..retention()
    };
    let old = issued(&records, 91, Command::SetSpeed { speed_mps: 0.5 }).await;
    purge(&records, &retention, testkit::noon())
        .await
        .expect("a purge");
    let lines = std::fs::read_to_string(&export).expect("the export");
    let line: Value = serde_json::from_str(lines.trim()).expect("one line of JSON");
    assert_eq!(line["table"], "commands");
    assert_eq!(line["row"]["id"], old.envelope.command_id.to_string());
    assert_eq!(
        line["row"]["issued_ms"],
        old.envelope.issued_at.as_millisecond()
    );
    assert_eq!(
        line["row"]["command"],
        r#"{"kind":"set_speed","speed_mps":0.5}"#
    );
    assert_eq!(line["row"]["reason"], Value::Null);
}

#[tokio::test]
async fn without_the_export_nothing_is_forgotten() {
    let (_folder, records) = fresh().await;
    let retention = Retention {
        export: Some("/nonexistent/export".into()),
        ..retention()
    };
    let old = issued(&records, 91, Command::PauseMow {}).await;
    let refused = purge(&records, &retention, testkit::noon()).await;
    assert!(
        matches!(refused, Err(RetentionError::Export(..))),
        "{refused:?}"
    );
    assert!(is_there(&records, &old).await);
}

#[tokio::test]
async fn what_cannot_be_read_is_kept() {
    let (folder, records) = fresh().await;
    let export = folder.path().join("export.jsonl");
    let retention = Retention {
        export: Some(export.clone()),
        ..retention()
    };
    let odd = issued(&records, 91, Command::PauseMow {}).await;
    let old = issued(&records, 91, Command::PauseMow {}).await;
    let id = odd.envelope.command_id.to_string();
    sqlx::query("UPDATE commands SET reason = x'00ff' WHERE id = $1")
        .bind(id.as_str())
        .execute(records.pool())
        .await
        .expect("an update");
    let purged = purge(&records, &retention, testkit::noon()).await;
    assert_eq!(purged.expect("a purge"), 1);
    let left: Vec<String> = sqlx::query_scalar("SELECT id FROM commands")
        .fetch_all(records.pool())
        .await
        .expect("a read");
    assert_eq!(left, [id.as_str()]);
    let lines = std::fs::read_to_string(&export).expect("the export");
    assert!(lines.contains(&old.envelope.command_id.to_string()));
    assert!(!lines.contains(&id), "{lines}");
}

#[tokio::test]
async fn many_go_in_batches() {
    let (_folder, records) = fresh().await;
    let mut all = Vec::new();
    for n in 0..2_500_u128 {
        let mut record = testkit::record(Uuid::from_u128(n), Command::PauseMow {});
        record.envelope.issued_at = testkit::noon() - SignedDuration::from_hours(24 * 100);
        all.push(record);
    }
    let mut change = records.begin().await.expect("a transaction");
    store::insert(&mut change, &all).await.expect("an insert");
    change.commit().await.expect("a commit");
    let purged = purge(&records, &retention(), testkit::noon()).await;
    assert_eq!(purged.expect("a purge"), 2_500);
}

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;

use super::{REASON, reason};
use crate::commands::testkit;
use crate::contract::{Command, Status};

#[test]
fn silence_after_the_life_is_overdue_and_nothing_else() {
    let mut record = testkit::record(Uuid::from_u128(1), Command::PauseMow {});
    let end = record.envelope.expires_at;
    let after = |seconds| end + SignedDuration::from_secs(seconds);
    assert!(!record.overdue(after(5)));
    assert!(record.overdue(after(5) + SignedDuration::from_millis(1)));
    record.outcome.status = Status::Accepted;
    assert!(record.overdue(after(6)));
    record.outcome.status = Status::Executed;
    assert!(!record.overdue(after(600)));
}

#[test]
fn the_account_is_not_shown() {
    let record = testkit::record(Uuid::from_u128(1), Command::PauseMow {});
    let now = record.envelope.issued_at;
    let shown = serde_json::to_value(record.view(now)).expect("JSON");
    assert_eq!(
        shown,
        json!({
            "command_id": record.envelope.command_id,
            "mower_id": Uuid::from_u128(1),
            "kind": "pause_mow",
            "command": { "kind": "pause_mow" },
            "priority": "normal",
            "issued_by": { "kind": "user", "id": "https://idp anna", "display": "anna" },
            "on_behalf_of": null,
            "issued_at": "2026-05-01T10:00:00.000Z",
            "expires_at": "2026-05-01T10:00:30.000Z",
            "correlation_id": record.envelope.correlation_id,
            "bulk_id": null,
            "plan_id": null,
            "area_clear": null,
            "status": "pending",
            "reason": null,
            "result_at": null,
            "overdue": false,
            "late_status": null,
            "late_at": null,
        })
    );
}

#[test]
fn queued_is_not_done() {
    let record = testkit::record(Uuid::from_u128(1), Command::PauseMow {});
    let answer = serde_json::to_value(record.accepted(true)).expect("JSON");
    assert_eq!(answer["meaning"], "queued");
    assert_eq!(answer["status"], "pending");
    assert_eq!(answer["recorded"], true);
    let at: Timestamp = answer["issued_at"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .expect("a time");
    assert_eq!(at, record.envelope.issued_at);
}

#[test]
fn a_reason_fits_its_column() {
    assert_eq!(reason("code\0 7: \u{1b}[1mhot"), "code 7: [1mhot");
    assert_eq!(reason(&"x".repeat(10_000)).chars().count(), REASON);
}

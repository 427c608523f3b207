use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use interlock_guard::ops::router;
use serde_json::json;
use tower::ServiceExt;

use super::Told;
use crate::commands::results::{Answered, judge};
use crate::commands::testkit::{Asking, Cut, Rig, mower};
use crate::contract::{CommandResult, Status};

/// What the operations listener of this service says now.
async fn scrape(rig: &Rig) -> String {
    let told = Told {
        fleet: Some(Arc::clone(&rig.fleet)),
        device: None,
    };
    let request = Request::get("/metrics").body(Body::empty()).unwrap();
    let answer = router(Arc::new(told)).oneshot(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    let bytes = answer.into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The value of a sample, with its labels.
#[track_caller]
fn check(text: &str, sample: &str, value: u64) {
    let line = format!("{sample} {value}");
    assert!(text.lines().any(|it| it == line), "no `{line}` in:\n{text}");
}

#[tokio::test]
async fn a_command_and_what_became_of_it_are_counted() {
    let rig = Rig::new(1).await;
    let queued = r#"interlock_mowers_commands_total{kind="pause_mow",outcome="queued"}"#;
    let before = scrape(&rig).await;
    check(&before, queued, 0);
    check(&before, "interlock_mowers_registered", 1);
    let asking = Asking::command(mower(1), json!({ "kind": "pause_mow" }));
    assert_eq!(rig.send(&asking).await.status, 202);
    let result = CommandResult {
        command_id: asking.operation,
        mower_id: mower(1),
        account_id: "acme".to_owned(),
        status: Status::Executed,
        reason: None,
        at: rig.now(),
    };
    let late = CommandResult {
        status: Status::Failed,
        ..result.clone()
    };
    for result in [&result, &late] {
        let payload = serde_json::to_vec(result).unwrap();
        let answered = judge(&rig.fleet, &[(payload.into(), 1)]).await;
        assert_eq!(answered, [Answered::Ack]);
    }
    let after = scrape(&rig).await;
    check(&after, queued, 1);
    let results = |status| format!(r#"interlock_mowers_results_total{{status="{status}"}}"#);
    check(&after, &results("executed"), 1);
    check(&after, &results("failed"), 0);
    let conflicting = r#"interlock_mowers_results_ignored_total{why="conflicting"}"#;
    check(&after, conflicting, 1);
}

#[tokio::test]
async fn a_stop_that_reached_nobody_is_counted() {
    let rig = Rig::new(1).await;
    rig.bus.cut(Cut::All);
    let reply = rig.send(&Asking::stop(mower(1))).await;
    assert_eq!(reply.status, 503, "{}", reply.text);
    let text = scrape(&rig).await;
    check(&text, "interlock_mowers_stops_failed_total", 1);
    let refused = r#"interlock_mowers_commands_total{kind="emergency_stop",outcome="refused"}"#;
    check(&text, refused, 1);
    check(&text, "interlock_mowers_stops_spooled_total", 0);
}

#[tokio::test]
async fn silence_after_a_life_shows_as_overdue() {
    let rig = Rig::new(1).await;
    let asking = Asking::command(mower(1), json!({ "kind": "pause_mow" }));
    assert_eq!(rig.send(&asking).await.status, 202);
    check(&scrape(&rig).await, "interlock_mowers_commands_overdue", 0);
    // Its life is 30 s.
    rig.pass(35_001);
    check(&scrape(&rig).await, "interlock_mowers_commands_overdue", 1);
}

#[tokio::test]
async fn without_the_records_the_rest_is_told() {
    let rig = Rig::new(1).await;
    rig.fleet.records.pool().close().await;
    assert_eq!(rig.send(&Asking::stop(mower(1))).await.status, 202);
    let text = scrape(&rig).await;
    check(&text, "interlock_mowers_records_answer", 0);
    check(&text, "interlock_mowers_stops_spooled_total", 1);
    check(&text, "interlock_mowers_stops_waiting", 1);
    assert!(!text.contains("interlock_mowers_outbox"), "{text}");
}

/// docs/MOWERS.md lists every number of the fleet service as it is told, and no other.
#[tokio::test]
async fn the_page_lists_every_number() {
    let text = scrape(&Rig::new(1).await).await;
    assert_eq!(documented("interlock_mowers_"), told(&text));
}

/// The rows of the table that begin so: name, kind, meaning.
pub(crate) fn documented(prefix: &str) -> BTreeSet<String> {
    let page = include_str!("../../../../docs/MOWERS.md");
    let begin = format!("| `{prefix}");
    let rows = page.lines().filter(|line| line.starts_with(&begin));
    rows.map(str::to_owned).collect()
}

/// The same from what is told.
pub(crate) fn told(text: &str) -> BTreeSet<String> {
    let helps = text.lines().filter_map(|line| line.strip_prefix("# HELP "));
    let kinds = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    helps
        .zip(kinds)
        .map(|(help, kind)| {
            let (name, help) = help.split_once(' ').unwrap();
            let (_, kind) = kind.split_once(' ').unwrap();
            format!("| `{name}` | {kind} | {help} |")
        })
        .collect()
}

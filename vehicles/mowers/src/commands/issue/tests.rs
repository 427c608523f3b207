use jiff::SignedDuration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bus::Stream;
use crate::commands::record::AreaClear;
use crate::commands::testkit::{Asking, Cut, Rig, mower, next, say, take_results};
use crate::contract::{Command, IssuerKind, Priority, Status};

fn start() -> Value {
    json!({ "kind": "start_mow", "area_ids": [Uuid::from_u128(1)] })
}

fn pause() -> Value {
    json!({ "kind": "pause_mow" })
}

/// The request is refused, and leaves no row and no message.
async fn refused(rig: &Rig, asking: &Asking, wanted: (u16, &str)) -> Value {
    let (rows, sent) = (rig.count().await, rig.bus.published());
    let reply = rig.send(asking).await;
    let (status, slug, effect) = reply.problem();
    assert_eq!((status, slug.as_str()), wanted, "{}", reply.text);
    assert_eq!(effect, "none");
    assert_eq!((rig.count().await, rig.bus.published()), (rows, sent));
    reply.json()
}

#[tokio::test]
async fn a_command_is_on_record_before_it_is_on_the_bus() {
    let rig = Rig::new(1).await;
    let mut asking = Asking::command(mower(1), start());
    asking.body = json!({ "command": start(), "ttl_seconds": 45, "area_clear_confirmed": true,
        "correlation_id": Uuid::from_u128(5) })
    .to_string();
    let reply = rig.send(&asking).await;
    assert_eq!(reply.status, 202, "{}", reply.text);
    let location = format!("/api/v1/fleet/commands/{}", asking.operation);
    assert_eq!(reply.headers["location"], location.as_str());
    assert_eq!(
        reply.json(),
        json!({
            "command_id": asking.operation, "mower_id": mower(1), "kind": "start_mow",
            "priority": "normal", "status": "pending", "issued_at": "2026-05-01T10:00:00.000Z",
            "expires_at": "2026-05-01T10:00:45.000Z", "correlation_id": Uuid::from_u128(5),
            "bulk_id": null, "recorded": true, "meaning": "queued",
        })
    );
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Pending);
    assert_eq!(record.area_clear, Some(AreaClear::Confirmed));
    assert_eq!(record.decided.decision, Some(Uuid::from_u128(0xdec)));
    assert_eq!(next(&rig.bus, Stream::Command).await, record.envelope);
}

#[tokio::test]
async fn who_issued_it_is_taken_from_the_grant_and_the_row() {
    let rig = Rig::new(1).await;
    let mut asking = Asking::command(mower(1), pause());
    asking.caller = json!({ "kind": "Agent", "issuer": "https://idp", "subject": "anna",
        "actor": "gardener" });
    assert_eq!(rig.send(&asking).await.status, 202);
    let envelope = next(&rig.bus, Stream::Command).await;
    assert_eq!(envelope.account_id, "acme");
    assert_eq!(envelope.priority, Priority::Normal);
    assert_eq!(envelope.issued_by.kind, IssuerKind::Agent);
    assert_eq!(envelope.issued_by.id, "https://idp gardener");
    assert_eq!(
        envelope.issued_by.on_behalf_of.as_deref(),
        Some("https://idp anna")
    );
    let mut forged = Asking::command(mower(1), pause());
    forged.body =
        json!({ "command": pause(), "account_id": "other", "priority": "emergency" }).to_string();
    refused(&rig, &forged, (422, "invalid-request")).await;
}

#[tokio::test]
async fn a_person_says_that_the_area_is_clear() {
    let rig = Rig::new(1).await;
    let mut asking = Asking::command(mower(1), start());
    asking.body = json!({ "command": start() }).to_string();
    refused(&rig, &asking, (422, "invalid-request")).await;
    let mut resume = Asking::command(mower(1), json!({ "kind": "resume_mow" }));
    resume.body =
        json!({ "command": { "kind": "resume_mow" }, "area_clear_confirmed": false }).to_string();
    refused(&rig, &resume, (422, "invalid-request")).await;
    let mut calming = Asking::command(mower(1), pause());
    calming.body = json!({ "command": pause() }).to_string();
    assert_eq!(rig.send(&calming).await.status, 202);
}

#[tokio::test]
async fn a_mower_that_moved_is_judged_again() {
    let rig = Rig::new(1).await;
    rig.place(mower(1), 7).await;
    let asking = Asking::command(mower(1), pause());
    let problem = refused(&rig, &asking, (409, "authz-stale")).await;
    assert_eq!(problem["revision"], 7);
    let mut again = Asking::command(mower(1), pause());
    again.revision = Some(7);
    assert_eq!(rig.send(&again).await.status, 202);
    let record = rig.record(again.operation).await.expect("a record");
    assert_eq!(record.decided.hierarchy_rev, 7);
}

#[tokio::test]
async fn a_mower_that_is_not_there_is_404() {
    let rig = Rig::new(1).await;
    let asking = Asking::command(mower(9), pause());
    refused(&rig, &asking, (404, "not-found")).await;
}

#[tokio::test]
async fn motion_asked_before_the_last_stop_is_refused_and_calm_is_not() {
    let rig = Rig::new(1).await;
    let asked_at = rig.now();
    rig.pass(1_000);
    assert_eq!(rig.send(&Asking::stop(mower(1))).await.status, 202);
    rig.pass(1_000);
    for kind in ["return_to_dock", "leave_dock", "restart_mower"] {
        let mut early = Asking::command(mower(1), json!({ "kind": kind }));
        early.asked_at = Some(asked_at);
        refused(&rig, &early, (409, "stopped-since")).await;
    }
    let mut early = Asking::command(mower(1), start());
    early.asked_at = Some(asked_at);
    refused(&rig, &early, (409, "stopped-since")).await;
    let path = format!("/api/v1/fleet/mowers/{}/emergency-reset", mower(1));
    let mut reset = Asking::new(
        "mowers.mower.reset",
        path,
        &json!({ "on_site_confirmed": true }),
    );
    reset.asked_at = Some(asked_at);
    refused(&rig, &reset, (409, "stopped-since")).await;
    let mut calm = Asking::command(mower(1), pause());
    calm.asked_at = Some(asked_at);
    assert_eq!(rig.send(&calm).await.status, 202);
    reset.asked_at = None;
    assert_eq!(rig.send(&reset).await.status, 202);
    assert_eq!(
        rig.send(&Asking::command(mower(1), start())).await.status,
        202
    );
}

#[tokio::test]
async fn a_reset_needs_somebody_on_site() {
    let rig = Rig::new(1).await;
    let path = format!("/api/v1/fleet/mowers/{}/emergency-reset", mower(1));
    let reset = |body: Value| Asking::new("mowers.mower.reset", path.clone(), &body);
    refused(
        &rig,
        &reset(json!({ "on_site_confirmed": false })),
        (422, "invalid-request"),
    )
    .await;
    refused(&rig, &reset(json!({})), (422, "invalid-request")).await;
    let asking = reset(json!({ "on_site_confirmed": true }));
    assert_eq!(rig.send(&asking).await.status, 202);
    let envelope = next(&rig.bus, Stream::Command).await;
    let reset = Command::ResetEmergency {
        on_site_confirmed: true,
    };
    assert_eq!(envelope.command, reset);
    assert_eq!(
        envelope.expires_at,
        rig.now() + SignedDuration::from_secs(10)
    );
}

fn fence(stop_epoch: u64, hierarchy_rev: u64) -> Value {
    json!({ "path_hash": "ab".repeat(32), "hierarchy_rev": hierarchy_rev, "stop_epoch": stop_epoch })
}

#[tokio::test]
async fn a_dispatch_starts_the_approved_path_only() {
    let rig = Rig::new(1).await;
    let mut asking = Asking::command(mower(1), start());
    asking.body = json!({ "command": start() }).to_string();
    asking.fence = Some(fence(0, 1));
    assert_eq!(rig.send(&asking).await.status, 202);
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.area_clear, Some(AreaClear::Approval));
    assert_eq!(record.plan_id, Some(Uuid::from_u128(0x91a)));
    let Command::StartMow(started) = next(&rig.bus, Stream::Command).await.command else {
        panic!("a start");
    };
    assert_eq!(started.expected_path_hash, Some("ab".repeat(32)));
    let mut other = Asking::command(mower(1), start());
    other.body = json!({ "command": { "kind": "start_mow", "area_ids": [Uuid::from_u128(1)],
        "expected_path_hash": "cd".repeat(32) } })
    .to_string();
    other.fence = Some(fence(0, 1));
    refused(&rig, &other, (409, "plan-changed")).await;
}

#[tokio::test]
async fn a_dispatch_compares_the_fence() {
    let rig = Rig::new(1).await;
    let dispatch = |fence: Value, revision: u64| {
        let mut asking = Asking::command(mower(1), start());
        asking.fence = Some(fence);
        asking.revision = Some(revision);
        asking
    };
    assert_eq!(rig.send(&Asking::stop(mower(1))).await.status, 202);
    let epoch = rig.fleet.control.epochs.current(mower(1));
    rig.pass(1_000);
    refused(
        &rig,
        &dispatch(fence(epoch - 1, 1), 1),
        (409, "stopped-since"),
    )
    .await;
    rig.place(mower(1), 2).await;
    refused(&rig, &dispatch(fence(epoch, 1), 1), (409, "authz-stale")).await;
    let changed = refused(&rig, &dispatch(fence(epoch, 1), 2), (409, "plan-changed")).await;
    let detail = changed["detail"].as_str().expect("a detail");
    assert!(
        detail.contains("renamed"),
        "a new name is a change too: {detail}"
    );
    refused(
        &rig,
        &dispatch(json!({ "stop_epoch": 1 }), 2),
        (422, "invalid-request"),
    )
    .await;
    assert_eq!(rig.send(&dispatch(fence(epoch, 2), 2)).await.status, 202);
    let sent = next(&rig.bus, Stream::Command).await;
    assert_eq!(sent.stop_epoch, epoch);
    // Another replica has heard of a later stop: the mower's own gateway judges by it.
    assert_eq!(
        rig.send(&dispatch(fence(epoch + 5, 2), 2)).await.status,
        202
    );
    let sent = next(&rig.bus, Stream::Command).await;
    assert_eq!(sent.stop_epoch, epoch + 5);
}

#[tokio::test]
async fn a_bus_that_refuses_ends_the_command() {
    let rig = Rig::new(1).await;
    rig.bus.cut(Cut::Streams);
    let asking = Asking::command(mower(1), start());
    let reply = rig.send(&asking).await;
    let none = (503, "bus-unavailable".to_owned(), "none".to_owned());
    assert_eq!(reply.problem(), none);
    assert_eq!(rig.bus.published(), 1, "a start is never retried");
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Failed);
    let reason = record.outcome.reason.unwrap_or_default();
    assert!(reason.starts_with("bus-unavailable"), "{reason}");
    let settled = rig.send(&Asking::settle(asking.operation)).await.json();
    assert_eq!(
        (&settled["state"], &settled["effect"]),
        (&json!("done"), &json!("none"))
    );
}

#[tokio::test]
async fn a_publish_that_nobody_confirms_may_have_happened() {
    let rig = Rig::new(1).await;
    rig.bus.cut(Cut::Unconfirmed);
    let asking = Asking::command(mower(1), start());
    let reply = rig.send(&asking).await;
    let maybe = (503, "publish-unconfirmed".to_owned(), "maybe".to_owned());
    assert_eq!(reply.problem(), maybe);
    assert_eq!(rig.bus.published(), 1, "a start is never retried");
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Failed);
    let settled = rig.send(&Asking::settle(asking.operation)).await.json();
    assert_eq!(settled["state"], "running", "its life is not over");
    // It was stored after all, and the mower acted.
    rig.bus.cut(Cut::None);
    let sent = next(&rig.bus, Stream::Command).await;
    say(&rig.bus, &sent, Status::Accepted).await;
    say(&rig.bus, &sent, Status::Executed).await;
    take_results(&rig, 2).await;
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Failed);
    let late = record.outcome.late.expect("a late status");
    assert_eq!(late.status, Status::Executed);
    let settled = rig.send(&Asking::settle(asking.operation)).await.json();
    assert_eq!(
        (&settled["state"], &settled["effect"]),
        (&json!("done"), &json!("done"))
    );
    assert_eq!(settled["answer"]["status"], 202);
}

#[tokio::test]
async fn records_that_are_down_send_nothing() {
    let rig = Rig::new(1).await;
    rig.fleet.records.pool().close().await;
    let reply = rig.send(&Asking::command(mower(1), start())).await;
    let none = (503, "records-unavailable".to_owned(), "none".to_owned());
    assert_eq!(reply.problem(), none);
    assert_eq!(rig.bus.published(), 0);
}

#[tokio::test]
async fn an_operation_is_one_command() {
    let rig = Rig::new(1).await;
    let asking = Asking::command(mower(1), start());
    let first = rig.send(&asking).await;
    rig.pass(1_000);
    let second = rig.send(&asking).await;
    assert_eq!((first.status, &first.text), (second.status, &second.text));
    assert_eq!((rig.count().await, rig.bus.published()), (1, 1));
    let mut other = Asking::command(mower(1), pause());
    other.operation = asking.operation;
    refused(&rig, &other, (409, "operation-reused")).await;
    let tombstoned = Asking::command(mower(1), start());
    rig.send(&Asking::settle(tombstoned.operation)).await;
    refused(&rig, &tombstoned, (409, "operation-tombstoned")).await;
}

#[tokio::test]
async fn a_request_that_comes_too_late_sends_nothing() {
    let rig = Rig::new(1).await;
    let mut asking = Asking::command(mower(1), start());
    rig.pass(20_000);
    asking.asked_at = Some(rig.now() - SignedDuration::from_secs(11));
    refused(&rig, &asking, (503, "too-late")).await;
}

#[tokio::test]
async fn ten_racing_repeats_are_one_command() {
    let rig = Rig::new(1).await;
    let asking = Asking::command(mower(1), start());
    let racing = (0..10).map(|_| rig.send(&asking));
    let replies = futures_util::future::join_all(racing).await;
    assert!(replies.iter().any(|reply| reply.status == 202));
    for reply in replies {
        assert!(reply.status == 202 || reply.problem().1 == "operation-in-progress");
    }
    assert_eq!((rig.count().await, rig.bus.published()), (1, 1));
}

use serde_json::{Value, json};
use uuid::Uuid;

use super::answer::Item;
use crate::bus::Stream;
use crate::commands::testkit::{Asking, Cut, GROUP, Holder, Rig, mower, next, record, state};
use crate::commands::unsent;
use crate::contract::{Activity, Command, Status};

fn start() -> Value {
    json!({ "kind": "start_mow", "area_ids": [Uuid::from_u128(1)] })
}

/// Anna: operator on m1 and m2, viewer on m3, bulk on North, nothing else.
async fn north() -> Rig {
    let rig = Rig::new(5).await;
    for number in [1, 2] {
        rig.allow("start_mow", mower(number));
        rig.allow("observe", mower(number));
    }
    rig.allow("observe", mower(3));
    rig
}

fn command_of(bulk: Uuid, number: u128) -> Uuid {
    Uuid::new_v5(&bulk, mower(number).as_bytes())
}

fn item(number: u128, result: &str, command: Option<Uuid>, reason: Value) -> Value {
    json!({ "mower_id": mower(number), "result": result, "command_id": command, "reason": reason })
}

#[tokio::test]
async fn annas_start_of_north() {
    let rig = north().await;
    let asking = Asking::group(start());
    let bulk = asking.operation;
    let reply = rig.send(&asking).await;
    assert_eq!(reply.status, 202, "{}", reply.text);
    assert_eq!(
        reply.json(),
        json!({
            "bulk_id": bulk, "kind": "start_mow", "target": { "type": "group", "id": GROUP },
            "issued_at": "2026-05-01T10:00:00.000Z", "expires_at": "2026-05-01T10:00:30.000Z",
            "accepted": 2, "forbidden": 1, "failed": 0, "skipped": 0,
            "recorded": true, "meaning": "queued",
            "items": [
                item(1, "accepted", Some(command_of(bulk, 1)), Value::Null),
                item(2, "accepted", Some(command_of(bulk, 2)), Value::Null),
                item(3, "forbidden", None, json!("forbidden")),
            ],
        })
    );
    // Nothing reveals that North has five mowers.
    for hidden in [4, 5] {
        assert!(!reply.text.contains(&mower(hidden).to_string()));
    }
    // Two records, both of this bulk; nothing about m3 is written.
    assert_eq!(rig.count().await, 2);
    for number in [1, 2] {
        let record = rig
            .record(command_of(bulk, number))
            .await
            .expect("a record");
        assert_eq!(record.bulk_id, Some(bulk));
    }
    let operation: String = sqlx::query_scalar("SELECT body FROM operations WHERE id = $1")
        .bind(bulk.to_string())
        .fetch_one(rig.fleet.records.pool())
        .await
        .expect("the operation");
    assert!(!operation.contains(&mower(3).to_string()), "{operation}");
    assert_eq!(rig.bus.published(), 2);
}

#[tokio::test]
async fn the_bus_takes_one_and_refuses_the_other() {
    let rig = north().await;
    let subject = format!("command.mower.{}", mower(2));
    rig.bus.refused.lock().expect("the refused").push(subject);
    let asking = Asking::group(start());
    let reply = rig.send(&asking).await;
    assert_eq!(reply.status, 202);
    let answer = reply.json();
    assert_eq!(
        (&answer["accepted"], &answer["forbidden"], &answer["failed"]),
        (&json!(1), &json!(1), &json!(1))
    );
    let second = command_of(asking.operation, 2);
    assert_eq!(answer["items"][1]["command_id"], json!(second));
    assert_eq!(answer["items"][1]["result"], "failed");
    let record = rig.record(second).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Failed);
}

#[tokio::test]
async fn annas_stop_of_north_reaches_what_she_sees() {
    let rig = north().await;
    let asking = Asking::group(json!({ "kind": "emergency_stop" }));
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["accepted"], 3);
    let stopped: Vec<&Value> = answer["items"]
        .as_array()
        .expect("items")
        .iter()
        .map(|item| &item["mower_id"])
        .collect();
    assert_eq!(
        stopped,
        [&json!(mower(1)), &json!(mower(2)), &json!(mower(3))]
    );
}

#[tokio::test]
async fn a_viewers_stop_of_north_reaches_all_five() {
    let rig = Rig::new(5).await;
    rig.allow("observe", GROUP);
    let asking = Asking::group(json!({ "kind": "emergency_stop" }));
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["accepted"], 5);
    assert_eq!(answer["expires_at"], "2026-05-01T10:00:10.000Z");
    assert_eq!(rig.bus.stops(), 5);
}

#[tokio::test]
async fn only_when_all_publishes_fail_is_the_answer_503() {
    let rig = north().await;
    rig.bus.cut(Cut::Streams);
    let asking = Asking::group(start());
    let none = (503, "bus-unavailable".to_owned(), "none".to_owned());
    assert_eq!(rig.send(&asking).await.problem(), none);
    rig.bus.cut(Cut::Unconfirmed);
    let maybe = (503, "publish-unconfirmed".to_owned(), "maybe".to_owned());
    assert_eq!(rig.send(&Asking::group(start())).await.problem(), maybe);
}

#[tokio::test]
async fn nobody_visible_is_an_empty_answer() {
    let rig = Rig::new(3).await;
    let reply = rig.send(&Asking::group(start())).await;
    assert_eq!(reply.status, 202);
    assert_eq!(reply.json()["items"], json!([]));
    assert_eq!(rig.count().await, 0);
}

#[tokio::test]
async fn five_hundred_are_many_enough() {
    let rig = Rig::new(501).await;
    for number in 1..=500 {
        rig.allow("pause_mow", mower(number));
    }
    let pause = || Asking::group(json!({ "kind": "pause_mow" }));
    let answer = rig.send(&pause()).await.json();
    assert_eq!(answer["accepted"], 500);
    rig.allow("observe", mower(501));
    let none = (422, "bulk-too-large".to_owned(), "none".to_owned());
    assert_eq!(rig.send(&pause()).await.problem(), none);
    assert_eq!(rig.count().await, 500);
}

#[tokio::test]
async fn an_unreachable_gateway_commands_nothing() {
    let rig = north().await;
    let mut asking = Asking::group(start());
    asking.row = "mowers.group.start_mow";
    rig.rights
        .silent
        .store(true, std::sync::atomic::Ordering::SeqCst);
    let none = (503, "authz-unavailable".to_owned(), "none".to_owned());
    let read = format!("/api/v1/fleet/bulk/{}?account=acme", asking.operation);
    let read = Asking::new("mowers.bulk.get", read, &Value::Null);
    for asking in [&asking, &read] {
        let reply = rig.send(asking).await;
        assert_eq!(reply.problem(), none);
        // Not where it was looked for.
        assert!(!reply.text.contains("127.0.0.1"), "{}", reply.text);
    }
    assert_eq!((rig.count().await, rig.bus.published()), (0, 0));
}

#[tokio::test]
async fn a_member_that_moved_or_was_stopped_is_left_out() {
    let rig = north().await;
    *rig.rights.revision.lock().expect("a revision") = Some(1);
    rig.place(mower(1), 2).await;
    let asked_at = rig.now();
    rig.pass(1_000);
    assert_eq!(rig.send(&Asking::stop(mower(2))).await.status, 202);
    let mut asking = Asking::group(start());
    asking.asked_at = Some(asked_at);
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["items"][0]["reason"], "authz-stale");
    assert_eq!(answer["items"][1]["reason"], "stopped-since");
    assert_eq!(rig.bus.published(), 0);
}

#[tokio::test]
async fn what_needs_no_command_gets_none() {
    let rig = north().await;
    let now = rig.now();
    let mowing = state(mower(1), Activity::Mowing, 1, now);
    let mut offline = state(mower(2), Activity::Docked, 1, now);
    offline.link.online = false;
    rig.fleet.telemetry.hear(mowing, now);
    rig.fleet.telemetry.hear(offline, now);
    let answer = rig.send(&Asking::group(start())).await.json();
    assert_eq!(answer["skipped"], 2);
    assert_eq!(answer["items"][0]["reason"], "already-in-that-state");
    assert_eq!(answer["items"][1]["reason"], "offline");
    assert_eq!((rig.count().await, rig.bus.published()), (0, 0));
}

#[tokio::test]
async fn starts_of_one_vendor_account_take_turns() {
    let rig = Rig::new(12).await;
    for number in 1..=12 {
        rig.allow("start_mow", mower(number));
    }
    let asking = Asking::group(start());
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["accepted"], 12);
    assert_eq!(
        answer["expires_at"], "2026-05-01T10:00:32.000Z",
        "the last one's turn and life"
    );
    assert_eq!(rig.bus.published(), 5);
    assert_eq!(rig.fleet.control.paced.len(), 7);
    rig.pass(1_000);
    crate::commands::paced::send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), 10);
    rig.pass(1_000);
    crate::commands::paced::send_due(&rig.fleet).await;
    assert_eq!(rig.bus.published(), 12);
}

#[tokio::test]
async fn an_operation_is_one_bulk() {
    let rig = north().await;
    let asking = Asking::group(start());
    let first = rig.send(&asking).await.json();
    let second = rig.send(&asking).await.json();
    assert_eq!(first["items"][0], second["items"][0]);
    assert_eq!((rig.count().await, rig.bus.published()), (2, 2));
    let settled = rig.send(&Asking::settle(asking.operation)).await.json();
    assert_eq!(settled["state"], "done");
    assert_eq!(settled["answer"]["body"]["accepted"], 2);
    let _ = next(&rig.bus, Stream::Command).await;
}

#[tokio::test]
async fn a_bulk_is_read_as_far_as_it_is_seen() {
    let rig = north().await;
    let asking = Asking::group(start());
    rig.send(&asking).await;
    let path = format!("/api/v1/fleet/bulk/{}?account=acme", asking.operation);
    let read = Asking::new("mowers.bulk.get", path, &Value::Null);
    let answer = rig.send(&read).await.json();
    assert_eq!(answer["accepted"], 2);
    assert_eq!(answer["items"][0]["status"], "pending");
    rig.rights.allowed.lock().expect("the rights").clear();
    assert_eq!(rig.send(&read).await.status, 404);
    rig.allow("observe", mower(2));
    let answer = rig.send(&read).await.json();
    assert_eq!(answer["items"].as_array().map(Vec::len), Some(1));
}

/// Every mower has two areas: one of its own, numbered like it, and area 77.
async fn maps(rig: &Rig) -> Vec<Holder> {
    let mut holders = Vec::new();
    for number in [1_u128, 2, 3] {
        let subject = format!("gateway.mower.{}.map", mower(number));
        let areas = json!([{ "id": Uuid::from_u128(number) }, { "id": Uuid::from_u128(77) }]);
        let answer = move |_: &Value| Some(json!({ "found": { "areas": areas.clone() } }));
        holders.push(Holder::answer(&rig.bus, &subject, answer).await);
    }
    holders
}

async fn started(rig: &Rig, id: Uuid) -> Vec<Uuid> {
    let record = rig.record(id).await.expect("a record");
    match record.envelope.command {
        Command::StartMow(start) => start.area_ids,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn each_mower_of_a_start_mows_its_own_areas() {
    let rig = north().await;
    let _holders = maps(&rig).await;
    let asking = Asking::group(json!({ "kind": "start_mow" }));
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["accepted"], 2, "{answer}");
    for number in [1, 2] {
        let areas = started(&rig, command_of(asking.operation, number)).await;
        assert_eq!(areas, [number, 77].map(Uuid::from_u128));
    }
    let sent = next(&rig.bus, Stream::Command).await;
    assert!(matches!(sent.command, Command::StartMow(start) if start.area_ids.len() == 2));
}

#[tokio::test]
async fn areas_that_are_named_go_to_the_mowers_that_have_them() {
    let rig = north().await;
    let _holders = maps(&rig).await;
    let areas = [2, 9].map(Uuid::from_u128);
    let asking = Asking::group(json!({ "kind": "start_mow", "area_ids": areas }));
    let answer = rig.send(&asking).await.json();
    assert_eq!(
        (&answer["accepted"], &answer["failed"]),
        (&json!(1), &json!(1))
    );
    let first = command_of(asking.operation, 1);
    assert_eq!(answer["items"][0]["command_id"], json!(first));
    let record = rig.record(first).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Rejected);
    let reason = record.outcome.reason.unwrap_or_default();
    assert!(reason.starts_with("unknown-area"), "{reason}");
    let second = command_of(asking.operation, 2);
    assert_eq!(started(&rig, second).await, [Uuid::from_u128(2)]);
    assert_eq!(rig.bus.published(), 1);
    // What is read later says the same.
    let path = format!("/api/v1/fleet/bulk/{}?account=acme", asking.operation);
    let read = Asking::new("mowers.bulk.get", path, &Value::Null);
    let read = rig.send(&read).await.json();
    assert_eq!(read["items"][0]["result"], "failed");
    assert_eq!(read["failed"], 1);
}

#[tokio::test]
async fn all_areas_of_a_mower_that_nobody_holds_are_unknown() {
    let rig = north().await;
    let answer = rig
        .send(&Asking::group(json!({ "kind": "start_mow" })))
        .await;
    let answer = answer.json();
    assert_eq!(answer["items"][0]["reason"], "not-held");
    assert_eq!((rig.count().await, rig.bus.published()), (0, 0));
}

#[tokio::test]
async fn a_start_of_many_names_no_path_and_no_empty_list() {
    let rig = north().await;
    let start = json!({ "kind": "start_mow", "expected_path_hash": "ab".repeat(32) });
    let none = (422, "invalid-request".to_owned(), "none".to_owned());
    assert_eq!(rig.send(&Asking::group(start)).await.problem(), none);
    let start = json!({ "kind": "start_mow", "area_ids": [] });
    let none = (422, "invalid-request".to_owned(), "none".to_owned());
    assert_eq!(rig.send(&Asking::group(start)).await.problem(), none);
}

#[tokio::test]
async fn an_end_tells_nothing_of_the_mowers_that_are_hidden() {
    let rig = Rig::new(6).await;
    for number in 1..=6 {
        rig.allow("start_mow", mower(number));
    }
    let asking = Asking::group(start());
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["expires_at"], "2026-05-01T10:00:31.000Z");
    let path = format!("/api/v1/fleet/bulk/{}?account=acme", asking.operation);
    let read = Asking::new("mowers.bulk.get", path, &Value::Null);
    rig.rights.allowed.lock().expect("the rights").clear();
    rig.allow("observe", mower(1));
    let answer = rig.send(&read).await.json();
    assert_eq!(answer["expires_at"], "2026-05-01T10:00:30.000Z");
    assert_eq!(answer.get("target"), None, "{answer}");
    rig.allow("observe", GROUP);
    let answer = rig.send(&read).await.json();
    assert_eq!(answer["target"], json!({ "type": "group", "id": GROUP }));
}

#[test]
fn what_a_stop_overtook_reads_as_it_was_answered() {
    let reads = |status, reason: &str| {
        let mut record = record(mower(1), Command::LeaveDock {});
        record.outcome.status = status;
        record.outcome.reason = Some(reason.to_owned());
        let item = serde_json::to_value(Item::of(&record)).expect("JSON");
        item["result"].as_str().map(str::to_owned)
    };
    // Here, before it was sent; and at the device gateway, which had it.
    let here = reads(Status::Rejected, unsent::STOPPED);
    assert_eq!(here.as_deref(), Some("failed"));
    let there = reads(Status::Rejected, "superseded-by-stop");
    assert_eq!(there.as_deref(), Some("accepted"));
}

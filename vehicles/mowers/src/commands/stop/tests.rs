use std::sync::atomic::Ordering;
use std::time::Duration;

use jiff::SignedDuration;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::bus::Stream;
use crate::commands::testkit::{ACCOUNT, Asking, Cut, GROUP, Holder, Rig, mower, next, state};
use crate::contract::{Activity, Command, Priority, Status};

fn group_stop() -> Asking {
    let path = format!("/api/v1/fleet/groups/{GROUP}/emergency-stop");
    Asking::new("mowers.group.stop", path, &Value::Null)
}

#[tokio::test]
async fn a_stop_goes_out_with_a_short_life_of_its_own() {
    let rig = Rig::new(1).await;
    let mut asking = Asking::command(mower(1), json!({ "kind": "emergency_stop" }));
    asking.body = json!({ "command": { "kind": "emergency_stop", "reason": "a dog" },
        "ttl_seconds": 300 })
    .to_string();
    let reply = rig.send(&asking).await;
    assert_eq!(reply.status, 202, "{}", reply.text);
    let answer = reply.json();
    assert_eq!(answer["priority"], "emergency");
    assert_eq!(answer["recorded"], true);
    assert_eq!(answer["expires_at"], "2026-05-01T10:00:10.000Z");
    let sent = next(&rig.bus, Stream::Stop).await;
    assert_eq!(sent.priority, Priority::Emergency);
    let reason = Some("a dog".to_owned());
    assert_eq!(sent.command, Command::EmergencyStop { reason });
    assert_eq!(sent.stop_epoch, rig.fleet.control.epochs.current(mower(1)));
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.envelope, sent);
}

#[tokio::test]
async fn nothing_in_a_request_refuses_a_stop() {
    let rig = Rig::new(1).await;
    let mut asking = Asking::command(mower(1), json!({ "kind": "emergency_stop" }));
    rig.place(mower(1), 9).await;
    asking.asked_at = Some(rig.now() - SignedDuration::from_secs(3_600));
    for body in [
        "",
        "no json",
        r#"{"command":{"kind":"emergency_stop","reason":7,"x":1}}"#,
        r#"{"command":{"kind":"start_mow"},"ttl_seconds":-1,"y":{}}"#,
    ] {
        asking.body = body.to_owned();
        let reply = rig.send(&asking).await;
        assert_eq!(reply.status, 202, "{body}: {}", reply.text);
    }
    // A hundred in a row: none is too many.
    for _ in 0..100 {
        assert_eq!(rig.send(&Asking::stop(mower(1))).await.status, 202);
    }
    assert_eq!(rig.bus.published(), 0, "all went to the stream of stops");
}

#[tokio::test]
async fn a_mower_that_does_not_exist_cannot_be_stopped() {
    let rig = Rig::new(1).await;
    let (status, slug, _) = rig.send(&Asking::stop(mower(5))).await.problem();
    assert_eq!((status, slug.as_str()), (404, "not-found"));
}

#[tokio::test]
async fn a_stop_goes_out_while_the_records_are_down() {
    let rig = Rig::new(1).await;
    rig.fleet.records.pool().close().await;
    let asking = Asking::stop(mower(1));
    let reply = rig.send(&asking).await;
    assert_eq!(reply.status, 202, "{}", reply.text);
    assert_eq!(reply.json()["recorded"], false);
    assert_eq!(
        next(&rig.bus, Stream::Stop).await.command_id,
        asking.operation
    );
    assert_eq!(rig.fleet.control.counters.stops_spooled.get(), 1);
    let rig = rig.again().await;
    let control = &rig.fleet.control;
    assert!(control.spool.holds(asking.operation));
    control
        .spool
        .replay(&rig.fleet.records)
        .await
        .expect("a replay");
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Pending);
}

#[tokio::test]
async fn a_stop_finds_its_way_past_a_dead_stream() {
    for cut in [Cut::Streams, Cut::Swallowed] {
        let rig = Rig::new(1).await;
        let holder = Holder::stops(&rig.bus, "sent").await;
        rig.bus.cut(cut);
        let asking = Asking::stop(mower(1));
        let reply = rig.send(&asking).await;
        assert_eq!(reply.status, 202, "{cut:?}: {}", reply.text);
        let asked = holder.asked();
        let subject = format!("gateway.mower.{}.stop", mower(1));
        assert_eq!(asked.first().map(|(subject, _)| subject), Some(&subject));
        assert_eq!(asked[0].1["command_id"], json!(asking.operation));
    }
}

#[tokio::test]
async fn a_stop_that_reaches_nobody_says_so_and_is_repeated() {
    let rig = Rig::new(1).await;
    rig.bus.cut(Cut::All);
    let asking = Asking::stop(mower(1));
    let reply = rig.send(&asking).await;
    let none = (503, "not-stopped".to_owned(), "none".to_owned());
    assert_eq!(reply.problem(), none);
    let title = reply.json()["title"].to_string();
    assert!(
        title.contains("NOT stopped: the mower may still be moving"),
        "{title}"
    );
    assert!(rig.bus.stops() >= 3, "{}", rig.bus.stops());
    assert!(rig.fleet.control.epochs.current(mower(1)) > 0);
    // The bus comes back before the last attempt.
    rig.bus.cut(Cut::None);
    assert_eq!(
        next(&rig.bus, Stream::Stop).await.command_id,
        asking.operation
    );
}

#[tokio::test]
async fn a_stop_that_nobody_confirms_may_have_worked() {
    // Lost: it was handed to a connection that broke before an answer came.
    for cut in [Cut::Swallowed, Cut::Lost] {
        let rig = Rig::new(1).await;
        rig.bus.cut(cut);
        let reply = rig.send(&Asking::stop(mower(1))).await;
        let maybe = (503, "not-stopped".to_owned(), "maybe".to_owned());
        assert_eq!(reply.problem(), maybe, "{cut:?}");
        let title = reply.json()["title"].to_string();
        assert!(title.contains("may still be moving"), "{title}");
    }
}

#[tokio::test]
async fn who_sees_the_account_stops_all_of_it() {
    let rig = Rig::new(5).await;
    rig.rights.allow("observe", ACCOUNT);
    let asking = Asking::stop_account();
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["accepted"], 5);
    assert_eq!(answer["items"].as_array().map(Vec::len), Some(5));
    assert_eq!(answer["bulk_id"], json!(asking.operation));
    assert_eq!(answer.get("degraded"), None);
    assert_eq!(rig.bus.stops(), 5);
    assert_eq!(rig.count().await, 5);
    assert_eq!(rig.rights.asked.load(Ordering::SeqCst), 1, "one question");
    let id = Uuid::new_v5(&asking.operation, mower(3).as_bytes());
    let record = rig.record(id).await.expect("a record");
    assert_eq!(record.bulk_id, Some(asking.operation));
}

#[tokio::test]
async fn who_does_not_see_the_group_stops_the_mowers_it_sees() {
    let rig = Rig::new(5).await;
    for number in [1, 2, 3] {
        rig.allow("observe", mower(number));
    }
    let reply = rig.send(&group_stop()).await;
    assert_eq!(reply.json()["accepted"], 3);
    for hidden in [4, 5] {
        assert!(!reply.text.contains(&mower(hidden).to_string()));
        assert_eq!(rig.fleet.control.epochs.current(mower(hidden)), 0);
    }
    assert_eq!(rig.bus.stops(), 3);
}

#[tokio::test]
async fn a_silent_gateway_stops_everything_and_shows_nothing() {
    let rig = Rig::impatient(3, Duration::from_millis(50)).await;
    rig.rights.silent.store(true, Ordering::SeqCst);
    let reply = rig.send(&group_stop()).await;
    assert_eq!(reply.status, 202, "{}", reply.text);
    let answer = reply.json();
    assert_eq!(answer["degraded"], true);
    assert_eq!(answer["items"], json!([]));
    assert!(!reply.text.contains(&mower(1).to_string()));
    assert_eq!(rig.bus.stops(), 3);
    assert_eq!(rig.fleet.control.counters.stops_degraded.get(), 1);
}

#[tokio::test]
async fn members_of_another_account_are_never_stopped() {
    let rig = Rig::impatient(2, Duration::from_millis(50)).await;
    rig.rights.silent.store(true, Ordering::SeqCst);
    let mut asking = group_stop();
    asking.caller["standing"]["tenants"] = json!(["other"]);
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["items"], json!([]));
    assert_eq!(rig.bus.stops(), 0);
}

#[tokio::test]
async fn who_belongs_to_the_whole_installation_stops_in_every_account() {
    let rig = Rig::new(2).await;
    rig.rights.allow("observe", ACCOUNT);
    let mut asking = Asking::stop_account();
    asking.caller["standing"]["tenants"] = json!(["installation"]);
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["accepted"], 2, "{answer}");
    assert_eq!(rig.bus.stops(), 2);
}

#[tokio::test]
async fn a_stop_of_many_says_which_may_still_move() {
    let rig = Rig::new(2).await;
    rig.rights.allow("observe", ACCOUNT);
    let subject = format!("command.stop.mower.{}", mower(2));
    rig.bus.refused.lock().expect("the refused").push(subject);
    let answer = rig.send(&Asking::stop_account()).await.json();
    assert_eq!(
        (&answer["accepted"], &answer["failed"]),
        (&json!(1), &json!(1))
    );
    let reason = answer["items"][1]["reason"].as_str().unwrap_or_default();
    assert!(
        reason.starts_with("not-stopped, may still be moving"),
        "{reason}"
    );
    rig.bus.cut(Cut::All);
    let (status, slug, _) = rig.send(&Asking::stop_account()).await.problem();
    assert_eq!((status, slug.as_str()), (503, "not-stopped"));
}

#[tokio::test]
async fn what_moves_is_stopped_first() {
    let rig = Rig::new(3).await;
    rig.rights.allow("observe", ACCOUNT);
    let now = rig.now();
    let mut docked = state(mower(1), Activity::Docked, 1, now);
    docked.speed_mps = 0.0;
    docked.blade_on = false;
    rig.fleet.telemetry.hear(docked);
    let mowing = state(mower(3), Activity::Mowing, 1, now);
    rig.fleet.telemetry.hear(mowing);
    let answer = rig.send(&Asking::stop_account()).await.json();
    assert_eq!(answer["accepted"], 3);
    for expected in [mower(3), mower(2), mower(1)] {
        assert_eq!(next(&rig.bus, Stream::Stop).await.mower_id, expected);
    }
}

#[tokio::test]
async fn ten_thousand_mowers_in_one_call() {
    let rig = Rig::new(10_000).await;
    rig.rights.allow("observe", ACCOUNT);
    let asking = Asking::stop_account();
    let answer = rig.send(&asking).await.json();
    assert_eq!(answer["accepted"], 10_000);
    assert_eq!(answer["items"].as_array().map(Vec::len), Some(1_000));
    assert_eq!(answer["items_truncated"], true);
    assert_eq!(rig.bus.stops(), 10_000);
    // On record, or on the way there over the spool.
    let recorded = async {
        while rig.count().await < 10_000 {
            let spool = &rig.fleet.control.spool;
            spool.replay(&rig.fleet.records).await.expect("a replay");
            tokio::task::yield_now().await;
        }
    };
    let within = Duration::from_secs(60);
    let recorded = tokio::time::timeout(within, recorded).await;
    recorded.expect("ten thousand records");
}

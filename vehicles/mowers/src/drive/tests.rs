use serde_json::{Value, json};
use uuid::Uuid;

use super::follow::ended;
use super::kept;
use crate::commands::testkit::{Asking, Cut, Holder, Rig, mower};

const SESSIONS: &str = "drive.session.*";

fn open(number: u128) -> Asking {
    let path = format!("/api/v1/fleet/mowers/{}/drive-sessions", mower(number));
    Asking::new("mowers.drive.open", path, &Value::Null)
}

fn close(session: Uuid) -> Asking {
    let path = format!("/api/v1/fleet/drive-sessions/{session}?account=acme");
    Asking::new("mowers.drive.close", path, &Value::Null)
}

fn frame(session: Uuid, sequence: u64) -> Asking {
    let command = json!({ "kind": "manual_drive", "session_id": session, "sequence": sequence,
        "linear": 0.5, "angular": 0, "ttl_ms": 500 });
    let mut asking = Asking::command(mower(1), command.clone());
    asking.body = json!({ "command": command }).to_string();
    asking
}

/// A device gateway that opens and closes.
async fn opening(rig: &Rig) -> Holder {
    Holder::answer(&rig.bus, SESSIONS, |asked| {
        let state = match asked["action"].as_str() {
            Some("open") => "open",
            _ => "closed",
        };
        Some(json!({ "session_id": asked["session_id"], "state": state }))
    })
    .await
}

#[tokio::test]
async fn frames_of_the_holder_go_past_the_records() {
    let rig = Rig::new(1).await;
    let _holder = opening(&rig).await;
    let mut frames = crate::bus::Bus::listen(&*rig.bus, "drive.mower.*")
        .await
        .expect("a listener");
    let asking = open(1);
    let reply = rig.send(&asking).await;
    assert_eq!(reply.status, 201, "{}", reply.text);
    let session = asking.operation;
    assert_eq!(reply.json()["session_id"], json!(session));
    assert_eq!(reply.json()["holder"], "anna");
    assert_eq!(reply.json()["expires_at"], "2026-05-01T10:00:10.000Z");
    let sent = rig.send(&frame(session, 1)).await;
    assert_eq!(sent.status, 202, "{}", sent.text);
    let wanted = json!({ "mower_id": mower(1), "kind": "manual_drive", "session_id": session,
        "sequence": 1, "meaning": "sent" });
    assert_eq!(sent.json(), wanted);
    let heard = frames.next().await.expect("a frame");
    let heard: Value = serde_json::from_slice(&heard.payload).expect("JSON");
    assert_eq!(heard["frame"]["linear"], 0.5);
    assert_eq!(heard["account_id"], "acme");
    assert_eq!(
        (rig.count().await, rig.bus.published()),
        (0, 0),
        "never stored"
    );
}

#[tokio::test]
async fn only_the_holder_drives_and_only_in_its_session() {
    let rig = Rig::new(2).await;
    let _holder = opening(&rig).await;
    let needed = (409, "drive-session-needed".to_owned(), "none".to_owned());
    assert_eq!(
        rig.send(&frame(Uuid::from_u128(1), 1)).await.problem(),
        needed
    );
    let asking = open(1);
    rig.send(&asking).await;
    let session = asking.operation;
    let held = (409, "drive-session-held".to_owned(), "none".to_owned());
    assert_eq!(
        rig.send(&frame(session, 1).by("bert")).await.problem(),
        held
    );
    let mut elsewhere = frame(session, 1);
    elsewhere.path = format!("/api/v1/fleet/mowers/{}/commands", mower(2));
    assert_eq!(rig.send(&elsewhere).await.problem(), needed);
    assert_eq!(rig.send(&frame(session, 5)).await.status, 202);
    let again = rig.send(&frame(session, 5)).await;
    let out_of_order = (409, "frame-out-of-order".to_owned(), "none".to_owned());
    assert_eq!(again.problem(), out_of_order);
    assert_eq!(again.json()["expected_sequence"], 6);
    assert_eq!(rig.send(&frame(session, 6)).await.status, 202);
    let mut never = elsewhere.clone();
    never.body = never
        .body
        .replace(&session.to_string(), &Uuid::from_u128(1).to_string());
    let missing = rig.send(&never).await.text;
    assert_eq!(rig.send(&elsewhere).await.text, missing);
    let told = json!({ "session_id": session, "mower_id": mower(1), "account_id": "acme",
        "reason": "idle", "frames": 2, "at": rig.now() });
    ended(&rig.fleet, told.to_string().as_bytes()).await;
    assert_eq!(rig.send(&frame(session, 7)).await.problem(), needed);
    let over = rig.send(&elsewhere).await.text;
    assert_eq!(over, missing, "elsewhere its end is not told either");
}

#[tokio::test]
async fn a_frame_lives_from_when_it_was_asked() {
    let rig = Rig::new(1).await;
    let _holder = opening(&rig).await;
    let mut frames = crate::bus::Bus::listen(&*rig.bus, "drive.mower.*")
        .await
        .expect("a listener");
    let asking = open(1);
    rig.send(&asking).await;
    let mut late = frame(asking.operation, 1);
    let asked_at = rig.now();
    late.asked_at = Some(asked_at);
    rig.pass(499);
    assert_eq!(rig.send(&late).await.status, 202);
    let heard = frames.next().await.expect("a frame");
    let heard: Value = serde_json::from_slice(&heard.payload).expect("JSON");
    assert_eq!(heard["sent_at"], json!(asked_at));
    late.body = frame(asking.operation, 2).body;
    rig.pass(1);
    let (status, slug, _) = rig.send(&late).await.problem();
    assert_eq!((status, slug.as_str()), (503, "too-late"));
}

#[tokio::test]
async fn an_old_frame_and_one_before_a_stop_are_dropped() {
    let rig = Rig::new(1).await;
    let _holder = opening(&rig).await;
    let asking = open(1);
    rig.send(&asking).await;
    let mut old = frame(asking.operation, 1);
    old.asked_at = Some(rig.now());
    rig.pass(2_001);
    assert_eq!(rig.send(&old).await.problem().1, "too-late");
    assert_eq!(rig.send(&Asking::stop(mower(1))).await.status, 202);
    rig.pass(1);
    let needed = (409, "drive-session-needed".to_owned(), "none".to_owned());
    let after = rig.send(&frame(asking.operation, 2)).await;
    assert_eq!(after.problem(), needed, "a stop wins");
    let stopped_at = rig.now();
    rig.pass(1);
    let again = open(1);
    assert_eq!(rig.send(&again).await.status, 201);
    rig.fleet.drives.stopped(mower(1), stopped_at);
    let on = rig.send(&frame(again.operation, 1)).await;
    assert_eq!(
        on.status, 202,
        "an older stop that is heard of late: {}",
        on.text
    );
}

#[tokio::test]
async fn a_second_driver_is_refused_by_the_mowers_gateway() {
    let rig = Rig::new(1).await;
    for (reason, status, slug) in [
        ("drive-session-held", 409, "drive-session-held"),
        ("superseded-by-stop", 409, "stopped-since"),
        ("offline", 409, "drive-session-needed"),
        ("lease-lost", 503, "not-held"),
    ] {
        let _holder = Holder::answer(&rig.bus, SESSIONS, move |asked| {
            Some(json!({ "session_id": asked["session_id"], "state": "refused", "reason": reason }))
        })
        .await;
        let asking = open(1);
        let wanted = (status, slug.to_owned(), "none".to_owned());
        assert_eq!(rig.send(&asking).await.problem(), wanted);
        let session = kept::find(&rig.fleet.records, asking.operation).await;
        let session = session.expect("a read").expect("a session");
        assert_eq!(session.ended.expect("an end").by, "refused");
    }
    let nobody = open(1);
    assert_eq!(rig.send(&nobody).await.problem().1, "not-held");
}

#[tokio::test]
async fn the_holder_or_whoever_sees_the_mower_ends_it() {
    let rig = Rig::new(1).await;
    let holder = opening(&rig).await;
    let asking = open(1);
    rig.send(&asking).await;
    let session = asking.operation;
    rig.send(&frame(session, 1)).await;
    let stranger = close(session).by("bert");
    assert_eq!(rig.send(&stranger).await.status, 404);
    rig.allow("observe", mower(1));
    let reply = rig.send(&stranger).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let shown = reply.json();
    assert_eq!(
        (&shown["frames"], &shown["ended_by"]),
        (&json!(1), &json!("closed"))
    );
    let closed = holder
        .asked()
        .into_iter()
        .any(|(_, asked)| asked["action"] == "close");
    assert!(closed);
    let kept = kept::find(&rig.fleet.records, session)
        .await
        .expect("a read")
        .expect("a session");
    assert_eq!((kept.frames, kept.holder.display.as_str()), (1, "anna"));
    assert_eq!(
        rig.send(&frame(session, 2)).await.problem().1,
        "drive-session-needed"
    );
    // Again, by its holder: nothing more happens.
    assert_eq!(rig.send(&close(session)).await.status, 200);
    assert_eq!(rig.send(&close(Uuid::from_u128(1))).await.status, 404);
}

#[tokio::test]
async fn an_end_that_nobody_confirms_says_what_holds() {
    let rig = Rig::new(1).await;
    let holder = opening(&rig).await;
    let asking = open(1);
    rig.send(&asking).await;
    drop(holder);
    rig.bus.cut(Cut::All);
    let maybe = (503, "not-stopped".to_owned(), "maybe".to_owned());
    assert_eq!(rig.send(&close(asking.operation)).await.problem(), maybe);
}

#[tokio::test]
async fn the_device_gateway_says_how_it_ended() {
    let rig = Rig::new(1).await;
    let _holder = opening(&rig).await;
    let asking = open(1);
    rig.send(&asking).await;
    let told = json!({ "session_id": asking.operation, "mower_id": mower(1), "account_id": "acme",
        "reason": "idle", "frames": 42, "at": rig.now() });
    ended(&rig.fleet, told.to_string().as_bytes()).await;
    let session = kept::find(&rig.fleet.records, asking.operation).await;
    let session = session.expect("a read").expect("a session");
    assert_eq!(
        (session.frames, session.ended.expect("an end").by),
        (42, "idle".to_owned())
    );
    assert_eq!(
        rig.send(&frame(asking.operation, 1)).await.problem().1,
        "drive-session-needed"
    );
}

#[tokio::test]
async fn another_replica_drives_on() {
    let rig = Rig::new(1).await;
    let _holder = opening(&rig).await;
    let asking = open(1);
    rig.send(&asking).await;
    let rig = rig.again().await;
    // The frames of a minute went by the first one.
    rig.pass(60_000);
    assert_eq!(rig.send(&frame(asking.operation, 500)).await.status, 202);
    rig.pass(60_000);
    assert_eq!(rig.send(&frame(asking.operation, 1_000)).await.status, 202);
    let old = rig.send(&frame(asking.operation, 999)).await;
    assert_eq!(old.problem().1, "frame-out-of-order");
    // The device gateway heard none for ten seconds, and said so to the other.
    rig.pass(60_000);
    let over = super::sessions::Ended {
        at: rig.now(),
        by: "idle".to_owned(),
    };
    let told = kept::end(&rig.fleet.records, asking.operation, &over, 2).await;
    told.expect("a record");
    let late = rig.send(&frame(asking.operation, 1_001)).await;
    assert_eq!(late.problem().1, "drive-session-needed");
    assert!(late.text.contains("idle"), "{}", late.text);
}

#[tokio::test]
async fn whoever_opens_a_second_session_is_told_of_their_own_and_of_no_other() {
    let rig = Rig::new(1).await;
    let first = open(1);
    {
        let _holder = opening(&rig).await;
        rig.send(&first).await;
    }
    let held_by = first.operation;
    let _holder = Holder::answer(&rig.bus, SESSIONS, move |asked| {
        Some(
            json!({ "session_id": asked["session_id"], "state": "refused",
            "reason": "drive-session-held", "held_by": held_by }),
        )
    })
    .await;
    let held = (409, "drive-session-held".to_owned(), "none".to_owned());
    let again = rig.send(&open(1)).await;
    assert_eq!(again.problem(), held);
    assert_eq!(again.json()["session_id"], json!(held_by));
    assert!(again.text.contains("your drive session"), "{}", again.text);
    let other = rig.send(&open(1).by("bert")).await;
    assert_eq!(other.problem(), held);
    assert!(!other.text.contains(&held_by.to_string()), "{}", other.text);
}

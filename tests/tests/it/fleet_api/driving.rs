//! Who drives, drives one mower by one session, and nobody else does by it.

use interlock_tests::http::Answer;
use interlock_tests::personas::{ACCOUNT, Persona};
use interlock_tests::system::System;
use serde_json::{Value, json};

use super::stage::{Caller, NEVER, mowers, start};
use crate::personas::stage::text;

fn frame(session: &str, sequence: u64) -> Value {
    json!({ "command": {
        "kind": "manual_drive", "session_id": session, "sequence": sequence,
        "linear": 0, "angular": 0, "ttl_ms": 500,
    } })
}

async fn drive(system: &System, by: &Caller, mower: &str, body: &Value) -> Answer {
    by.post(system, &format!("/mowers/{mower}/commands"), body)
        .await
}

async fn open(system: &System, by: &Caller, mower: &str) -> Answer {
    let path = format!("/mowers/{mower}/drive-sessions");
    by.call(system, "POST", &path).send().await
}

#[tokio::test]
async fn a_session_is_its_holders_on_its_mower() {
    let system = start().await;
    let [one, two] = &mowers(&system, 2).await[..] else {
        panic!("two mowers");
    };
    let dora = Caller::persona(&system, Persona::Driver);
    let drivers = json!({ "driver": [ACCOUNT] });
    let don = Caller::of(&system, ACCOUNT, "don", &drivers);
    let foreign = Caller::persona(&system, Persona::Foreign);
    let opened = open(&system, &dora, one).await.expect(201).json();
    let session = text(&opened["session_id"]);
    assert_eq!(opened["holder"], "dora");
    drive(&system, &dora, one, &frame(&session, 1))
        .await
        .expect(202);

    let held = open(&system, &don, one).await.expect(409);
    assert_eq!(held.problem(), "drive-session-held");
    assert!(!held.text().contains("dora"), "{}", held.text());
    let held = drive(&system, &don, one, &frame(&session, 2))
        .await
        .expect(409);
    assert_eq!(held.problem(), "drive-session-held");
    drive(&system, &foreign, one, &frame(&session, 2))
        .await
        .expect(404);
    // A session of another mower is none, like one that never was.
    let never = drive(&system, &dora, two, &frame(NEVER, 2))
        .await
        .expect(409);
    assert_eq!(never.problem(), "drive-session-needed");
    let told = |answer: &Answer| {
        let mut told = answer.json();
        for own in ["instance", "decision", "operation"] {
            told.as_object_mut().unwrap().remove(own);
        }
        told
    };
    for by in [&dora, &don] {
        let other = drive(&system, by, two, &frame(&session, 2)).await;
        assert_eq!(told(&other), told(&never));
    }
    // An old or a repeated sequence is dropped, with a word.
    drive(&system, &dora, one, &frame(&session, 1))
        .await
        .expect(409);
    drive(&system, &dora, one, &frame(&session, 2))
        .await
        .expect(202);

    // A stop by anybody who looks ends it; then it is over for its holder, and
    // elsewhere it still is none.
    let viewer = Caller::persona(&system, Persona::Viewer);
    let stop = format!("/mowers/{one}/emergency-stop");
    viewer.call(&system, "POST", &stop).send().await.expect(202);
    let over = drive(&system, &dora, one, &frame(&session, 3))
        .await
        .expect(409);
    assert_eq!(over.problem(), "drive-session-needed");
    for by in [&dora, &don] {
        let other = drive(&system, by, two, &frame(&session, 3)).await;
        assert_eq!(told(&other), told(&never), "an ended one is told from none");
    }
    let latched = open(&system, &dora, one).await;
    assert_eq!(latched.status, 409, "{}", latched.text());
}

/// Whoever may look may end the driving; a stranger does not learn of it.
#[tokio::test]
async fn a_session_is_closed_by_who_sees_its_mower() {
    let system = start().await;
    let [one, two] = &mowers(&system, 2).await[..] else {
        panic!("two mowers");
    };
    let dora = Caller::persona(&system, Persona::Driver);
    let foreign = Caller::persona(&system, Persona::Foreign);
    let beside = Caller::of(&system, ACCOUNT, "bea", &json!({ "admin": [two] }));
    let seer = Caller::of(&system, ACCOUNT, "sam", &json!({ "viewer": [one] }));
    let opened = open(&system, &dora, one).await.expect(201).json();
    let session = text(&opened["session_id"]);
    let close =
        |by: &Caller, id: &str| by.raw(&system, "DELETE", &format!("/drive-sessions/{id}"), "");
    for by in [&foreign, &beside] {
        let never = close(by, NEVER);
        assert_eq!(never.status, 404, "{}", never.text());
        assert_eq!(close(by, &session), never);
    }
    drive(&system, &dora, one, &frame(&session, 1))
        .await
        .expect(202);
    let closed = close(&seer, &session);
    assert_eq!(closed.status, 200, "{}", closed.text());
    let over = drive(&system, &dora, one, &frame(&session, 2))
        .await
        .expect(409);
    assert_eq!(over.problem(), "drive-session-needed");
}

use serde_json::json;

use super::{MISSING, MOWER, commands, furnish};
use crate::server::{Admission, Peer, RequestBody};
use crate::testkit::Stage;

#[tokio::test]
async fn the_kind_decides_the_right() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    stage.answers(|_| (202, json!({ "meaning": "queued" })));
    let viewer = stage.token("vera", &["acme"], json!({ "viewer": ["acme"] }));
    let operator = stage.token("otto", &["acme"], json!({ "operator": ["acme"] }));
    let alone = stage.token("ada", &["acme"], json!({ "operator": [MOWER] }));
    let foreign = stage.token("fay", &["beta"], json!({ "admin": ["beta"] }));
    let check = async |token: &str, mower: &str, kind: &str, status: u16| {
        let body = json!({ "command": { "kind": kind } });
        let told = stage
            .call(Some(token), "POST", &commands(mower), Some(body))
            .await;
        assert_eq!(told.status, status, "{kind}: {:?}", told.body);
        assert_eq!(stage.heard().len(), usize::from(status == 202), "{kind}");
        told
    };
    check(&operator, MOWER, "pause_mow", 202).await;
    check(&alone, MOWER, "pause_mow", 202).await;
    check(&viewer, MOWER, "pause_mow", 403).await;
    check(&viewer, MOWER, "emergency_stop", 202).await;
    check(&operator, MOWER, "fly", 400).await;
    let hidden = check(&foreign, MOWER, "emergency_stop", 404).await;
    let missing = check(&operator, MISSING, "emergency_stop", 404).await;
    assert_eq!(hidden.body, missing.body);
}

#[tokio::test]
async fn a_stop_that_is_a_kind_takes_the_stop_lane() {
    let stage = Stage::open().await;
    furnish(&stage);
    stage.answers(|_| (202, json!({})));
    // Nothing was ever heard of another service's motion: stops do not ask.
    let body = json!({
        "command": { "kind": "emergency_stop", "reason": "a child", "note": 1 },
        "client": { "version": 3 },
    });
    let told = stage
        .call(None, "POST", &commands(MOWER), Some(body.clone()))
        .await;
    assert_eq!(told.status, 202);
    let heard = stage.heard();
    let expected = json!({ "command": { "kind": "emergency_stop", "reason": "a child" } });
    assert_eq!(heard[0].json(), expected);
    assert_eq!(heard[0].grant["row"], "mowers.command.emergency_stop");
    assert_eq!(heard[0].grant["revision"], 7);

    // No place is left for anything but stops, and this is one.
    let full = |body: serde_json::Value| {
        let request = http::Request::post(commands(MOWER))
            .header("host", stage.host())
            .header("content-type", "application/json")
            .body(RequestBody::whole(body.to_string().into()))
            .expect("a request");
        let peer = Peer {
            admission: Admission::StopsOnly,
            address: ([127, 0, 0, 1], 1).into(),
        };
        super::super::handle(stage.gateway.clone(), request, peer)
    };
    assert_eq!(full(body).await.status(), 202);
    let pause = json!({ "command": { "kind": "pause_mow" } });
    assert_eq!(full(pause).await.status(), 503);
    assert_eq!(stage.heard().len(), 1);
}

#[tokio::test]
async fn a_foreign_web_page_may_send_a_stop_and_no_other_kind() {
    let stage = Stage::open().await;
    furnish(&stage);
    let from_elsewhere = |kind: &str| {
        let body = json!({ "command": { "kind": kind } });
        let request = http::Request::post(commands(MOWER))
            .header("host", stage.host())
            .header("origin", "https://elsewhere.example")
            .header("content-type", "application/json")
            .body(RequestBody::whole(body.to_string().into()))
            .expect("a request");
        let peer = Peer {
            admission: Admission::Normal,
            address: ([127, 0, 0, 1], 1).into(),
        };
        super::super::handle(stage.gateway.clone(), request, peer)
    };
    assert_eq!(from_elsewhere("emergency_stop").await.status(), 200);
    assert_eq!(from_elsewhere("start_mow").await.status(), 403);
    assert_eq!(stage.heard().len(), 1);
}

#[tokio::test]
async fn one_key_is_for_one_kind() {
    let stage = Stage::open().await;
    furnish(&stage);
    stage.answers(|_| (202, json!({})));
    let send = async |kind: &str| {
        let body = json!({ "command": { "kind": kind } });
        let request = http::Request::post(commands(MOWER))
            .header("host", stage.host())
            .header("idempotency-key", "k-1")
            .header("content-type", "application/json")
            .body(RequestBody::whole(body.to_string().into()))
            .expect("a request");
        let peer = Peer {
            admission: Admission::Normal,
            address: ([127, 0, 0, 1], 1).into(),
        };
        let told = super::super::handle(stage.gateway.clone(), request, peer).await;
        told.status().as_u16()
    };
    assert_eq!(send("pause_mow").await, 202);
    assert_eq!(send("pause_mow").await, 202);
    assert_eq!(send("return_to_dock").await, 422);
    assert_eq!(stage.heard().len(), 1);
}

#[tokio::test]
async fn the_word_of_a_service_that_does_not_know_is_passed_on() {
    let stage = Stage::open().await;
    furnish(&stage);
    let word = json!({
        "type": "urn:interlock:problem:publish-unconfirmed", "title": "Not confirmed",
        "detail": "look at the record", "status": 503, "effect": "maybe",
    });
    stage.answers(move |_| (503, word.clone()));
    let body = json!({ "command": { "kind": "pause_mow" } });
    let told = stage.call(None, "POST", &commands(MOWER), Some(body)).await;
    assert_eq!(told.status, 504);
    assert_eq!(told.problem(), "may-have-acted");
    assert_eq!(
        told.json()["said"],
        json!({
            "type": "urn:interlock:problem:publish-unconfirmed", "title": "Not confirmed",
            "detail": "look at the record", "status": 503,
        })
    );
}

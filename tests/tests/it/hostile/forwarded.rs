//! What the service gets is what was decided on: the gateway's own bytes.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_tests::sent::Sent;
use interlock_tests::system::System;
use serde_json::{Value, json};

use super::stage::{self, answers, filled, get, post};

/// What one request became.
fn forwarded(system: &System, sent: &str, status: u16) -> Sent {
    system.upstream.listen();
    let answers = answers(system, filled(system, sent));
    assert_eq!(answers.len(), 1, "{answers:?}");
    assert_eq!(answers[0].status, status, "{sent}: {}", answers[0].text());
    let sent = Sent::all(&system.upstream.listen());
    let [one] = &sent[..] else {
        panic!("{sent:?}");
    };
    one.clone()
}

/// Every header but the grant, which is another one each time.
fn headers(sent: &Sent) -> Vec<(String, String)> {
    let grant = |name: &str| name.eq_ignore_ascii_case("interlock-grant");
    let all = sent.headers.iter().filter(|(name, _)| !grant(name));
    let mut all: Vec<_> = all
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .collect();
    all.sort();
    all
}

/// The claims of a grant, unverified.
fn claims(sent: &Sent) -> Value {
    let payload = sent.grant().split('.').nth(1).unwrap();
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

#[tokio::test]
async fn no_header_of_a_caller_speaks_to_the_service() {
    let system = stage::system().await;
    let plain = forwarded(&system, &get("/api/swarm/state", ""), 200);
    let grant = claims(&plain);
    assert_eq!(grant["caller"]["subject"], "olivia");
    for (id, lines) in [
        (
            "B11 override",
            "X-HTTP-Method-Override: DELETE\r\nX-Method-Override: PUT\r\nX-HTTP-Method: PATCH\r\n",
        ),
        (
            "B14 route",
            "X-Forwarded-Uri: /health\r\nX-Original-URL: /x\r\nX-Rewrite-URL: /x\r\nX-Forwarded-Path: /x\r\nX-Forwarded-Prefix: /x\r\n",
        ),
        (
            "B16 nominated",
            "Connection: close, interlock-grant, X-Real-Ip\r\n",
        ),
        (
            "B16 in another case",
            "connection: close\r\nCONNECTION: INTERLOCK-GRANT, Via, Host, X-FORWARDED-FOR\r\n",
        ),
        (
            "B17 principal",
            "X-Interlock-Principal: User::\"admin\"\r\nX-Interlock-Class: read\r\nX-Approval-Id: p1\r\n",
        ),
        (
            "B17 grant",
            "Interlock-Grant: e30.e30.e30\r\ninterlock-grant: x\r\nInterlock_Grant: y\r\n",
        ),
        (
            "B19 forwarded",
            "X-Forwarded-For: 10.0.0.1\r\nForwarded: for=10.0.0.1\r\nX-Real-Ip: 10.0.0.1\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: evil\r\n",
        ),
        ("B19 via", "Via: 1.0 x\r\n"),
        ("B79 service", "Interlock-Service: e30.e30.e30\r\n"),
        (
            "hop by hop",
            "Keep-Alive: timeout=99\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\nTrailer: X\r\nProxy-Authorization: Basic eDp5\r\n",
        ),
        ("cookies", "Cookie: session=x\r\n"),
        ("B13 referer", "Referer: http://x/?approvalCode=y\r\n"),
        ("anything new", "X-New-Thing: 1\r\nIdempotency-Key: abc\r\n"),
    ] {
        let sent = forwarded(&system, &get("/api/swarm/state", lines), 200);
        assert_eq!(headers(&sent), headers(&plain), "{id}");
        assert_eq!(
            (&sent.method, &sent.target),
            (&plain.method, &plain.target),
            "{id}"
        );
        assert_eq!(claims(&sent)["caller"], grant["caller"], "{id}");
    }
}

/// Of an approval in the grant only the gateway may speak; a body is forwarded
/// as it was judged, and the grant is about those very bytes.
#[tokio::test]
async fn bytes_sent_are_bytes_decided() {
    let system = stage::system().await;
    let spaced = "{ \"waypoints\" : [ {\"z\":6.0,\"y\":0,\"x\":0} , {\"x\":3e1,\"y\":-0.0,\"z\":6} ],\r\n\t\"type\":\"formation\",\"formation\":\"l\\u0069ne\", \"spacingMeters\":3.0, \"droneCount\":3, \"name\":\"caf\\u00e9\" }";
    let sent = forwarded(&system, &post("/api/mission-plans", "", spaced), 201);
    let decided: Value = serde_json::from_slice(&sent.body).unwrap();
    let expected = json!({
        "waypoints": [{ "x": 0, "y": 0, "z": 6 }, { "x": 30, "y": 0, "z": 6 }],
        "type": "formation", "formation": "line", "spacingMeters": 3, "droneCount": 3, "name": "café",
    });
    assert_eq!(decided, expected);
    let text = String::from_utf8(sent.body.clone()).unwrap();
    assert!(!text.contains(' ') && !text.contains("\\u"), "{text}");
    let grant = claims(&sent);
    assert_eq!(grant["body"], crate::grants::digest_of(&text));
    assert_eq!(grant["path"], sent.target.as_str());
    assert_eq!(grant["method"], sent.method.as_str());

    // A path is made from the row and the id, whatever case the id came in.
    let upper = stage::MARK.to_ascii_uppercase();
    let sent = forwarded(&system, &get(&format!("/api/missions/{upper}"), ""), 404);
    assert_eq!(sent.target, format!("/api/missions/{}", stage::MARK));
    assert_eq!(claims(&sent)["path"], sent.target.as_str());

    // What has no body is said to have none.
    let land = forwarded(
        &system,
        "POST /api/swarm/land HTTP/1.1\r\nHOSTTOKENContent-Length: 0\r\n\r\n",
        202,
    );
    assert_eq!(land.body, b"");
    assert_eq!(claims(&land)["body"], crate::grants::digest_of(""));
}

/// A target in absolute form for our own authority is the same request.
#[tokio::test]
async fn an_absolute_target_of_ours_is_the_same_request() {
    let system = stage::system().await;
    let address = system.gateway().address();
    let sent = forwarded(
        &system,
        &get(&format!("http://{address}/api/swarm/state"), ""),
        200,
    );
    assert_eq!(sent.target, "/api/swarm/state");
}

/// Text that came from a caller goes back as data: escaped, and never as a page.
#[tokio::test]
async fn names_go_back_as_data() {
    let system = stage::system().await;
    let name = "a' onmouseover='x\"><script>alert(1)</script>";
    let mut mission = crate::personas::stage::route();
    mission["name"] = json!(name);
    let plan = post("/api/mission-plans", "", &mission.to_string());
    let answers = answers(&system, filled(&system, &plan));
    let [answer] = &answers[..] else {
        panic!("B106 {answers:?}");
    };
    assert_eq!(answer.status, 201, "B106 {}", answer.text());
    assert_eq!(
        answer.header("content-type"),
        Some("application/json"),
        "B106"
    );
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert!(body.to_string().contains("onmouseover"), "B106 {body}");
    // In a refusal the same name is quoted in a problem, not in a page.
    mission[name] = json!(1);
    let bad = post("/api/mission-plans", "", &mission.to_string());
    let answers = stage::answers(&system, filled(&system, &bad));
    assert_eq!(
        answers[0].header("content-type"),
        Some("application/problem+json"),
        "B106"
    );
}

use std::convert::Infallible;
use std::io;
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http_body_util::{Full, StreamBody};
use hyper::body::Frame;
use interlock_surface::{Candidates, Listener, Match, find};

use super::{Asked, BodyError, read};
use crate::edge::json::JsonError;
use crate::server::RequestBodyError;

const MISSION: &str = "/api/missions";
const PATIENCE: Duration = Duration::from_secs(60);

fn rows(path: &str) -> Candidates {
    match find(Listener::Public, "POST", path) {
        Match::Found { rows, .. } => rows,
        other => panic!("{path}: {other:?}"),
    }
}

fn json() -> HeaderMap {
    typed("application/json")
}

fn typed(media: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_str(media).unwrap());
    headers
}

async fn ask(path: &str, headers: &HeaderMap, body: &[u8]) -> Result<Asked, BodyError> {
    read(rows(path), headers, Full::from(body.to_vec()), PATIENCE).await
}

/// One refusal, told by its text.
async fn check(path: &str, headers: &HeaderMap, body: &[u8], expected: BodyError) {
    let error = ask(path, headers, body).await.unwrap_err();
    assert_eq!(error.to_string(), expected.to_string());
}

const ABORT: &str = "/api/missions/0b5b1f8e-3f6a-4a55-9f0e-2f3f3a1d6c11/abort";
const LAND: &str = "/api/swarm/land";
const APPROVE: &str = "/api/mission-plans/0197f3a0-0000-7000-8000-000000000001/approve";

#[tokio::test]
async fn the_bytes_forwarded_are_the_canonical_ones() {
    let body = br#" { "type" : "Survey", "name":"a\u0062", "droneCount": 3.0 } "#;
    let asked = ask(MISSION, &json(), body).await.unwrap();
    assert_eq!(asked.row().name, "drones.mission.start");
    assert_eq!(
        asked.bytes(),
        r#"{"droneCount":3,"name":"ab","type":"Survey"}"#
    );
    assert_eq!(asked.body().unwrap()["name"], "ab");
    let again = ask(MISSION, &json(), asked.bytes()).await.unwrap();
    assert_eq!(again.bytes(), asked.bytes());
}

#[tokio::test]
async fn a_body_may_be_absent_where_the_row_says_so() {
    for path in [ABORT, LAND] {
        let asked = ask(path, &HeaderMap::new(), b"").await.unwrap();
        assert!(asked.body().is_none());
        assert!(asked.bytes().is_empty());
    }
    check(MISSION, &json(), b"", BodyError::Missing).await;
    check(APPROVE, &json(), b"{}", BodyError::Unwanted).await;
    check(APPROVE, &HeaderMap::new(), b" ", BodyError::Unwanted).await;
}

#[tokio::test]
async fn a_stop_without_a_body_looks_at_none() {
    for body in [&b"{}"[..], b"{\"a\":1,\"a\":2", &[b'x'; 100_000]] {
        let asked = ask(LAND, &HeaderMap::new(), body).await.unwrap();
        assert!(asked.body().is_none() && asked.bytes().is_empty());
    }
}

#[tokio::test]
async fn only_json_in_utf_8_is_read() {
    for media in [
        "application/json",
        "Application/JSON",
        "application/json; charset=utf-8",
        "application/json;charset=\"UTF-8\"",
    ] {
        assert!(ask(ABORT, &typed(media), b"{}").await.is_ok(), "{media}");
    }
    for media in [
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/problem+json",
        "application/json; charset=utf-16",
        "application/json; charset",
        "application/json; boundary=x",
        "application/json; charset=utf-8; x=y",
        "application/jsonx",
        "",
    ] {
        check(ABORT, &typed(media), b"{}", BodyError::ContentType).await;
    }
    check(ABORT, &HeaderMap::new(), b"{}", BodyError::ContentType).await;
}

#[tokio::test]
async fn fields_the_row_does_not_know_are_named() {
    check(
        MISSION,
        &json(),
        br#"{"type":"Survey","altitude":35}"#,
        BodyError::UnknownField("altitude".to_owned()),
    )
    .await;
    // `kind` chooses rows only where a path has several.
    check(
        MISSION,
        &json(),
        br#"{"kind":"start"}"#,
        BodyError::UnknownField("kind".to_owned()),
    )
    .await;
    for body in ["[]", "1", "null", "\"x\""] {
        check(MISSION, &json(), body.as_bytes(), BodyError::NotAnObject).await;
    }
}

#[tokio::test]
async fn json_faults_are_passed_on() {
    let body = br#"{"waypoints":[{"x":1,"x":2}]}"#;
    let fault = JsonError::Duplicate("x".to_owned());
    check(MISSION, &json(), body, fault.into()).await;
    check(
        MISSION,
        &json(),
        b"{}garbage",
        JsonError::Syntax { line: 1, column: 3 }.into(),
    )
    .await;
    let bom = b"\xEF\xBB\xBF{}";
    check(MISSION, &json(), bom, JsonError::ByteOrderMark.into()).await;
}

#[tokio::test]
async fn the_size_is_bounded_before_and_while_reading() {
    let limit = rows(MISSION).any().body_limit;
    let large = BodyError::Large { limit };
    let mut declared = json();
    declared.insert(CONTENT_LENGTH, HeaderValue::from(limit + 1));
    // Refused without asking the caller for a single byte.
    let never = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let error = read(rows(MISSION), &declared, never, PATIENCE)
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), large.to_string());

    // An endless chunked body stops at the limit.
    let endless =
        stream::repeat_with(|| Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b' '; 1000]))));
    let error = read(rows(MISSION), &json(), StreamBody::new(endless), PATIENCE)
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), large.to_string());

    let padded = |length: u32| {
        let mut text = b"{}".to_vec();
        text.resize(length as usize, b' ');
        text
    };
    assert!(ask(MISSION, &json(), &padded(limit)).await.is_ok());
    check(MISSION, &json(), &padded(limit + 1), large).await;
}

#[tokio::test]
async fn one_byte_at_a_time_is_the_same_body() {
    let text = br#"{"type":"Survey"}"#;
    let bytes = text.map(|byte| Ok::<_, Infallible>(Frame::data(Bytes::copy_from_slice(&[byte]))));
    let body = StreamBody::new(stream::iter(bytes));
    let asked = read(rows(MISSION), &json(), body, PATIENCE).await.unwrap();
    assert_eq!(asked.bytes().as_ref(), text);
}

#[tokio::test]
async fn a_body_that_stalls_or_breaks_is_told() {
    let patience = Duration::from_millis(1);
    let stalled = StreamBody::new(stream::pending::<Result<Frame<Bytes>, Infallible>>());
    let error = read(rows(MISSION), &json(), stalled, patience)
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), BodyError::Slow(patience).to_string());

    // The connection gave it up first.
    let given_up = stream::iter([Err::<Frame<Bytes>, _>(RequestBodyError::Stalled)]);
    let error = read(rows(MISSION), &json(), StreamBody::new(given_up), PATIENCE)
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), BodyError::Slow(PATIENCE).to_string());

    let cut = stream::iter([
        Ok(Frame::data(Bytes::from_static(b"{"))),
        Err(io::Error::from(io::ErrorKind::ConnectionReset)),
    ]);
    let error = read(rows(MISSION), &json(), StreamBody::new(cut), PATIENCE)
        .await
        .unwrap_err();
    assert_eq!(error.to_string(), BodyError::Broken.to_string());
}

const COMMANDS: &str = "/api/v1/fleet/mowers/0197b1f0-0000-7000-8000-000000000001/commands";

#[tokio::test]
async fn a_nested_kind_chooses_the_row() {
    for (body, row) in [
        (
            r#"{"command":{"kind":"start_mow"}}"#,
            "mowers.command.start_mow",
        ),
        (
            r#"{"command":{"kind":"pause_mow"},"ttl_seconds":5}"#,
            "mowers.command.pause_mow",
        ),
        (
            r#"{"command":{"kind":"emergency_stop"}}"#,
            "mowers.command.emergency_stop",
        ),
    ] {
        assert_eq!(
            ask(COMMANDS, &json(), body.as_bytes())
                .await
                .unwrap()
                .row()
                .name,
            row
        );
    }
    for (body, part) in [
        (
            "{}",
            "`command.kind`: a command kind is needed, one of `start_mow`",
        ),
        ("", "`command.kind`: a command kind is needed"),
        (r#"{"kind":"start_mow"}"#, "a command kind is needed"),
        (r#"{"command":"start_mow"}"#, "a command kind is needed"),
        (r#"{"command":{"kind":7}}"#, "a command kind is needed"),
        (
            r#"{"command":{"kind":"fly"}}"#,
            "`fly` is no command kind of this path",
        ),
        (
            r#"{"command":{"kind":"Start_mow"}}"#,
            "`Start_mow` is no command kind",
        ),
        (
            r#"{"command":{"kind":"pause_mow","area_ids":[]}}"#,
            "`command.area_ids` is not known",
        ),
        (
            r#"{"command":{"kind":"start_mow"},"priority":"emergency"}"#,
            "`priority` is not known",
        ),
        (
            r#"{"command":{"kind":"start_mow","kind":"pause_mow"}}"#,
            "given more than once",
        ),
    ] {
        let cause = ask(COMMANDS, &json(), body.as_bytes())
            .await
            .unwrap_err()
            .to_string();
        assert!(cause.contains(part), "{body}: {cause}");
    }
}

#[tokio::test]
async fn a_stop_that_is_a_kind_leaves_out_what_it_does_not_know() {
    let body = br#"{"command":{"kind":"emergency_stop","reason":"child","force":1},"note":{"a":[]},"ttl_seconds":5}"#;
    let asked = ask(COMMANDS, &json(), body).await.unwrap();
    assert_eq!(
        asked.bytes(),
        r#"{"command":{"kind":"emergency_stop","reason":"child"},"ttl_seconds":5}"#
    );
}

#[tokio::test]
async fn a_kind_that_nests_too_deep_is_refused() {
    let deep = format!("{}1{}", r#"{"command":"#.repeat(40), "}".repeat(40));
    check(COMMANDS, &json(), deep.as_bytes(), JsonError::Depth.into()).await;
}

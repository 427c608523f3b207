use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::middleware::from_fn_with_state;
use axum::routing::post;
use bytes::Bytes;
use http::StatusCode;
use http_body_util::BodyExt;
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde_json::{Value, json};
use tower::ServiceExt;
use uuid::Uuid;

use super::{Granted, require_grant};
use crate::clock::Clock;
use crate::digest::body_digest;
use crate::guard::Guard;
use crate::keys::{Key, KeySet, Keys};

/// A clock that stands where it is set, in seconds.
pub(crate) struct SetClock(AtomicI64);

impl SetClock {
    pub(crate) fn at(second: i64) -> Self {
        Self(AtomicI64::new(second))
    }

    pub(crate) fn set(&self, second: i64) {
        self.0.store(second, Ordering::SeqCst);
    }
}

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.0.load(Ordering::SeqCst)).unwrap()
    }
}

/// The claims of a start with the body `{}`.
pub(crate) fn grant(jti: Uuid, now: Timestamp) -> Value {
    json!({
        "iss": "interlock", "aud": "drones",
        "iat": now.as_second(), "exp": now.as_second() + 30, "jti": jti,
        "caller": {"kind": "Person", "issuer": "https://idp.example", "subject": "alice"},
        "row": "drones.mission.start", "action": "mission_start",
        "method": "POST", "path": "/api/missions", "body": body_digest(b"{}"),
        "decision": jti, "operation": jti,
        "askedAt": now.as_millisecond(), "deadline": now.as_millisecond() + 10_000,
    })
}

/// Signs as the gateway does, with the plain library.
pub(crate) fn sign(kid: &str, secret: &[u8], claims: &Value) -> String {
    let header = Header {
        typ: Some("interlock-grant+jwt".to_owned()),
        kid: Some(kid.to_owned()),
        ..Header::new(Algorithm::HS256)
    };
    encode(&header, claims, &EncodingKey::from_secret(secret).unwrap()).unwrap()
}

const NOW: i64 = 1_764_500_000;

async fn handler(granted: Granted, body: Bytes) -> String {
    format!("{} {}", granted.row().name, body.len())
}

fn guarded() -> Router {
    let keys = Keys::new(KeySet::new(vec![Key::new("k", &[1; 32]).unwrap()]).unwrap());
    let guard = Arc::new(Guard::new("drones", keys, Arc::new(SetClock::at(NOW))));
    let routes = Router::new().route("/api/missions", post(handler));
    routes.route_layer(from_fn_with_state(guard, require_grant))
}

fn token(n: u128) -> String {
    let now = Timestamp::from_second(NOW).unwrap();
    sign("k", &[1; 32], &grant(Uuid::from_u128(n), now))
}

fn request(grants: &[&str], body: Body) -> Request {
    let mut request = Request::post("/api/missions");
    for grant in grants {
        request = request.header("Interlock-Grant", *grant);
    }
    request.body(body).unwrap()
}

async fn check(router: Router, request: Request, status: StatusCode, says: &str) {
    let response = router.oneshot(request).await.unwrap();
    let headers = response.headers().clone();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    let body = String::from_utf8(body.to_vec()).unwrap();
    assert!(body.contains(says), "{body}");
    if status == StatusCode::OK {
        return;
    }
    let problem: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(problem["status"], status.as_u16());
    assert_eq!(problem["effect"], "none");
    assert_eq!(headers["content-type"], "application/problem+json");
    let challenged = headers.contains_key("www-authenticate");
    assert_eq!(challenged, status == StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_granted_request_reaches_its_handler_with_its_body() {
    let request = request(&[&token(1)], Body::from("{}"));
    check(guarded(), request, StatusCode::OK, "drones.mission.start 2").await;
}

#[tokio::test]
async fn refusals_are_problems_that_say_nothing_happened() {
    let refused = StatusCode::UNAUTHORIZED;
    let none = request(&[], Body::from("{}"));
    check(guarded(), none, refused, "has no `Interlock-Grant`").await;
    let (one, two) = (token(1), token(2));
    let twice = request(&[&one, &two], Body::from("{}"));
    check(guarded(), twice, refused, "more than one").await;
    let other = request(&[&one], Body::from("{ }"));
    check(guarded(), other, refused, "another body").await;
    let large = request(&[&one], Body::from(vec![b' '; 70_000]));
    check(guarded(), large, StatusCode::PAYLOAD_TOO_LARGE, "larger").await;
}

#[tokio::test]
async fn a_handler_without_the_layer_is_not_reached() {
    let bare = Router::new().route("/api/missions", post(handler));
    let request = request(&[&token(1)], Body::from("{}"));
    check(bare, request, StatusCode::UNAUTHORIZED, "No valid grant").await;
}

#[tokio::test]
async fn the_token_is_never_echoed() {
    let token = token(1);
    for body in ["{}", "[]"] {
        let request = request(&[&format!("{token}x")], Body::from(body));
        let response = guarded().oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED);
        let answer = response.into_body().collect().await.unwrap().to_bytes();
        let answer = String::from_utf8(answer.to_vec()).unwrap();
        for part in token.split('.') {
            assert!(!answer.contains(part), "{answer}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_comes_is_given_up() {
    let nothing = futures_util::stream::pending::<Result<Bytes, Infallible>>();
    let request = request(&[&token(1)], Body::from_stream(nothing));
    let late = StatusCode::REQUEST_TIMEOUT;
    check(guarded(), request, late, "did not arrive in time").await;
}

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use interlock_guard::{Key, KeySet, Keys, SystemClock, server, verify_feed};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use uuid::Uuid;

use super::{Feed, FeedFailure, checks};
use crate::clock::Clock;
use crate::contract::state::{BridgeMode, SwarmState};
use crate::link::SwarmLink;
use crate::link::tcp::{TcpLink, TcpLinkConfig};

/// What the gateway got: method, path and body of each call with a valid token.
type Calls = Arc<Mutex<Vec<(String, String, Value)>>>;

fn keys() -> Keys {
    Keys::new(KeySet::new(vec![Key::new("k", &[3; 32]).unwrap()]).unwrap())
}

async fn receive(
    State((calls, answer)): State<(Calls, StatusCode)>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, &'static str) {
    let token = headers["interlock-service"].to_str().unwrap();
    let call = (method.as_str(), uri.path(), body.as_ref());
    if verify_feed(&keys().current(), "drones", token, call, Timestamp::now()).is_err() {
        return (StatusCode::UNAUTHORIZED, "");
    }
    let body = serde_json::from_slice(&body).unwrap();
    calls
        .lock()
        .unwrap()
        .push((method.to_string(), uri.path().to_owned(), body));
    (answer, r#"{"currentRevision": 8}"#)
}

/// A feed to a gateway that gives every call this answer.
async fn feed(answer: StatusCode) -> (Feed, Calls) {
    let calls = Calls::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let gateway = listener.local_addr().unwrap().to_string();
    let router = Router::new()
        .fallback(receive)
        .with_state((Arc::clone(&calls), answer));
    let (ending, end) = tokio::sync::watch::channel(false);
    tokio::spawn(async move {
        server::serve(listener, router, end).await;
        drop(ending);
    });
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let link = TcpLinkConfig {
        address: "127.0.0.1:0".to_owned(),
        writer: Uuid::nil(),
        swarm: "swarm-1".to_owned(),
        epoch: 1,
    };
    let link: Arc<dyn SwarmLink> = Arc::new(TcpLink::spawn(link, Arc::clone(&clock)));
    let feed = Feed {
        gateway,
        swarm: "swarm-1".to_owned(),
        account: "acme".to_owned(),
        revision: 4,
        keys: keys(),
        clock,
        link,
    };
    (feed, calls)
}

/// Beats with these many beats since the last registration; the methods and paths called.
async fn check(registered_for: Option<u32>, expected: &[(&str, &str)], beats: u32) {
    let (mut feed, calls) = feed(StatusCode::NO_CONTENT).await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    assert_eq!(feed.beat(&client, registered_for).await.unwrap(), beats);
    let calls = calls.lock().unwrap();
    let called: Vec<(&str, &str)> = calls
        .iter()
        .map(|(method, path, _)| (method.as_str(), path.as_str()))
        .collect();
    assert_eq!(called, expected);
}

const OBJECT: (&str, &str) = ("PUT", "/registry/objects/Swarm/swarm-1");
const BEAT: (&str, &str) = ("POST", "/registry/heartbeat");

#[tokio::test]
async fn the_swarm_is_registered_first_and_now_and_then() {
    check(None, &[OBJECT, BEAT], 0).await;
    check(Some(0), &[BEAT], 1).await;
    check(Some(29), &[BEAT], 30).await;
    check(Some(30), &[OBJECT, BEAT], 0).await;
}

#[tokio::test]
async fn what_is_told_has_the_documented_form() {
    let (mut feed, calls) = feed(StatusCode::OK).await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    feed.beat(&client, None).await.unwrap();
    let calls = calls.lock().unwrap();
    assert_eq!(calls[0].2, json!({"revision": 4, "parents": ["acme"]}));
    let beat = &calls[1].2;
    assert_eq!(beat["owner"], "drones");
    let check = &beat["checks"]["swarm_bridge"];
    assert_eq!(check["status"], "Degraded");
    assert!(
        check["description"]
            .as_str()
            .unwrap()
            .starts_with("no live link"),
        "{check}"
    );
    assert_eq!(
        check["data"],
        json!({"swarmBridge": "Disconnected", "lastStateAgeSeconds": null})
    );
}

#[tokio::test]
async fn a_refusal_is_a_failure_and_the_service_beats_on() {
    let (mut feed, calls) = feed(StatusCode::SERVICE_UNAVAILABLE).await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    let failure = feed.beat(&client, None).await.unwrap_err();
    let refused = FeedFailure::Refused(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(failure.to_string(), refused.to_string());
    assert_eq!(calls.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn an_old_revision_goes_on_from_the_one_the_gateway_knows() {
    let (mut feed, calls) = feed(StatusCode::CONFLICT).await;
    let client = Client::builder(TokioExecutor::new()).build_http();
    feed.beat(&client, None).await.unwrap_err();
    feed.beat(&client, None).await.unwrap_err();
    let calls = calls.lock().unwrap();
    let revisions: Vec<&Value> = calls
        .iter()
        .filter(|(method, ..)| method == "PUT")
        .map(|(_, _, body)| &body["revision"])
        .collect();
    assert_eq!(revisions, [4, 9]);
}

#[test]
fn reports_that_are_not_understood_are_told() {
    struct At(Timestamp);
    impl Clock for At {
        fn now(&self) -> Timestamp {
            self.0
        }
    }
    let now = Timestamp::from_second(1_000).unwrap();
    for (milliseconds, status) in [(2_000, "Healthy"), (2_100, "Degraded")] {
        let state = SwarmState {
            bridge: BridgeMode::Connected,
            reason: None,
            received_at: Some(now - Duration::from_millis(milliseconds)),
            ..SwarmState::unknown()
        };
        let told = checks(&state, &At(now));
        assert_eq!(told["swarm_bridge"]["status"], status, "{told}");
    }
}

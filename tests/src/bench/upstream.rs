//! A vehicle service that does nothing but verify: what stands behind the
//! proxies while they are measured.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::http::{HeaderMap, Method, StatusCode, Uri};
use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use interlock_guard::{
    FEED_HEADER, GRANT_HEADER, Guard, KeySet, Keys, Refusal, SystemClock, sign_feed,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::{MissedTickBehavior, interval};
use uuid::Uuid;

use crate::background::Background;
use crate::http::Http;
use crate::personas::ACCOUNT;
use crate::ports;
use crate::vehicles::SWARM;

/// The service, on two ports: one for the gateway, which verifies the grant of
/// every request, and one for the plain proxy and for nobody between.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) verifying: SocketAddr,
    pub(super) plain: SocketAddr,
    shared: Arc<Shared>,
    keys: String,
    _servers: [Background; 2],
}

struct Shared {
    guard: Mutex<Arc<Guard>>,
    verified: AtomicU64,
    refused: AtomicU64,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Shared(..)")
    }
}

impl Upstream {
    /// A service that shares `keys` with the gateway.
    pub(super) fn start(keys: &str) -> Upstream {
        let shared = Arc::new(Shared {
            guard: Mutex::new(Arc::new(guard(keys))),
            verified: AtomicU64::new(0),
            refused: AtomicU64::new(0),
        });
        let verifying = Router::new().fallback(verified).with_state(shared.clone());
        let (verifying, first) = serve(verifying);
        let (plain, second) = serve(Router::new().fallback(unverified));
        Upstream {
            verifying,
            plain,
            shared,
            keys: keys.to_owned(),
            _servers: [first, second],
        }
    }

    /// Requests whose grants held.
    pub(super) fn verified(&self) -> u64 {
        self.shared.verified.load(Ordering::SeqCst)
    }

    /// Requests whose grants did not.
    pub(super) fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::SeqCst)
    }

    /// Forgets the grants that were used: the memory of them is bounded, for
    /// good reason, and a bench uses more in a minute than a fleet in a day.
    pub(super) fn renew(&self) {
        let fresh = Arc::new(guard(&self.keys));
        *self.shared.guard.lock().expect("no handler panicked") = fresh;
    }

    /// Registers the swarm at a gateway and keeps the registration fresh.
    pub(super) async fn feed(&self, ops: SocketAddr) -> Background {
        let keys = keys_of(&self.keys);
        let object = json!({ "revision": 1, "parents": [ACCOUNT] });
        let path = format!("/registry/objects/Swarm/{SWARM}");
        send(ops, &keys, "PUT", &path, &object).await;
        let beat = json!({ "owner": "drones", "checks": {} });
        send(ops, &keys, "POST", "/registry/heartbeat", &beat).await;
        Background::run("feed", async move {
            let mut ticks = interval(Duration::from_secs(1));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                send(ops, &keys, "POST", "/registry/heartbeat", &beat).await;
            }
        })
    }
}

fn keys_of(keys: &str) -> Keys {
    Keys::new(KeySet::parse(keys).expect("keys of ours"))
}

fn guard(keys: &str) -> Guard {
    Guard::new("drones", keys_of(keys), Arc::new(SystemClock))
}

/// One signed call to a gateway's operations listener.
async fn send(ops: SocketAddr, keys: &Keys, method: &str, path: &str, body: &Value) {
    let body = body.to_string();
    let call = (method, path, body.as_bytes());
    let token = sign_feed(keys, "drones", call, Uuid::new_v4(), Timestamp::now());
    let answer = Http::to(ops)
        .call(method, path)
        .header(FEED_HEADER, &token.expect("a signature"))
        .body("application/json", body)
        .send()
        .await;
    let fed = (200..300).contains(&answer.status);
    assert!(fed, "{method} {path}: {} {}", answer.status, answer.text());
}

fn serve(router: Router) -> (SocketAddr, Background) {
    let listener = ports::listener();
    let address = listener
        .local_addr()
        .expect("a bound listener has an address");
    let server = Background::run("upstream", async move {
        listener.set_nonblocking(true).expect("a socket option");
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        axum::serve(listener, router)
            .await
            .expect("a server that never ends");
    });
    (address, server)
}

async fn verified(
    State(shared): State<Arc<Shared>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let grant = headers
        .get(GRANT_HEADER)
        .and_then(|grant| grant.to_str().ok());
    let target = uri.path_and_query().map_or("/", |target| target.as_str());
    let guard = shared.guard.lock().expect("no handler panicked").clone();
    let checked = guard.check(grant.unwrap_or_default(), method.as_str(), target, &body);
    match checked {
        Ok(_) => {
            shared.verified.fetch_add(1, Ordering::SeqCst);
            unverified(method).await
        }
        // wrk hangs up in the middle: what it left was asked of the guard before.
        Err(refusal @ Refusal::BeforeStart) => refusal.into_response(),
        Err(refusal) => {
            shared.refused.fetch_add(1, Ordering::SeqCst);
            refusal.into_response()
        }
    }
}

/// About 300 bytes, as a small state is.
async fn unverified(method: Method) -> Response {
    let drone = |number: u32| json!({ "id": format!("drone_{number}"), "position": { "x": 12.5, "y": 3.25, "z": 10.0 }, "status": "InFlight" });
    let body = json!({ "drones": [drone(1), drone(2), drone(3)], "bridgeMode": "Simulated" });
    let status = if method == Method::POST {
        StatusCode::CREATED
    } else {
        StatusCode::OK
    };
    (status, axum::Json(body)).into_response()
}

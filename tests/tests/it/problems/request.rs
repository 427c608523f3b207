//! What can be wrong with a request itself.

use std::net::SocketAddr;

use http::HeaderMap;
use interlock_gateway::problem::Kind;
use interlock_tests::http::Answer;
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use interlock_tests::wire::{Raw, Wire};
use serde_json::json;

use super::seen::Seen;

pub(super) const KINDS: &[Kind] = &[
    Kind::InvalidPath,
    Kind::InvalidHeader,
    Kind::InvalidRequest,
    Kind::InvalidIdempotencyKey,
    Kind::CrossOrigin,
    Kind::NotFound,
    Kind::MethodNotAllowed,
    Kind::RequestTimeout,
    Kind::BodyTooLarge,
    Kind::UnsupportedMediaType,
    Kind::MisdirectedRequest,
    Kind::NotImplemented,
];

const MISSIONS: &str = "/api/missions";

/// A slow body is given up after this.
const PATIENCE: &str = "[limits]\nheader_read_timeout_ms = 500\nbody_read_timeout_ms = 500\n";

fn answer(raw: Raw) -> Answer {
    let headers: HeaderMap = raw
        .headers
        .iter()
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
        .collect();
    Answer {
        status: raw.status,
        headers,
        body: raw.body.into(),
    }
}

/// Sends `head`, in which `HOST` stands for the gateway's address, and an empty
/// line after it.
fn wire(system: &System, head: &str) -> Answer {
    wire_to(system.gateway().address(), head)
}

fn wire_to(address: SocketAddr, head: &str) -> Answer {
    let mut wire = Wire::connect(address);
    let head = head.replace("HOST", &format!("Host: {address}"));
    wire.send(format!("{head}\r\n\r\n"));
    answer(wire.answer().expect("an answer"))
}

#[tokio::test]
async fn of_the_request_are_seen() {
    let change = |mut config: interlock_tests::gateway::GatewayConfig| {
        config.extra = PATIENCE.to_owned();
        config
    };
    let system = System::start_with(Plan::OPEN, change).await;
    let mut seen = Seen::default();
    let start = || system.call(Persona::Operator, "POST", MISSIONS);

    let doubled_slash = wire(&system, "GET /api//missions HTTP/1.1\r\nHOST");
    seen.note(Kind::InvalidPath, "none", &doubled_slash);
    let doubled = "GET /health HTTP/1.1\r\nHOST\r\nOrigin: http://a\r\nOrigin: http://b";
    let told = seen.note(Kind::InvalidHeader, "none", &wire(&system, doubled));
    assert!(told["detail"].as_str().unwrap().contains("origin"));
    let unknown = start().json(&json!({ "altitude": 3 })).send().await;
    let told = seen.note(Kind::InvalidRequest, "none", &unknown);
    assert!(
        told["errors"]["request"][0]
            .as_str()
            .unwrap()
            .contains("altitude")
    );
    let spaced = start().key("a b").json(&json!({})).send().await;
    seen.note(Kind::InvalidIdempotencyKey, "none", &spaced);
    let foreign = start().header("origin", "https://elsewhere.example");
    seen.note(
        Kind::CrossOrigin,
        "none",
        &foreign.json(&json!({})).send().await,
    );
    let nowhere = system.get(Persona::Operator, "/api/missiles").await;
    seen.note(Kind::NotFound, "none", &nowhere);
    let put = system.call(Persona::Operator, "PUT", MISSIONS).send().await;
    seen.note(Kind::MethodNotAllowed, "none", &put);
    assert_eq!(put.header("allow"), Some("POST"));
    // The head says that a body comes, and none does.
    let json = "Content-Type: application/json\r\nContent-Length: 9";
    let slow = wire(
        &system,
        &format!("POST {MISSIONS} HTTP/1.1\r\nHOST\r\n{json}"),
    );
    seen.note(Kind::RequestTimeout, "none", &slow);
    let beat = format!("POST /registry/heartbeat HTTP/1.1\r\nHOST\r\n{json}");
    let slow = wire_to(system.gateway().ops_address(), &beat);
    seen.note(Kind::RequestTimeout, "none", &slow);
    let large = vec![b' '; 65_537];
    let large = start().body("application/json", large).send().await;
    seen.note(Kind::BodyTooLarge, "none", &large);
    let text = start().body("text/plain", "fly").send().await;
    seen.note(Kind::UnsupportedMediaType, "none", &text);
    let packed = start().header("content-encoding", "gzip").json(&json!({}));
    seen.note(Kind::UnsupportedMediaType, "none", &packed.send().await);
    let elsewhere = wire(&system, "GET /health HTTP/1.1\r\nHost: elsewhere.example");
    seen.note(Kind::MisdirectedRequest, "none", &elsewhere);
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket";
    let upgrade = wire(
        &system,
        &format!("GET /health HTTP/1.1\r\nHOST\r\n{upgrade}"),
    );
    seen.note(Kind::NotImplemented, "none", &upgrade);

    seen.all(KINDS);
    assert_eq!(system.sim.counters().starts, 0);
}

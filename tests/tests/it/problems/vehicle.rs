//! What can go wrong between the gateway and a service, and what a caller is
//! told of what the vehicle may have done.

use axum::Router;
use axum::routing::post;
use interlock_gateway::problem::Kind;
use interlock_tests::background::Background;
use interlock_tests::chaos::Line;
use interlock_tests::gateway::GatewayConfig;
use interlock_tests::personas::Persona;
use interlock_tests::ports;
use interlock_tests::system::{Plan, System};
use serde_json::json;

use super::seen::Seen;
use crate::personas::stage::route;

pub(super) const KINDS: [&[Kind]; 3] = [HANGS, GONE, NONSENSE];

const HANGS: &[Kind] = &[
    Kind::RequestInProgress,
    Kind::OutcomeUnknown,
    Kind::NoAnswer,
    Kind::MayHaveActed,
    Kind::MayNotHaveStopped,
];
const GONE: &[Kind] = &[Kind::ServiceUnavailable, Kind::NotStopped];
const NONSENSE: &[Kind] = &[Kind::BadAnswer];

const MISSIONS: &str = "/api/missions";

/// Deadlines that a test can wait for, and far longer than a step of the
/// gateway itself.
fn impatient(mut config: GatewayConfig) -> GatewayConfig {
    for name in ["read", "write", "preview"] {
        config.extra += &format!(
            "[upstream.timeouts.{name}]\n\
             connect_ms = 500\nattempt_ms = 3000\ntotal_ms = 3000\ngateway_ms = 3500\n"
        );
    }
    config
}

/// The service is there, and nothing comes back from it.
#[tokio::test]
async fn of_a_service_that_hangs() {
    let system = System::start_with(Plan::OPEN, impatient).await;
    let mut seen = Seen::default();
    system.upstream.set(Line::Hung);

    let read = system.get(Persona::Viewer, "/api/swarm/state").await;
    seen.note(Kind::NoAnswer, "none", &read);
    let plan = system
        .post(Persona::Proposer, "/api/mission-plans", &route())
        .await;
    seen.note(Kind::NoAnswer, "none", &plan);

    // Of two under one key one is sent, and the other told so.
    let start = || {
        let call = system
            .call(Persona::Operator, "POST", MISSIONS)
            .key("start");
        call.json(&route()).send()
    };
    let (one, two) = tokio::join!(start(), start());
    let (running, sent) = if one.status == 409 {
        (one, two)
    } else {
        (two, one)
    };
    seen.note(Kind::RequestInProgress, "maybe", &running);
    let told = seen.note(Kind::MayHaveActed, "maybe", &sent);
    // The key stays in doubt, and names what to look for, until the service
    // says what became of it.
    let again = seen.note(Kind::OutcomeUnknown, "maybe", &start().await);
    assert_eq!(again["operation"], told["operation"]);
    assert!(again["operation"].is_string(), "{again}");

    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    seen.note(Kind::MayNotHaveStopped, "maybe", &land.send().await);

    seen.all(HANGS);
}

/// Nobody listens where the service should be.
#[tokio::test]
async fn of_a_service_that_is_gone() {
    let change = |mut config: GatewayConfig| {
        config.drones = ports::free();
        config
    };
    let system = System::start_with(Plan::OPEN, change).await;
    let mut seen = Seen::default();
    for (path, body) in [(MISSIONS, route()), ("/api/mission-plans", route())] {
        let unsent = system.post(Persona::Operator, path, &body).await;
        seen.note(Kind::ServiceUnavailable, "none", &unsent);
        assert!(unsent.header("retry-after").is_some());
    }
    let unsent = system.get(Persona::Viewer, "/api/swarm/state").await;
    seen.note(Kind::ServiceUnavailable, "none", &unsent);
    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    seen.note(Kind::NotStopped, "none", &land.send().await);
    seen.all(GONE);
    assert_eq!(system.sim.counters(), Default::default());
}

/// Something else answers where the service should be.
#[tokio::test]
async fn of_a_service_that_talks_nonsense() {
    let listener = ports::listener();
    let address = listener.local_addr().unwrap();
    let _service = Background::run("nonsense", async move {
        listener.set_nonblocking(true).unwrap();
        let listener = tokio::net::TcpListener::from_std(listener).unwrap();
        let nonsense = || async { axum::Json(json!({ "weather": "fine" })) };
        let router = Router::new().route("/internal/preview", post(nonsense));
        axum::serve(listener, router).await.unwrap();
    });
    let change = |mut config: GatewayConfig| {
        config.drones = address;
        config
    };
    let system = System::start_with(Plan::OPEN, change).await;
    let mut seen = Seen::default();
    let plan = system
        .post(Persona::Proposer, "/api/mission-plans", &route())
        .await;
    seen.note(Kind::BadAnswer, "none", &plan);
    seen.all(NONSENSE);
}

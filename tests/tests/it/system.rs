//! The harness's systems come up, in every shape that tests use.

use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};

/// A system of that shape serves, and its parts are connected.
async fn check(plan: Plan) {
    let system = System::start(plan).await;
    let state = system.get(Persona::Viewer, "/api/swarm/state").await;
    let state = state.expect(200).json();
    assert_eq!(state["bridgeMode"], "Simulated");
    let stranger = system.get(Persona::Stranger, "/api/swarm/state").await;
    assert_eq!(stranger.status, if plan.enforced { 404 } else { 200 });
    // Everything went over the relays.
    assert!(system.upstream.bytes_to_target() > 0, "upstream");
    assert!(system.link.bytes_to_target() > 0, "link");
    assert!(system.feed.bytes_to_target() > 0, "feed");
    assert_eq!(system.store.bytes_to_target() > 0, plan.redis, "store");
}

#[tokio::test]
async fn open_on_the_embedded_store() {
    check(Plan::OPEN).await;
}

#[tokio::test]
async fn enforced_on_the_embedded_store() {
    check(Plan::ENFORCED).await;
}

#[tokio::test]
async fn two_gateways_on_one_redis() {
    check(Plan::PAIR).await;
}

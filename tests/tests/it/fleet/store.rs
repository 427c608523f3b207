//! F5. The gateway's store is down: what moves and carries a key is refused,
//! stops and reads go on.

use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};

use super::stand::{latched, mower, records, refused, start};
use crate::personas::stage::fleet::{FLEET, pending};

#[tokio::test]
async fn the_store_is_down() {
    let mut system = System::start(Plan::REDIS.with_mowers()).await;
    let mower = mower(&system).await;
    let plan = pending(&system).await;
    system.redis.as_mut().expect("a store").kill();

    let path = |last: &str| format!("{FLEET}/mowers/{}/{last}", mower.id);
    let call = |persona, path: &str| system.call(persona, "POST", path).key("one");
    let started = call(Persona::Operator, &path("commands")).json(&start(&mower, 60));
    refused(&started.send().await, 503, "store-unavailable", "none");
    let approved = call(
        Persona::Approver,
        &format!("{FLEET}/mow-plans/{plan}/approve"),
    );
    refused(&approved.send().await, 503, "store-unavailable", "none");
    let read = system.get(Persona::Viewer, &path("state")).await;
    read.expect(200);
    assert!(records(&system, &mower.id).await.is_empty(), "it was sent");

    let stopped = call(Persona::Viewer, &path("emergency-stop")).send().await;
    stopped.expect(202);
    latched(&system, &mower.id).await;
}

//! F4. The gateway has not heard of the service: nothing that moves is let
//! through on what it remembers, stops and reads are.

use interlock_tests::chaos::Line;
use interlock_tests::poll;
use interlock_tests::system::System;

use super::stand::{EMBEDDED, command, latched, mower, records, refused, start, state, stop};

#[tokio::test]
async fn nothing_was_heard_since_the_start() {
    let mut system = System::start(EMBEDDED).await;
    let mower = mower(&system).await;
    system.feed.set(Line::Cut);
    system.gateway_mut().process.terminate();
    system.gateway_mut().restart();

    // Until it has the keys of the provider it lets nobody in.
    poll::until_async("the gateway knows callers", async || {
        let path = format!("{}/mowers", crate::personas::stage::fleet::FLEET);
        let answer = system.get(interlock_tests::personas::Persona::Stranger, &path);
        (answer.await.status != 503).then_some(())
    })
    .await;
    let started = command(&system, &mower.id, &start(&mower, 60)).await;
    refused(&started, 503, "registry-stale", "none");
    state(&system, &mower.id).await;
    stop(&system, &mower.id).await.expect(202);
    latched(&system, &mower.id).await;
    system.feed.set(Line::Up);
    system.gateway().ready().await;
    assert_eq!(
        records(&system, &mower.id).await.len(),
        1,
        "a start is on record"
    );
}

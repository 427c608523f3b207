//! F4. The gateway has not heard of the service for a while: nothing that moves
//! is let through on what it remembers, stops and reads are.

use interlock_tests::chaos::Line;
use interlock_tests::poll;
use interlock_tests::system::System;

use super::stand::{
    EMBEDDED, command, height, latched, mower, records, refused, start, state, stop,
};

#[tokio::test]
async fn the_service_is_not_heard_of() {
    let system = System::start(EMBEDDED).await;
    let mower = mower(&system).await;
    system.feed.set(Line::Cut);
    poll::until_async("what the gateway knows is old", async || {
        // Refused by the service as long as it gets that far.
        let answer = command(&system, &mower.id, &height(9_999)).await;
        (answer.status != 422).then_some(())
    })
    .await;
    let started = command(&system, &mower.id, &start(&mower, 60)).await;
    refused(&started, 503, "registry-stale", "none");
    state(&system, &mower.id).await;
    stop(&system, &mower.id).await.expect(202);
    latched(&system, &mower.id).await;

    // What the caller may see of the records is for the gateway to say.
    system.feed.set(Line::Up);
    system.gateway().ready().await;
    let kept = records(&system, &mower.id).await;
    assert_eq!(kept[0]["kind"], "emergency_stop", "{kept:?}");
    assert!(kept.iter().all(|it| it["kind"] != "start_mow"), "{kept:?}");
}

//! Accounts that are suspended and removed, and mowers in quarantine: whatever
//! is taken away, the stop stays.

use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::System;
use serde_json::json;

use super::stand::{EMBEDDED, Mower, command, latched, mower, start, stop};
use crate::personas::stage::fleet::FLEET;

/// Waits until a start is refused, or is not any more.
async fn starts(system: &System, mower: &Mower, status: u16) {
    poll::until_async("the gateway knows", async || {
        let answer = command(system, &mower.id, &start(mower, 30)).await;
        (answer.status == status).then_some(())
    })
    .await;
}

#[tokio::test]
async fn suspended_it_can_be_stopped() {
    let system = System::start(EMBEDDED).await;
    let mower = mower(&system).await;
    let mowers = system.mowers.as_ref().expect("a fleet");
    mowers.account("suspend", "acme", &[]);
    let told = system.holding(br#""done":"suspended""#);
    assert!(!told.is_empty(), "the log says who suspended what");
    starts(&system, &mower, 403).await;
    stop(&system, &mower.id).await.expect(202);
    latched(&system, &mower.id).await;
    mowers.account("resume", "acme", &[]);
    starts(&system, &mower, 202).await;
}

#[tokio::test]
async fn in_quarantine_it_can_be_stopped() {
    let system = System::start(EMBEDDED).await;
    let mower = mower(&system).await;
    let path = format!("{FLEET}/mowers/{}", mower.id);
    let change = async |persona, quarantined: bool| {
        let call = system.call(persona, "PATCH", &path);
        call.json(&json!({ "quarantined": quarantined }))
            .send()
            .await
    };
    change(Persona::Operator, true).await.expect(403);
    let changed = change(Persona::Manager, true).await.expect(200).json();
    assert_eq!(changed["quarantined"], true, "{changed}");
    starts(&system, &mower, 403).await;
    stop(&system, &mower.id).await.expect(202);
    latched(&system, &mower.id).await;
    change(Persona::Manager, false).await.expect(200);
    starts(&system, &mower, 202).await;
}

#[tokio::test]
async fn removed_it_is_gone_for_everybody() {
    let system = System::start(EMBEDDED).await;
    let mower = mower(&system).await;
    let mowers = system.mowers.as_ref().expect("a fleet");
    mowers.account("delete", "acme", &[]);
    let path = format!("{FLEET}/mowers/{}", mower.id);
    poll::until_async("the gateway knows", async || {
        let answer = system.get(Persona::Manager, &path).await;
        (answer.status == 404).then_some(())
    })
    .await;
    assert_eq!(stop(&system, &mower.id).await.status, 404);
}

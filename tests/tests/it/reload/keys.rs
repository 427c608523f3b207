//! The keys between gateway and service change while both run, in the three
//! steps of `docs/GRANTS.md`, and no call fails for it.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::sent::Sent;
use interlock_tests::system::{Plan, System, key};
use interlock_tests::wire::Wire;
use serde_json::Value;

/// The id of the key that a token is signed with.
fn kid(token: &str) -> String {
    let header = token.split('.').next().unwrap();
    let header = URL_SAFE_NO_PAD.decode(header).unwrap();
    let header: Value = serde_json::from_slice(&header).unwrap();
    header["kid"].as_str().unwrap().to_owned()
}

/// A read and a stop, both of which need a grant that holds.
async fn works(system: &System) -> Sent {
    system.upstream.listen();
    let state = system.get(Persona::Viewer, "/api/swarm/state").await;
    state.expect(200);
    let sent = Sent::all(&system.upstream.listen());
    let [read] = &sent[..] else {
        panic!("{sent:?}");
    };
    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    land.send().await.expect(202);
    read.clone()
}

/// The drone service has read its keys again so often.
fn reread(system: &System, times: usize) {
    poll::until("the service has read its keys", || {
        let said = system.drones.process.stderr();
        (said.matches("the keys were read again").count() == times).then_some(())
    });
}

/// The gateway has taken over new keys so often.
fn rotated(system: &System, times: usize) {
    poll::until("the gateway has read its keys", || {
        let said = system.gateway().process.stderr();
        (said.matches("service keys rotated").count() == times).then_some(())
    });
}

#[tokio::test]
async fn service_keys_rotate_without_a_restart_or_a_failed_call() {
    let mut system = System::start(Plan::ENFORCED).await;
    let old = system.gateway().config.keys[0].clone();
    let new = key("drones-2");
    let with_old = works(&system).await;
    assert_eq!(kid(with_old.grant()), "drones-1");

    // Both know the new key, and the old one signs.
    system.drones.rotate(vec![old.clone(), new.clone()]);
    reread(&system, 1);
    assert_eq!(kid(works(&system).await.grant()), "drones-1");
    system.gateway_mut().rotate(vec![old.clone(), new.clone()]);
    rotated(&system, 1);
    assert_eq!(kid(works(&system).await.grant()), "drones-1");

    // The new one signs.
    system.gateway_mut().rotate(vec![new.clone(), old.clone()]);
    rotated(&system, 2);
    assert_eq!(kid(works(&system).await.grant()), "drones-2");
    system.feed.listen();
    system.drones.rotate(vec![new.clone(), old]);
    reread(&system, 2);
    poll::until("the feed is signed with the new key", || {
        let sent = system.feed.listen();
        let sent = String::from_utf8_lossy(&sent).to_ascii_lowercase();
        sent.contains("interlock-service: ").then_some(())
    });

    // A file that is no key set changes nothing.
    system
        .gateway_mut()
        .rotate(vec!["drones-3:too-short".to_owned()]);
    poll::until("the bad file is refused", || {
        let said = system.gateway().process.stderr();
        said.contains("the key file is refused").then_some(())
    });
    assert_eq!(kid(works(&system).await.grant()), "drones-2");

    // The old one opens nothing any more.
    system.gateway_mut().rotate(vec![new.clone()]);
    system.drones.rotate(vec![new]);
    reread(&system, 3);
    rotated(&system, 3);
    works(&system).await;
    let mut wire = Wire::connect(system.drones.address());
    wire.send(&with_old.bytes);
    assert_eq!(wire.answer().expect("an answer").status, 401);
    // And the service still feeds the registry.
    system.gateway().ready().await;
}

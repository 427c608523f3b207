//! A grant that really crossed the wire opens nothing a second time.

use interlock_tests::personas::Persona;
use interlock_tests::sent::Sent;
use interlock_tests::system::{Plan, System};
use interlock_tests::wire::{Raw, Wire};

use crate::personas::stage;

/// Sends bytes to the drone service, past the gateway.
fn again(system: &System, bytes: &[u8]) -> Raw {
    let mut wire = Wire::connect(system.drones.address());
    wire.send(bytes);
    wire.answer().expect("an answer")
}

/// What the gateway sent the service to start a mission.
async fn captured(system: &System) -> Sent {
    system.upstream.listen();
    stage::mission(system).await;
    let sent = Sent::all(&system.upstream.listen());
    let start = sent.into_iter().find(|sent| sent.target == "/api/missions");
    start.expect("a start went over the relay")
}

#[tokio::test]
async fn a_start_that_was_overheard_starts_nothing() {
    let mut system = System::start(Plan::ENFORCED).await;
    let start = captured(&system).await;
    stage::ground(&system).await;
    let before = system.sim.counters();
    let text = String::from_utf8(start.bytes.clone()).unwrap();
    let other = text.replacen("\"droneCount\":3", "\"droneCount\":2", 1);
    let elsewhere = text.replacen("POST /api/missions ", "POST /api/swarm/land ", 1);
    let queried = text.replacen("POST /api/missions ", "POST /api/missions?a=b ", 1);
    for (what, bytes) in [
        ("as it was", &text),
        ("with another body", &other),
        ("at another path", &elsewhere),
        ("with a query", &queried),
    ] {
        assert!(
            what == "as it was" || *bytes != text,
            "{what} changes nothing"
        );
        let answer = again(&system, bytes.as_bytes());
        assert_eq!(answer.status, 401, "{what}: {}", answer.text());
        assert_eq!(system.sim.counters(), before, "{what}");
    }
    // A restart forgets which grants were used, and trusts none from before.
    system.drones.process.kill();
    system.drones.restart();
    let answer = again(&system, &start.bytes);
    assert_eq!(answer.status, 401, "{}", answer.text());
    let after = system.sim.counters();
    assert_eq!(
        (after.starts, after.flights),
        (before.starts, before.flights)
    );
}

/// Repeating a stop is harmless, and refusing one is not.
#[tokio::test]
async fn a_stop_that_was_overheard_stops_again() {
    let system = System::start(Plan::ENFORCED).await;
    system.upstream.listen();
    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    land.send().await.expect(202);
    let sent = Sent::all(&system.upstream.listen());
    let [land] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!(again(&system, &land.bytes).status, 202);
    system.settle("two stops", |counters| counters.commands == 2);
}

/// Nothing that the gateway signs for one call of one caller fits another.
#[tokio::test]
async fn each_call_has_a_grant_of_its_own() {
    let system = System::start(Plan::ENFORCED).await;
    system.upstream.listen();
    for _ in 0..2 {
        system
            .get(Persona::Viewer, "/api/swarm/state")
            .await
            .expect(200);
        system
            .get(Persona::Operator, "/api/swarm/state")
            .await
            .expect(200);
    }
    let sent = Sent::all(&system.upstream.listen());
    let mut grants: Vec<&str> = sent.iter().map(Sent::grant).collect();
    assert_eq!(grants.len(), 4);
    grants.sort_unstable();
    grants.dedup();
    assert_eq!(grants.len(), 4, "a grant was used twice");
}

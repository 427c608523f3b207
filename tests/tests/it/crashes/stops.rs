//! A process ends on either side of a stop: nobody is told that the swarm has
//! stopped unless it has, and the next stop works.

use interlock_drones::crash as drones;
use interlock_gateway::crash::CrashPoint;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::System;
use serde_json::Value;

use super::case::{Ask, EMBEDDED, aborted, brisk, fragile, restart, restart_service};
use super::{Flow, each, gateway_points, service_points};
use crate::personas::stage;

fn land() -> Ask {
    Ask {
        path: "/api/swarm/land".to_owned(),
        body: None,
        key: None,
    }
}

/// What the swarm itself says that it flies.
async fn active(system: &System) -> Value {
    let state = system.get(Persona::Viewer, "/api/swarm/state").await;
    state.expect(200).json()["activeMissionId"].clone()
}

async fn lands(system: &System) {
    let told = land().send(system).await.expect(202).json();
    let drones = told["drones"].as_array().expect("a list of drones");
    assert!(drones.iter().all(|drone| drone["acknowledged"] == true));
    poll::until_async("the mission is over", async || {
        active(system).await.is_null().then_some(())
    })
    .await;
    let counted = system.sim.counters();
    assert_eq!((counted.starts, counted.flights), (1, 1));
}

async fn check_gateway(name: &'static str, point: CrashPoint) {
    let mut system = fragile(EMBEDDED, name).await;
    let mission = stage::mission(&system).await;
    land().lost(&mut system).await;
    let sent = u64::from(point == CrashPoint::StopAfterSend);
    assert_eq!(system.sim.counters().commands, sent, "{name}");
    restart(system.gateway_mut()).await;
    let flies = active(&system).await;
    if sent == 1 {
        assert!(flies.is_null(), "{name}: {flies}");
    } else {
        assert_eq!(flies, mission.as_str(), "{name}");
    }
    lands(&system).await;
    assert_eq!(system.sim.counters().commands, sent + 1, "{name}");
}

#[test]
fn in_the_gateway() {
    each(gateway_points(Flow::Stop), |name, point| {
        check_gateway(name, point)
    });
}

async fn check_service(name: &'static str, point: drones::CrashPoint) {
    let mut system = System::start_with(EMBEDDED, brisk).await;
    system.drones.process.terminate();
    restart_service(&mut system, Some(name)).await;
    let mission = stage::mission(&system).await;
    let told = land().send(&system).await;
    let kind = told.problem();
    assert_eq!(kind, "may-not-have-stopped", "{name}: {}", told.text());
    assert_eq!(told.expect(504).json()["effect"], "maybe");
    aborted(&mut system.drones.process);
    let sent = u64::from(point == drones::CrashPoint::StopAfterLink);
    assert_eq!(system.sim.counters().commands, sent, "{name}");
    restart_service(&mut system, None).await;
    let flies = active(&system).await;
    if sent == 1 {
        assert!(flies.is_null(), "{name}: {flies}");
    } else {
        assert_eq!(flies, mission.as_str(), "{name}");
    }
    lands(&system).await;
}

#[test]
fn in_the_drone_service() {
    each(service_points(Flow::Stop), |name, point| {
        check_service(name, point)
    });
}

use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{Started, Swarm, SwarmConfig};
use crate::contract::{Command, Formation, MissionType};
use crate::geometry::Point;
use crate::link::LinkMission;
use crate::link::protocol::{Report, WireDrone, WireProgress};
use crate::paths::pad;
use crate::sim::vehicle::{Phase, STEP_SECONDS};

mod flights;
mod stops;

fn mission(id: u128, kind: MissionType, formation: Formation, count: u32) -> LinkMission {
    LinkMission {
        id: Uuid::from_u128(id),
        kind,
        formation,
        waypoints: vec![Point::new(0.0, 0.0, 6.0), Point::new(30.0, 0.0, 6.0)],
        drone_count: count,
        spacing_meters: 3.0,
        starts: vec![],
    }
}

fn lanes(id: u128) -> LinkMission {
    mission(id, MissionType::Waypoint, Formation::Line, 2)
}

fn swarm(network_steps: u32) -> Swarm {
    Swarm::new(&SwarmConfig {
        drones: 3,
        network_steps,
        ..SwarmConfig::default()
    })
}

fn fly(swarm: &mut Swarm, mission: &LinkMission) {
    assert_eq!(swarm.start(mission), Started::Flying);
}

fn steps(swarm: &mut Swarm, count: u32) {
    for _ in 0..count {
        swarm.step();
    }
}

/// Steps until the mission is complete; more than ten minutes is a fault.
fn complete(swarm: &mut Swarm) {
    for _ in 0..6_000 {
        swarm.step();
        if progress(swarm).is_none_or(|mission| mission.complete) {
            return;
        }
    }
    panic!("the mission does not end: {:?}", swarm.vehicles);
}

fn state(swarm: &Swarm) -> (Vec<WireDrone>, Option<WireProgress>) {
    match swarm.report(0) {
        Report::State {
            drones, mission, ..
        } => (drones, mission),
        other => panic!("a state, not {other:?}"),
    }
}

fn progress(swarm: &Swarm) -> Option<WireProgress> {
    state(swarm).1
}

fn modes(swarm: &Swarm) -> Vec<String> {
    let (drones, _) = state(swarm);
    drones
        .into_iter()
        .map(|drone| drone.mode.unwrap_or_default())
        .collect()
}

fn positions(swarm: &Swarm) -> Vec<Point> {
    swarm.vehicles.iter().map(|drone| drone.position).collect()
}

/// The hash of all positions and charges, step by step.
fn trace(config: &SwarmConfig) -> String {
    let mut swarm = Swarm::new(config);
    let mut hash = Sha256::new();
    fly(
        &mut swarm,
        &mission(1, MissionType::Formation, Formation::V, 3),
    );
    for step in 0..800 {
        if step == 300 {
            swarm.command(Command::Rtl);
        }
        swarm.step();
        for drone in &swarm.vehicles {
            let at = drone.position;
            for number in [at.x, at.y, at.z, drone.battery_percent] {
                hash.update(number.to_be_bytes());
            }
        }
    }
    format!("{:x?}", hash.finalize())
}

#[test]
fn the_same_seed_flies_the_same_flight() {
    let windy = |seed| SwarmConfig {
        seed,
        wind: 1.5,
        ..SwarmConfig::default()
    };
    assert_eq!(trace(&windy(4)), trace(&windy(4)));
    assert_ne!(trace(&windy(4)), trace(&windy(5)));
    assert_ne!(trace(&windy(4)), trace(&SwarmConfig::default()));
}

/// Reading the state changes nothing.
#[test]
fn the_flight_does_not_depend_on_who_looks() {
    let mission = mission(1, MissionType::Formation, Formation::V, 3);
    let (mut watched, mut alone) = (swarm(1), swarm(1));
    fly(&mut watched, &mission);
    fly(&mut alone, &mission);
    for _ in 0..300 {
        for _ in 0..3 {
            let _ = watched.report(9);
        }
        watched.step();
        alone.step();
    }
    assert_eq!(positions(&watched), positions(&alone));
}

#[test]
fn a_mission_flies_once_however_often_it_comes() {
    let mut swarm = swarm(1);
    fly(&mut swarm, &lanes(1));
    assert_eq!(swarm.start(&lanes(1)), Started::AlreadyKnown);
    complete(&mut swarm);
    assert_eq!(swarm.start(&lanes(1)), Started::AlreadyKnown);
    steps(&mut swarm, 50);
    assert!(
        state(&swarm)
            .0
            .iter()
            .all(|drone| drone.armed == Some(false))
    );
    // Nor after so many others that the report no longer names it.
    for id in 2..80 {
        fly(&mut swarm, &lanes(id));
        swarm.command(Command::Land);
    }
    let Report::State { known_missions, .. } = swarm.report(0) else {
        panic!("a state");
    };
    assert_eq!(known_missions.len(), 64);
    assert_eq!(known_missions[63], Uuid::from_u128(79));
    assert!(!known_missions.contains(&Uuid::from_u128(1)));
    assert_eq!(swarm.start(&lanes(1)), Started::AlreadyKnown);
}

#[test]
fn a_start_that_cannot_be_flown_is_refused_with_its_reason() {
    let check = |swarm: &mut Swarm, mission: &LinkMission, part: &str| {
        let before = positions(swarm);
        let Started::Refused(reason) = swarm.start(mission) else {
            panic!("refused: {part}");
        };
        assert!(reason.contains(part), "{reason}");
        assert_eq!(positions(swarm), before);
    };
    let mut swarm = swarm(1);
    check(
        &mut swarm,
        &LinkMission {
            drone_count: 4,
            ..lanes(1)
        },
        "4 drones asked for, 3 are there",
    );
    check(
        &mut swarm,
        &LinkMission {
            starts: vec![pad(0), Point::new(0.0, 4.5, 0.0)],
            ..lanes(1)
        },
        "drone_2 is 1.50 m from its start",
    );
    swarm.vehicles[1].battery_percent = 20.0;
    check(&mut swarm, &lanes(1), "the battery of drone_2 is low");
    swarm.vehicles[1].battery_percent = 21.0;
    swarm.vehicles[0].radio = false;
    check(&mut swarm, &lanes(1), "drone_1 does not answer");
    swarm.vehicles[0].radio = true;
    // A refused id is not used up.
    fly(&mut swarm, &lanes(1));
    check(
        &mut swarm,
        &lanes(2),
        "mission 00000000-0000-0000-0000-000000000001 is flying",
    );
}

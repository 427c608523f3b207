//! Stops, lost radios and low batteries.

use super::{
    Command, Formation, MissionType, Phase, Swarm, SwarmConfig, complete, fly, lanes, mission,
    modes, positions, progress, state, steps, swarm,
};
use crate::paths::pad;

/// A swarm in the middle of a two-lane mission, drone_3 on its pad.
fn flying() -> Swarm {
    let mut swarm = swarm(1);
    fly(&mut swarm, &lanes(1));
    steps(&mut swarm, 120);
    assert!(positions(&swarm)[0].x > 3.0);
    swarm
}

fn on_ground(swarm: &mut Swarm, limit: u32) {
    for _ in 0..limit {
        if state(swarm)
            .0
            .iter()
            .all(|drone| drone.armed == Some(false))
        {
            return;
        }
        swarm.step();
    }
    panic!("still armed: {:?}", swarm.vehicles);
}

#[test]
fn every_stop_ends_the_mission_and_is_acknowledged_by_each_drone() {
    for (command, mode) in [
        (Command::Rtl, "AUTO.RTL"),
        (Command::Land, "AUTO.LAND"),
        (Command::Hold, "AUTO.LOITER"),
    ] {
        let mut swarm = flying();
        let acks = swarm.command(command);
        let named: Vec<(&str, bool)> = acks
            .iter()
            .map(|ack| (ack.id.as_str(), ack.acknowledged))
            .collect();
        assert_eq!(
            named,
            [("drone_1", true), ("drone_2", true), ("drone_3", true)]
        );
        assert_eq!(progress(&swarm), None);
        assert_eq!(modes(&swarm)[..2], [mode, mode]);
        assert_eq!(state(&swarm).0[2].armed, Some(false));
    }
}

#[test]
fn hold_freezes() {
    let mut swarm = flying();
    swarm.command(Command::Hold);
    let before = positions(&swarm);
    steps(&mut swarm, 500);
    assert_eq!(positions(&swarm), before);
}

#[test]
fn land_descends_in_place() {
    let mut swarm = flying();
    swarm.command(Command::Land);
    let before = positions(&swarm);
    swarm.step();
    let fallen = before[0].z - positions(&swarm)[0].z;
    assert!((fallen - 0.07).abs() < 1e-9);
    on_ground(&mut swarm, 300);
    for (from, to) in before.iter().zip(positions(&swarm)) {
        assert_eq!((from.x, from.y), (to.x, to.y));
        assert!(to.z <= 0.05);
    }
}

#[test]
fn rtl_climbs_flies_level_and_lands_on_the_pad() {
    let mut swarm = flying();
    swarm.command(Command::Rtl);
    let mut highest: f64 = 0.0;
    for _ in 0..600 {
        let at = positions(&swarm)[0];
        highest = highest.max(at.z);
        let far = at.minus(pad(0)).horizontal() > 0.5;
        let moved = at.x < 3.0;
        assert!(!(far && moved) || at.z > 9.4, "not level: {at:?}");
        swarm.step();
    }
    assert!((9.4..10.01).contains(&highest), "{highest}");
    on_ground(&mut swarm, 1);
    for (index, at) in (0..2).zip(positions(&swarm)) {
        assert!(at.minus(pad(index)).horizontal() <= 0.5, "{at:?}");
    }
}

#[test]
fn a_stop_before_take_off_leaves_the_drones_on_the_ground() {
    for command in [Command::Rtl, Command::Land, Command::Hold] {
        let mut swarm = swarm(1);
        fly(&mut swarm, &lanes(1));
        steps(&mut swarm, 10);
        let before = positions(&swarm);
        swarm.command(command);
        assert!(
            state(&swarm)
                .0
                .iter()
                .all(|drone| drone.armed == Some(false))
        );
        steps(&mut swarm, 100);
        assert_eq!(positions(&swarm), before);
    }
}

#[test]
fn landed_drones_ignore_a_stop_and_a_complete_mission_stays_complete() {
    let mut swarm = swarm(1);
    fly(&mut swarm, &lanes(1));
    complete(&mut swarm);
    let before = positions(&swarm);
    swarm.command(Command::Rtl);
    steps(&mut swarm, 100);
    assert_eq!(positions(&swarm), before);
    assert!(progress(&swarm).is_some_and(|mission| mission.complete));
}

#[test]
fn a_landing_drone_can_be_sent_home() {
    let mut swarm = flying();
    swarm.command(Command::Land);
    steps(&mut swarm, 20);
    swarm.command(Command::Rtl);
    on_ground(&mut swarm, 1_000);
    assert!(positions(&swarm)[0].minus(pad(0)).horizontal() <= 0.5);
}

fn losing(drone: u32, step: u64) -> Swarm {
    Swarm::new(&SwarmConfig {
        drones: 3,
        radio_losses: vec![(drone, step)],
        ..SwarmConfig::default()
    })
}

#[test]
fn a_drone_without_radio_does_not_acknowledge_and_comes_home_by_itself() {
    let mut swarm = losing(1, 100);
    fly(&mut swarm, &lanes(1));
    steps(&mut swarm, 120);
    let acks = swarm.command(Command::Land);
    assert!(acks[0].acknowledged && !acks[1].acknowledged);
    assert_eq!(swarm.vehicles[0].phase, Phase::Landing);
    assert_eq!(swarm.vehicles[1].phase, Phase::Mission);
    // Its report stays as it was last heard, and ages.
    let heard = state(&swarm).0[1].clone();
    assert_eq!(heard.age_ms, 2_100);
    let really = positions(&swarm)[1];
    assert!((heard.x - really.x).abs() > 3.0);

    steps(&mut swarm, 29);
    assert_eq!(swarm.vehicles[1].phase, Phase::Mission);
    steps(&mut swarm, 3);
    assert_eq!(
        swarm.vehicles[1].phase,
        Phase::Returning,
        "5 s without radio"
    );
    steps(&mut swarm, 1_000);
    assert_eq!(swarm.vehicles[1].phase, Phase::Grounded);
    assert!(positions(&swarm)[1].minus(pad(1)).horizontal() <= 0.5);
    assert_eq!(state(&swarm).0[1].mode.as_deref(), Some("OFFBOARD"));
}

#[test]
fn a_follower_that_does_not_hear_its_leader_comes_home() {
    let mut swarm = losing(0, 100);
    fly(
        &mut swarm,
        &mission(1, MissionType::Formation, Formation::Line, 3),
    );
    steps(&mut swarm, 110);
    assert_eq!(swarm.vehicles[1].phase, Phase::Mission);
    steps(&mut swarm, 3);
    assert_eq!(
        swarm.vehicles[1].phase,
        Phase::Returning,
        "1 s without leader"
    );
    assert_eq!(swarm.vehicles[2].phase, Phase::Returning);
    assert_eq!(swarm.vehicles[0].phase, Phase::Mission);
}

#[test]
fn a_low_battery_sends_a_drone_home() {
    let mut swarm = flying();
    swarm.vehicles[0].battery_percent = 20.004;
    swarm.step();
    assert_eq!(swarm.vehicles[0].phase, Phase::Mission);
    swarm.step();
    assert_eq!(swarm.vehicles[0].phase, Phase::Returning);
    assert_eq!(swarm.vehicles[1].phase, Phase::Mission);
    complete(&mut swarm);
}

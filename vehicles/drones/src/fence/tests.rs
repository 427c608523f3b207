use jiff::{SignedDuration, Timestamp};

use super::{Fence, FenceBreach};
use crate::contract::MissionRequest;
use crate::contract::state::{BridgeMode, DroneReport, SwarmState};
use crate::geometry::Point;
use crate::limits::Limits;
use crate::preview::preview;

fn now() -> Timestamp {
    Timestamp::from_second(1_000).unwrap()
}

fn request(spacing: f64) -> MissionRequest {
    let body = format!(
        r#"{{"name":"t","type":"waypoint","droneCount":2,"spacingMeters":{spacing},
            "waypoints":[{{"x":0,"y":0,"z":5}},{{"x":20,"y":0,"z":5}}]}}"#
    );
    Limits::default().read_mission(body.as_bytes()).unwrap()
}

fn drone(id: &str, x: f64, y: f64) -> DroneReport {
    DroneReport {
        id: id.to_owned(),
        position: Point::new(x, y, 0.0),
        armed: Some(false),
        mode: None,
        battery_percent: None,
        waypoint_index: 0,
        updated_at: now(),
    }
}

fn swarm() -> SwarmState {
    SwarmState {
        bridge: BridgeMode::Connected,
        reason: None,
        connection: 1,
        received_at: Some(now()),
        drones: vec![
            drone("drone_1", 0.0, 0.0),
            drone("drone_2", 0.0, 3.0),
            drone("drone_3", 0.0, 60.0),
        ],
        mission: None,
        known_missions: vec![],
    }
}

fn fence() -> Fence {
    preview(&request(3.0), &swarm(), 4, now()).fence
}

/// Compares the fence of the swarm at rest with the swarm as `change` left it.
fn check(change: impl FnOnce(&mut SwarmState), expected: Result<(), FenceBreach>) {
    let mut state = swarm();
    change(&mut state);
    let fresh = preview(&request(3.0), &state, 4, now());
    assert_eq!(fence().compare(&fresh, &state, now()), expected);
}

fn ago(milliseconds: i64) -> Timestamp {
    now() - SignedDuration::from_millis(milliseconds)
}

fn stale(age: f64) -> Result<(), FenceBreach> {
    Err(FenceBreach::Stale { age: Some(age) })
}

#[test]
fn nothing_changed_is_no_breach() {
    check(|_| (), Ok(()));
}

#[test]
fn a_stop_in_between_is_a_breach_whatever_else_is() {
    let mut state = swarm();
    state.bridge = BridgeMode::Disconnected;
    let fresh = preview(&request(3.0), &state, 5, now());
    assert_eq!(
        fence().compare(&fresh, &state, now()),
        Err(FenceBreach::StoppedSince { then: 4, now: 5 })
    );
}

#[test]
fn a_drone_may_drift_half_a_meter_and_no_more() {
    check(|state| state.drones[1].position.x = 0.5, Ok(()));
    check(
        |state| state.drones[1].position.x = 0.51,
        Err(FenceBreach::Moved {
            drone: "drone_2".to_owned(),
            meters: 0.51,
        }),
    );
}

#[test]
fn positions_older_than_two_seconds_are_a_breach() {
    check(|state| state.drones[0].updated_at = ago(2_000), Ok(()));
    check(|state| state.drones[0].updated_at = ago(2_100), stale(2.1));
    check(|state| state.received_at = Some(ago(2_100)), stale(2.1));
    check(|state| state.bridge = BridgeMode::Disconnected, stale(0.0));
    check(
        |state| *state = SwarmState::unknown(),
        Err(FenceBreach::Stale { age: None }),
    );
}

#[test]
fn an_old_report_of_another_drone_matters_while_it_may_fly() {
    check(|state| state.drones[2].updated_at = ago(9_000), Ok(()));
    check(
        |state| {
            state.drones[2].updated_at = ago(9_000);
            state.drones[2].armed = Some(true);
        },
        stale(9.0),
    );
}

#[test]
fn a_drone_that_is_no_longer_reported_cannot_fly() {
    check(
        |state| {
            state.drones.remove(1);
        },
        Err(FenceBreach::Unreported {
            drone: "drone_2".to_owned(),
        }),
    );
}

#[test]
fn other_paths_for_the_same_starts_are_a_breach() {
    let state = swarm();
    let fresh = preview(&request(3.001), &state, 4, now());
    assert_eq!(
        fence().compare(&fresh, &state, now()),
        Err(FenceBreach::PathChanged)
    );
}

#[test]
fn a_drone_that_came_into_the_way_is_a_conflict() {
    let mut state = swarm();
    state.drones[2].position = Point::new(10.0, 0.0, 5.0);
    let fresh = preview(&request(3.0), &state, 4, now());
    assert_eq!(
        fence().compare(&fresh, &state, now()),
        Err(FenceBreach::Conflicting(fresh.preview.conflicts.clone()))
    );
    assert_eq!(
        fresh.check_direct(&state, now()),
        Err(FenceBreach::Conflicting(fresh.preview.conflicts.clone()))
    );
}

#[test]
fn a_direct_mission_needs_present_positions_too() {
    let mut state = swarm();
    let fresh = preview(&request(3.0), &state, 4, now());
    assert_eq!(fresh.check_direct(&state, now()), Ok(()));
    state.received_at = Some(ago(3_000));
    assert_eq!(fresh.check_direct(&state, now()), stale(3.0));
}

#[test]
fn the_path_hash_is_of_the_flown_points_alone() {
    let mut state = swarm();
    state.drones[0].position.x = 0.3;
    let moved = preview(&request(3.0), &state, 9, now()).fence;
    assert_eq!(moved.path_hash, fence().path_hash);
    // Pinned: plans approved before an update are dispatched after it.
    assert_eq!(
        fence().path_hash,
        "9836b9cc3979b2ddaf0f3236cd92a89846336c8a309bc85487b3ef5171bbcade"
    );
}

#[test]
fn a_fence_reads_back() {
    let mut state = swarm();
    state.drones[0].position = Point::new(0.1 + 0.2, 1.0 / 3.0, 1e-300);
    let fence = preview(&request(3.0), &state, 9, now()).fence;
    let text = serde_json::to_string(&fence).unwrap();
    assert_eq!(serde_json::from_str::<Fence>(&text).unwrap(), fence);
}

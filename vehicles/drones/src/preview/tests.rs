use jiff::Timestamp;
use serde_json::json;

use super::{Conflict, Previewed, preview};
use crate::contract::MissionRequest;
use crate::contract::state::{BridgeMode, DroneReport, SwarmState};
use crate::geometry::Point;
use crate::limits::Limits;

mod golden;

fn now() -> Timestamp {
    Timestamp::from_second(1_000).unwrap()
}

fn request(value: &serde_json::Value) -> MissionRequest {
    Limits::default()
        .read_mission(value.to_string().as_bytes())
        .unwrap()
}

fn mission(
    kind: &str,
    shape: &str,
    count: u32,
    spacing: f64,
    route: &[[f64; 3]],
) -> MissionRequest {
    let waypoints: Vec<serde_json::Value> = route
        .iter()
        .map(|[x, y, z]| json!({"x": x, "y": y, "z": z}))
        .collect();
    request(&json!({
        "name": "t",
        "type": kind,
        "formation": shape,
        "waypoints": waypoints,
        "droneCount": count,
        "spacingMeters": spacing,
    }))
}

/// A live swarm with its first drones at these places, landed.
fn swarm(places: &[[f64; 3]]) -> SwarmState {
    SwarmState {
        bridge: BridgeMode::Connected,
        reason: None,
        connection: 1,
        received_at: Some(now()),
        drones: places
            .iter()
            .enumerate()
            .map(|(index, [x, y, z])| DroneReport {
                id: format!("drone_{}", index + 1),
                position: Point::new(*x, *y, *z),
                armed: Some(false),
                mode: None,
                battery_percent: None,
                waypoint_index: 0,
                updated_at: now(),
            })
            .collect(),
        mission: None,
        known_missions: vec![],
    }
}

fn see(request: &MissionRequest, state: &SwarmState) -> Previewed {
    preview(request, state, 7, now())
}

const SIDE_BY_SIDE: [[f64; 3]; 2] = [[0.0, 0.0, 5.0], [20.0, 0.0, 5.0]];

#[test]
fn the_answer_has_the_documented_form() {
    let request = mission("formation", "v", 3, 3.0, &[[0.0, 0.0, 6.0]]);
    let seen = see(&request, &swarm(&[[0.0, 0.0, 0.0], [0.0, 3.0, 0.0]]));
    let value = serde_json::to_value(&seen).unwrap();
    assert_eq!(
        value["preview"]["drones"][1],
        json!({
            "droneId": "drone_2",
            "path": [{"x": 0.0, "y": 3.0, "z": 0.0}, {"x": -3.0, "y": 3.0, "z": 6.0}],
            "lengthMeters": 6.71,
        })
    );
    assert_eq!(value["preview"]["estimatedDurationSeconds"], 5.6);
    assert_eq!(value["preview"]["minSeparationMeters"], 1.35);
    assert_eq!(
        value["preview"]["conflicts"],
        json!([{
            "droneA": "drone_2",
            "droneB": "drone_3",
            "atSeconds": 1.5,
            "distanceMeters": 1.35,
        }])
    );
    assert_eq!(value["conflicted"], true);
    assert_eq!(value["fence"]["stopEpoch"], 7);
    assert_eq!(value["fence"]["takenAt"], "1970-01-01T00:16:40Z");
    assert_eq!(value["fence"]["bridgeMode"], "Connected");
    assert_eq!(
        value["fence"]["starts"],
        json!([
            {"droneId": "drone_1", "x": 0.0, "y": 0.0, "z": 0.0, "ageSeconds": 0.0},
            {"droneId": "drone_2", "x": 0.0, "y": 3.0, "z": 0.0, "ageSeconds": 0.0},
            {"droneId": "drone_3", "x": 0.0, "y": 6.0, "z": 0.0, "ageSeconds": null},
        ])
    );
    assert_eq!(serde_json::from_value::<Previewed>(value).unwrap(), seen);
}

fn assumes(seen: &Previewed, part: &str) -> bool {
    seen.preview
        .assumptions
        .iter()
        .any(|sentence| sentence.contains(part))
}

#[test]
fn a_drone_outside_the_mission_is_an_obstacle_where_it_is() {
    let request = mission("waypoint", "line", 1, 2.0, &SIDE_BY_SIDE);
    let mut state = swarm(&[[0.0, 0.0, 0.0], [10.0, 1.0, 5.0]]);
    let seen = see(&request, &state);
    assert_eq!(
        seen.preview.conflicts,
        [Conflict {
            drone_a: "drone_1".to_owned(),
            drone_b: "drone_2".to_owned(),
            at_seconds: 7.5,
            distance_meters: 1.0,
        }]
    );
    assert!(seen.conflicted);
    assert_eq!(seen.fence.others[0].drone_id, "drone_2");
    assert!(assumes(
        &seen,
        "drone_2 is not part of the mission and counts as an obstacle at (10.0, 1.0, 5.0)"
    ));

    // The same drone out of the way, and the same drone as a moving one.
    state.drones[1].position.y = 2.0;
    assert!(!see(&request, &state).conflicted);
    state.drones[1].armed = Some(true);
    assert!(assumes(
        &see(&request, &state),
        "drone_2 is not part of the mission and moves"
    ));
}

#[test]
fn one_drone_alone_has_no_separation() {
    let request = mission("waypoint", "line", 1, 2.0, &SIDE_BY_SIDE);
    let seen = see(&request, &swarm(&[[0.0, 0.0, 0.0]]));
    assert_eq!(seen.preview.min_separation_meters, None);
    assert!(!seen.conflicted);
}

#[test]
fn doubtful_positions_are_said() {
    let request = mission("waypoint", "line", 2, 3.0, &SIDE_BY_SIDE);
    let mut state = swarm(&[[0.0, 0.0, 0.0]]);
    let seen = see(&request, &state);
    assert!(assumes(
        &seen,
        "placed on their pads: drone_2 at (0.0, 3.0, 0.0)"
    ));
    assert!(!assumes(&seen, "s old"));
    assert!(!assumes(&seen, "disconnected"));

    state.drones[0].updated_at = Timestamp::from_second(990).unwrap();
    let seen = see(&request, &state);
    assert!(assumes(&seen, "The position of drone_1 is 10.0 s old"));
    assert_eq!(seen.fence.starts[0].age_seconds, Some(10.0));

    state.bridge = BridgeMode::Disconnected;
    state.received_at = Some(Timestamp::from_second(995).unwrap());
    let seen = see(&request, &state);
    assert!(assumes(&seen, "the last one reported, 5.0 s ago"));
    assert_eq!(seen.fence.bridge_mode, BridgeMode::Disconnected);

    let seen = see(&request, &SwarmState::unknown());
    assert!(assumes(&seen, "no position was ever reported"));
    assert!(assumes(
        &seen,
        "drone_1 at (0.0, 0.0, 0.0), drone_2 at (0.0, 3.0, 0.0)"
    ));
}

#[test]
fn the_bound_itself_is_allowed_and_nothing_below_it() {
    for (spacing, conflicted) in [
        (2.0, false),
        (2.000_1, false),
        (1.999_9, true),
        (1.99, true),
    ] {
        let starts = [[0.0, 0.0, 5.0], [0.0, spacing, 5.0]];
        let request = mission("waypoint", "line", 2, spacing, &SIDE_BY_SIDE);
        let seen = see(&request, &swarm(&starts));
        assert_eq!(seen.conflicted, conflicted, "{spacing}");
    }
}

/// Lanes exactly as far apart as the bound: rounding noise must not make a
/// conflict of them, be the route short or long.
#[test]
fn noise_at_the_bound_is_no_conflict() {
    let (y, lane) = (0.3, 0.3 + 2.0);
    assert!(lane - y < 2.0, "the noise this is about");
    let request = mission("waypoint", "line", 2, 2.0, &[[0.0, y, 5.0], [20.0, y, 5.0]]);
    let seen = see(&request, &swarm(&[[0.0, y, 5.0], [0.0, lane, 5.0]]));
    assert_eq!(seen.preview.conflicts, []);

    let route: Vec<[f64; 3]> = (0..100)
        .map(|n| {
            let n = f64::from(n);
            [
                (n * 0.7).sin() * 900.1,
                (n * 1.3).cos() * 90.3,
                50.0 + n / 7.0,
            ]
        })
        .collect();
    let request = mission("waypoint", "line", 5, 2.0, &route);
    let [x, y, z] = route[0];
    let starts: Vec<[f64; 3]> = (0..5).map(|n| [x, y + 2.0 * f64::from(n), z]).collect();
    let seen = see(&request, &swarm(&starts));
    assert_eq!(seen.preview.min_separation_meters, Some(2.0));
    assert_eq!(seen.preview.conflicts, []);
}

/// The route is so long that a sampler which bounds its samples steps over
/// the meeting of the two drones and calls the plan safe.
#[test]
fn a_meeting_between_samples_is_found() {
    let mut route = vec![[0.0, 0.0, 100.0], [0.0, 40.0, 100.0], [0.0, 0.0, 100.0]];
    route.extend((0..90).map(|n| {
        let x = if n % 2 == 0 { 900.0 } else { -900.0 };
        [x, 0.0, 100.0]
    }));
    let request = mission("waypoint", "line", 2, 3.0, &route);
    let seen = see(&request, &swarm(&[[0.0, 0.0, 99.0], [-12.0, 3.0, 100.0]]));
    assert_eq!(seen.preview.min_separation_meters, Some(0.0));
    assert_eq!(
        seen.preview.conflicts,
        [Conflict {
            drone_a: "drone_1".to_owned(),
            drone_b: "drone_2".to_owned(),
            at_seconds: 22.5,
            distance_meters: 0.0,
        }]
    );
}

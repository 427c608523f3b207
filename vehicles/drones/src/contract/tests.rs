use jiff::Timestamp;
use serde_json::json;
use uuid::Uuid;

use super::state::{BridgeMode, DroneReport, DroneStatus, ReportedMission, SwarmState};
use super::{Command, DroneAck, Formation, Mission, MissionStatus, MissionType, drone_id};
use crate::geometry::Point;

fn report(armed: Option<bool>, mode: Option<&str>) -> DroneReport {
    DroneReport {
        id: "drone_1".to_owned(),
        position: Point::new(1.0, 2.0, 3.0),
        armed,
        mode: mode.map(str::to_owned),
        battery_percent: Some(99.5),
        waypoint_index: 2,
        updated_at: Timestamp::from_second(1_000).unwrap(),
    }
}

#[test]
fn the_status_follows_the_flight_mode() {
    for (armed, mode, expected) in [
        (None, Some("AUTO.LAND"), DroneStatus::Unknown),
        (Some(false), Some("AUTO.LAND"), DroneStatus::Landed),
        (Some(true), Some("AUTO.TAKEOFF"), DroneStatus::TakingOff),
        (Some(true), Some("AUTO.LAND"), DroneStatus::Landing),
        (Some(true), Some("AUTO.RTL"), DroneStatus::Returning),
        (Some(true), Some("AUTO.LOITER"), DroneStatus::Holding),
        (Some(true), Some("OFFBOARD"), DroneStatus::InFlight),
        (Some(true), None, DroneStatus::InFlight),
    ] {
        assert_eq!(report(armed, mode).status(), expected, "{armed:?} {mode:?}");
    }
}

#[test]
fn a_mission_has_the_documented_names() {
    let mission = Mission {
        id: Uuid::nil(),
        name: "survey".to_owned(),
        kind: MissionType::Formation,
        formation: Formation::V,
        waypoints: vec![Point::new(0.0, 0.0, 5.0)],
        drone_count: 3,
        spacing_meters: 2.5,
        created_at_utc: Timestamp::from_second(0).unwrap(),
        status: MissionStatus::Active,
        ended_at_utc: None,
    };
    let value = serde_json::to_value(&mission).unwrap();
    assert_eq!(
        value,
        json!({
            "id": "00000000-0000-0000-0000-000000000000",
            "name": "survey",
            "type": "LeaderFollowerFormation",
            "formation": "V",
            "waypoints": [{"x": 0.0, "y": 0.0, "z": 5.0}],
            "droneCount": 3,
            "spacingMeters": 2.5,
            "createdAtUtc": "1970-01-01T00:00:00Z",
            "status": "Active",
            "endedAtUtc": null,
        })
    );
    assert_eq!(serde_json::from_value::<Mission>(value).unwrap(), mission);
    let answer = super::AbortAnswer {
        mission: super::Aborted::Mission(mission),
        command: Command::Rtl,
        recorded: true,
        drones: vec![DroneAck {
            drone_id: drone_id(0),
            acknowledged: false,
        }],
    };
    let value = serde_json::to_value(&answer).unwrap();
    assert_eq!(value["name"], "survey");
    assert_eq!(value["command"], "Rtl");
    assert_eq!(
        value["drones"],
        json!([{"droneId": "drone_1", "acknowledged": false}])
    );
}

#[test]
fn the_swarm_view_has_the_documented_names_and_ages() {
    let mut state = SwarmState {
        bridge: BridgeMode::Simulated,
        reason: None,
        connection: 1,
        received_at: Some(Timestamp::from_second(1_000).unwrap()),
        drones: vec![report(Some(true), Some("OFFBOARD"))],
        mission: Some(ReportedMission {
            id: Uuid::nil(),
            complete: false,
        }),
        known_missions: vec![],
    };
    let now = Timestamp::from_second(1_003).unwrap();
    assert_eq!(
        serde_json::to_value(state.view(now)).unwrap(),
        json!({
            "drones": [{
                "id": "drone_1",
                "position": {"x": 1.0, "y": 2.0, "z": 3.0},
                "batteryPercent": 99.5,
                "status": "InFlight",
                "armed": true,
                "flightMode": "OFFBOARD",
                "currentWaypointIndex": 2,
                "lastUpdatedUtc": "1970-01-01T00:16:40Z",
            }],
            "activeMissionId": "00000000-0000-0000-0000-000000000000",
            "activeMissionComplete": false,
            "timestampUtc": "1970-01-01T00:16:43Z",
            "bridgeMode": "Simulated",
            "lastStateAgeSeconds": 3.0,
        })
    );
    state.mission = Some(ReportedMission {
        id: Uuid::nil(),
        complete: true,
    });
    let view = state.view(now);
    assert_eq!(view.active_mission_id, None);
    assert!(view.active_mission_complete);
}

#[test]
fn a_clock_set_back_makes_a_report_old_not_fresh() {
    let report = report(Some(true), None);
    let past = Timestamp::from_second(400).unwrap();
    assert_eq!(report.age_seconds(past), 600.0);
}

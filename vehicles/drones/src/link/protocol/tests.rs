use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::io::BufReader;
use uuid::Uuid;

use super::{
    Incoming, MAX_FRAME_BYTES, Report, Request, WireAck, WireDrone, WireMission, WireProgress,
    encode, read_report, read_request, receive, state_of,
};
use crate::contract::state::BridgeMode;
use crate::contract::{Command, Formation, MissionType};
use crate::link::LinkMission;

const ID: Uuid = Uuid::from_u128(0x0199_0000_0000_7000_8000_0000_0000_0001);

fn mission() -> WireMission {
    WireMission {
        id: ID,
        kind: MissionType::Formation,
        formation: Formation::V,
        waypoints: vec![[0.0, 0.0, 6.0], [30.0, 0.5, 6.0]],
        drone_count: 2,
        spacing_meters: 3.0,
        starts: vec![[0.0, 0.0, 0.0], [0.0, 3.0, 0.0]],
    }
}

fn drone(id: &str) -> WireDrone {
    WireDrone {
        id: id.to_owned(),
        x: 1.0,
        y: 2.0,
        z: 3.0,
        armed: Some(true),
        mode: Some("OFFBOARD".to_owned()),
        battery_percent: Some(98.5),
        waypoint_index: 1,
        age_ms: 1_500,
    }
}

/// The frame has this form, and reads back as what it was.
fn check_request(request: &Request, expected: &Value) {
    let bytes = encode(request).unwrap();
    assert_eq!(bytes.last(), Some(&b'\n'));
    assert_eq!(&serde_json::from_slice::<Value>(&bytes).unwrap(), expected);
    assert_eq!(&read_request(&bytes).unwrap(), request);
}

fn check_report(report: &Report, expected: &Value) {
    let bytes = encode(report).unwrap();
    assert_eq!(&serde_json::from_slice::<Value>(&bytes).unwrap(), expected);
    assert_eq!(&read_report(&bytes).unwrap(), report);
}

#[test]
fn requests_have_the_documented_form() {
    let id = ID.to_string();
    check_request(
        &Request::Claim {
            writer: ID,
            swarm: "swarm-1".to_owned(),
            epoch: 7,
        },
        &json!({"op": "claim", "writer": id, "swarm": "swarm-1", "epoch": 7}),
    );
    check_request(
        &Request::Start {
            seq: 1,
            mission: mission(),
        },
        &json!({"op": "start", "seq": 1, "mission": {
            "id": id, "type": "formation", "formation": "v",
            "waypoints": [[0.0, 0.0, 6.0], [30.0, 0.5, 6.0]],
            "droneCount": 2, "spacingMeters": 3.0,
            "starts": [[0.0, 0.0, 0.0], [0.0, 3.0, 0.0]],
        }}),
    );
    for (command, name) in [
        (Command::Rtl, "rtl"),
        (Command::Land, "land"),
        (Command::Hold, "hold"),
    ] {
        check_request(
            &Request::Command {
                seq: 2,
                command,
                mission_id: None,
            },
            &json!({"op": "command", "seq": 2, "command": name, "missionId": null}),
        );
    }
    check_request(&Request::Counters, &json!({"op": "counters"}));
}

#[test]
fn reports_have_the_documented_form() {
    let id = ID.to_string();
    check_report(
        &Report::Claimed {
            accepted: true,
            reason: None,
        },
        &json!({"op": "claimed", "accepted": true, "reason": null}),
    );
    check_report(
        &Report::State {
            taken_at_ms: 5,
            simulated: true,
            drones: vec![drone("drone_1")],
            mission: Some(WireProgress {
                id: ID,
                complete: false,
            }),
            known_missions: vec![ID],
        },
        &json!({"op": "state", "takenAtMs": 5, "simulated": true, "drones": [{
            "id": "drone_1", "x": 1.0, "y": 2.0, "z": 3.0, "armed": true, "mode": "OFFBOARD",
            "batteryPercent": 98.5, "waypointIndex": 1, "ageMs": 1500,
        }], "mission": {"id": id, "complete": false}, "knownMissions": [id]}),
    );
    check_report(
        &Report::Ack {
            seq: 2,
            drones: vec![WireAck {
                id: "drone_1".to_owned(),
                acknowledged: false,
            }],
            accepted: false,
            already_known: false,
            reason: Some("no".to_owned()),
        },
        &json!({"op": "ack", "seq": 2, "drones": [{"id": "drone_1", "acknowledged": false}],
            "accepted": false, "alreadyKnown": false, "reason": "no"}),
    );
    check_report(
        &Report::Counters {
            starts: 1,
            flights: 2,
            commands: 3,
            refused: 4,
            malformed: 5,
        },
        &json!({"op": "counters", "starts": 1, "flights": 2, "commands": 3, "refused": 4,
            "malformed": 5}),
    );
}

#[test]
fn a_request_with_an_unknown_field_is_refused_by_name() {
    for frame in [
        json!({"op": "command", "seq": 1, "command": "land", "delay": 5}),
        json!({"op": "claim", "writer": ID, "swarm": "s", "epoch": 1, "delay": 5}),
        json!({"op": "start", "seq": 1, "mission": {
            "id": ID, "type": "waypoint", "formation": "line", "waypoints": [[0, 0, 1]],
            "droneCount": 1, "spacingMeters": 1, "delay": 5,
        }}),
    ] {
        let error = read_request(frame.to_string().as_bytes()).unwrap_err();
        assert!(
            error.to_string().contains("unknown field `delay`"),
            "{error}"
        );
    }
    let error = read_request(br#"{"op":"command","seq":1,"command":"Land"}"#).unwrap_err();
    assert!(error.to_string().contains("unknown name `Land`"), "{error}");
}

#[test]
fn a_mission_out_of_bounds_is_refused() {
    let good = LinkMission::try_from(mission()).unwrap();
    assert_eq!(WireMission::from(&good), mission());
    let check = |change: fn(&mut WireMission)| {
        let mut wire = mission();
        change(&mut wire);
        LinkMission::try_from(wire).unwrap_err();
    };
    check(|wire| wire.waypoints.clear());
    check(|wire| wire.waypoints[0][2] = 1e7);
    check(|wire| wire.drone_count = 0);
    check(|wire| wire.drone_count = u32::MAX);
    check(|wire| wire.spacing_meters = 0.0);
    check(|wire| wire.spacing_meters = 1e300);
    check(|wire| wire.starts[1][0] = -1e300);
    check(|wire| {
        wire.starts.pop();
    });
}

#[test]
fn a_state_is_believed_as_a_whole_or_not_at_all() {
    let now = Timestamp::from_second(1_000).unwrap();
    let read = |drones| state_of(false, drones, None, vec![], 1, now);
    let state = read(vec![drone("drone_1"), drone("drone_2")]).unwrap();
    assert_eq!(state.bridge, BridgeMode::Connected);
    assert_eq!(state.drones[0].age_seconds(now), 1.5);
    assert_eq!(state.received_at, Some(now));
    for bad in [
        drone("drone_1"),
        drone(""),
        drone(&"d".repeat(65)),
        WireDrone {
            x: 1e300,
            ..drone("drone_2")
        },
        WireDrone {
            age_ms: u64::MAX,
            ..drone("drone_2")
        },
    ] {
        read(vec![drone("drone_1"), bad]).unwrap_err();
    }
}

async fn frames(bytes: &[u8]) -> Vec<(Incoming, usize)> {
    let mut reader = BufReader::with_capacity(7, bytes);
    let mut buffer = Vec::new();
    let mut found = Vec::new();
    loop {
        let incoming = receive(&mut reader, &mut buffer).await.unwrap();
        let end = incoming != Incoming::Frame;
        found.push((incoming, buffer.len()));
        if end {
            return found;
        }
    }
}

#[tokio::test]
async fn frames_end_with_a_newline_and_have_a_bound() {
    assert_eq!(
        frames(b"abc\n\nde\nrest").await,
        [
            (Incoming::Frame, 3),
            (Incoming::Frame, 0),
            (Incoming::Frame, 2),
            (Incoming::Closed, 4),
        ]
    );
    let mut longest = vec![b'x'; MAX_FRAME_BYTES];
    longest.push(b'\n');
    assert_eq!(
        frames(&longest).await[0],
        (Incoming::Frame, MAX_FRAME_BYTES)
    );
    longest.insert(0, b'x');
    assert_eq!(frames(&longest).await[0].0, Incoming::TooLong);
    assert_eq!(
        frames(&vec![b'x'; 3 * MAX_FRAME_BYTES]).await[0].0,
        Incoming::TooLong
    );
}

proptest! {
    #[test]
    fn bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read_request(&bytes);
        let _ = read_report(&bytes);
    }

    /// A good frame with some bytes changed is read or refused.
    #[test]
    fn broken_frames_never_panic(
        which in 0_usize..4,
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let state = Report::State {
            taken_at_ms: 5,
            simulated: true,
            drones: vec![drone("drone_1"), drone("drone_2")],
            mission: Some(WireProgress { id: ID, complete: false }),
            known_missions: vec![ID],
        };
        let frames = [
            encode(&Request::Start { seq: 1, mission: mission() }).unwrap(),
            encode(&Request::Command { seq: 1, command: Command::Land, mission_id: Some(ID) })
                .unwrap(),
            encode(&Request::Claim { writer: ID, swarm: "s".to_owned(), epoch: 1 }).unwrap(),
            encode(&state).unwrap(),
        ];
        let mut bytes = frames[which].clone();
        for (index, byte) in changes {
            let index = index.index(bytes.len());
            bytes[index] = byte;
        }
        if let Ok(Request::Start { mission, .. }) = read_request(&bytes) {
            let _ = LinkMission::try_from(mission);
        }
        if let Ok(Report::State { drones, mission, known_missions, .. }) = read_report(&bytes) {
            let now = Timestamp::UNIX_EPOCH;
            let _ = state_of(false, drones, mission, known_missions, 1, now);
        }
    }
}

#[test]
fn a_report_that_leaves_missions_out_is_nonsense() {
    let whole = json!({
        "op": "state", "takenAtMs": 0, "drones": [], "mission": null, "knownMissions": [],
    });
    assert!(read_report(whole.to_string().as_bytes()).is_ok());
    for name in ["mission", "knownMissions"] {
        let mut report = whole.clone();
        report.as_object_mut().unwrap().remove(name);
        let error = read_report(report.to_string().as_bytes()).unwrap_err();
        assert!(error.to_string().contains(name), "{error}");
    }
}

use std::collections::BTreeMap;

use jiff::Timestamp;
use uuid::Uuid;

use super::{Missions, Slot};
use crate::contract::state::{BridgeMode, ReportedMission, SwarmState};
use crate::contract::{Formation, Mission, MissionStatus, MissionType};

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn mission(n: u128) -> Mission {
    Mission {
        id: id(n),
        name: "field".to_owned(),
        kind: MissionType::Waypoint,
        formation: Formation::Line,
        waypoints: Vec::new(),
        drone_count: 1,
        spacing_meters: 2.0,
        created_at_utc: at(1),
        status: MissionStatus::Active,
        ended_at_utc: None,
    }
}

fn report(mission: Option<(u128, bool)>, connection: u64) -> SwarmState {
    SwarmState {
        bridge: BridgeMode::Connected,
        connection,
        mission: mission.map(|(n, complete)| ReportedMission {
            id: id(n),
            complete,
        }),
        ..SwarmState::unknown()
    }
}

/// Starts mission 1 on connection 3 at stop epoch 5, hears `reports` (connection, mission) and
/// compares how it stands.
fn check(reports: &[(u64, Option<(u128, bool)>)], expected: MissionStatus) {
    let missions = Missions::new(Vec::new(), 10);
    missions.reserve(id(1)).unwrap();
    missions.insert(mission(1), 5, 3, at(1));
    for (connection, reported) in reports {
        missions.observe(&report(*reported, *connection), at(2));
    }
    let stands = missions.get(id(1)).unwrap().status;
    assert_eq!(stands, expected, "{reports:?}");
    let free = missions.slot() == Slot::Free;
    assert_eq!(free, expected != MissionStatus::Active, "{reports:?}");
}

#[test]
fn reports_end_a_mission() {
    use MissionStatus::{Aborted, Active, Completed};
    check(&[], Active);
    check(&[(3, None)], Active);
    check(&[(3, Some((9, true)))], Active);
    check(&[(3, Some((1, false)))], Active);
    check(&[(3, Some((1, true)))], Completed);
    check(&[(3, Some((1, false))), (3, None)], Aborted);
    check(&[(3, Some((1, false))), (3, Some((2, false)))], Aborted);
    check(&[(4, None)], Aborted);
    check(&[(4, Some((1, false)))], Active);
    check(&[(3, Some((1, true))), (3, None)], Completed);
}

#[test]
fn one_start_holds_the_slot() {
    let missions = Missions::new(Vec::new(), 10);
    assert_eq!(missions.reserve(id(1)), Ok(()));
    assert_eq!(missions.reserve(id(2)), Err(Slot::Starting(id(1))));
    missions.release(id(2));
    assert_eq!(
        missions.slot(),
        Slot::Starting(id(1)),
        "only its holder gives it back"
    );
    missions.insert(mission(1), 0, 0, at(1));
    assert_eq!(missions.reserve(id(2)), Err(Slot::Active(id(1))));
    missions.release(id(1));
    assert_eq!(
        missions.slot(),
        Slot::Active(id(1)),
        "what flies is not given back"
    );
    missions.stopped(1, at(2));
    assert_eq!(missions.reserve(id(2)), Ok(()));
}

#[test]
fn a_stop_ends_what_flies_and_what_was_sent_before_it() {
    let missions = Missions::new(Vec::new(), 10);
    missions.reserve(id(1)).unwrap();
    missions.stopped(6, at(2));
    missions.insert(mission(1), 5, 1, at(3));
    assert_eq!(missions.get(id(1)).unwrap().status, MissionStatus::Aborted);
    assert_eq!(missions.slot(), Slot::Free);
    missions.reserve(id(2)).unwrap();
    missions.insert(mission(2), 6, 1, at(4));
    assert_eq!(missions.get(id(2)).unwrap().status, MissionStatus::Active);
    missions.stopped(7, at(5));
    let ended = missions.get(id(2)).unwrap();
    assert_eq!(
        (ended.status, ended.ended_at_utc),
        (MissionStatus::Aborted, Some(at(5)))
    );
}

#[test]
fn ends_wait_to_be_recorded() {
    let missions = Missions::new(vec![mission(1)], 10);
    assert_eq!(missions.slot(), Slot::Active(id(1)));
    assert!(missions.unrecorded().is_empty());
    missions.stopped(1, at(2));
    let ended = missions.unrecorded();
    let stands: BTreeMap<_, _> = ended.iter().map(|m| (m.id, m.status)).collect();
    assert_eq!(stands, BTreeMap::from([(id(1), MissionStatus::Aborted)]));
    missions.mark_recorded(&ended);
    assert!(missions.unrecorded().is_empty());
}

#[test]
fn the_oldest_are_forgotten() {
    let missions = Missions::new(vec![mission(1), mission(2)], 2);
    missions.insert(mission(3), 0, 0, at(1));
    assert!(missions.get(id(1)).is_none());
    assert!(missions.get(id(2)).is_some() && missions.get(id(3)).is_some());
}

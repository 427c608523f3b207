use std::collections::BTreeMap;

use jiff::Timestamp;
use uuid::Uuid;

use super::{Found, Missions, Slot, Taken, Unsettled};
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

fn none(keep: usize) -> Missions {
    Missions::new(Vec::new(), Vec::new(), keep)
}

/// Starts mission `n` at stop epoch `asked_at` on the connection `sent_on`.
fn fly(missions: &Missions, n: u128, asked_at: u64, sent_on: u64) {
    missions.reserve(mission(n), asked_at).unwrap();
    missions.flies(id(n), sent_on, at(1));
    missions.release(id(n));
}

/// Mission `n`, if the swarm took it.
fn taken(missions: &Missions, n: u128) -> Option<Mission> {
    match missions.find(id(n))? {
        Found::Taken(mission) => Some(mission),
        Found::Unclear(_) => None,
    }
}

/// Starts mission 1 on connection 3 at stop epoch 5, hears `reports` (connection, mission) and
/// compares how it stands.
fn check(reports: &[(u64, Option<(u128, bool)>)], expected: MissionStatus) {
    let missions = none(10);
    fly(&missions, 1, 5, 3);
    for (connection, reported) in reports {
        missions.observe(&report(*reported, *connection), at(2));
    }
    let stands = taken(&missions, 1).unwrap().status;
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
    let missions = none(10);
    assert_eq!(missions.reserve(mission(1), 0), Ok(()));
    assert_eq!(missions.find(id(1)), Some(Found::Unclear(mission(1))));
    assert_eq!(missions.reserve(mission(1), 0), Err(Taken::Itself));
    assert_eq!(missions.reserve(mission(2), 0), Err(Taken::By(id(1))));
    missions.release(id(2));
    assert_eq!(
        missions.slot(),
        Slot::Starting(id(1)),
        "only its holder gives it back"
    );
    missions.flies(id(1), 0, at(1));
    missions.release(id(1));
    assert_eq!(missions.slot(), Slot::Active(id(1)), "it flies");
    assert_eq!(missions.find(id(1)), Some(Found::Taken(mission(1))));
    assert_eq!(missions.reserve(mission(1), 0), Err(Taken::Itself));
    assert_eq!(missions.reserve(mission(2), 0), Err(Taken::By(id(1))));
    missions.stopped(1, at(2));
    assert_eq!(missions.reserve(mission(2), 1), Ok(()));
    missions.release(id(2));
    assert_eq!(missions.find(id(2)), None, "it did not happen");
}

#[test]
fn an_unclear_start_is_known_and_in_the_way_until_it_is_settled() {
    for (flown, expected) in [(false, None), (true, Some(MissionStatus::Active))] {
        let missions = Missions::new(Vec::new(), vec![mission(1)], 10);
        let unclear = (mission(1), Unsettled::SentBy(0));
        assert_eq!(missions.unsettled(), [unclear]);
        assert_eq!(missions.find(id(1)), Some(Found::Unclear(mission(1))));
        assert_eq!(missions.reserve(mission(1), 0), Err(Taken::Itself));
        assert_eq!(missions.reserve(mission(2), 0), Err(Taken::Unsettled));
        missions.settled(id(1), flown, at(2));
        assert!(missions.unsettled().is_empty());
        assert_eq!(taken(&missions, 1).map(|mission| mission.status), expected);
    }
    let missions = none(10);
    missions.reserve(mission(1), 0).unwrap();
    missions.leave(id(1), Unsettled::NotSent);
    missions.release(id(1));
    assert_eq!(missions.unsettled(), [(mission(1), Unsettled::NotSent)]);
}

#[test]
fn a_stop_ends_what_flies_and_what_was_sent_before_it() {
    let missions = none(10);
    missions.reserve(mission(1), 5).unwrap();
    missions.stopped(6, at(2));
    missions.flies(id(1), 1, at(3));
    missions.release(id(1));
    assert_eq!(taken(&missions, 1).unwrap().status, MissionStatus::Aborted);
    assert_eq!(missions.slot(), Slot::Free);
    fly(&missions, 2, 6, 1);
    assert_eq!(taken(&missions, 2).unwrap().status, MissionStatus::Active);
    missions.stopped(7, at(5));
    let ended = taken(&missions, 2).unwrap();
    assert_eq!(
        (ended.status, ended.ended_at_utc),
        (MissionStatus::Aborted, Some(at(5)))
    );
}

#[test]
fn ends_wait_to_be_recorded() {
    let missions = Missions::new(vec![mission(1)], Vec::new(), 10);
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
    let missions = Missions::new(vec![mission(1), mission(2)], Vec::new(), 2);
    missions.stopped(1, at(1));
    fly(&missions, 3, 1, 0);
    assert!(missions.find(id(1)).is_none());
    assert!(missions.find(id(2)).is_some() && missions.find(id(3)).is_some());
}

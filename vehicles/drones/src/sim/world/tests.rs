use proptest::prelude::*;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{ConnectionId, World};
use crate::link::protocol::Report;
use crate::sim::swarm::{Swarm, SwarmConfig};

fn world() -> World {
    World::new(
        Swarm::new(&SwarmConfig::default()),
        Some("swarm-1".to_owned()),
    )
}

/// The last answer, which is the one to this frame.
fn say(world: &mut World, connection: ConnectionId, frame: &Value) -> Value {
    let reports = world.handle(connection, frame.to_string().as_bytes(), 0);
    serde_json::to_value(reports.last().unwrap()).unwrap()
}

fn claim(world: &mut World, connection: ConnectionId, writer: u128, epoch: u64) -> Value {
    let writer = Uuid::from_u128(writer);
    let frame = json!({"op": "claim", "writer": writer, "swarm": "swarm-1", "epoch": epoch});
    say(world, connection, &frame)
}

fn start(id: u128) -> Value {
    json!({"op": "start", "seq": 1, "mission": {
        "id": Uuid::from_u128(id), "type": "waypoint", "formation": "line",
        "waypoints": [[0, 0, 5]], "droneCount": 1, "spacingMeters": 2,
    }})
}

fn land() -> Value {
    json!({"op": "command", "seq": 2, "command": "land", "missionId": null})
}

fn check_counters(world: &mut World, expected: [u64; 5]) {
    let [starts, flights, commands, refused, malformed] = expected;
    assert_eq!(
        say(world, 99, &json!({"op": "counters"})),
        json!({"op": "counters", "starts": starts, "flights": flights, "commands": commands,
            "refused": refused, "malformed": malformed})
    );
}

#[test]
fn only_the_claim_writes() {
    let mut world = world();
    for frame in [start(1), land()] {
        let answer = say(&mut world, 1, &frame);
        assert_eq!(answer["accepted"], false);
        assert!(answer["reason"].as_str().unwrap().contains("claim"));
    }
    check_counters(&mut world, [1, 0, 1, 2, 0]);
    assert_eq!(claim(&mut world, 1, 1, 1)["accepted"], true);
    assert_eq!(say(&mut world, 1, &start(1))["accepted"], true);
    assert_eq!(say(&mut world, 1, &land())["accepted"], true);
    check_counters(&mut world, [2, 1, 2, 2, 0]);
}

#[test]
fn a_claim_of_the_same_writer_fences_the_older_connection() {
    for epoch in [1, 2] {
        let mut world = world();
        claim(&mut world, 1, 1, 1);
        assert_eq!(claim(&mut world, 2, 1, epoch)["accepted"], true);
        assert_eq!(say(&mut world, 1, &start(1))["accepted"], false);
        assert_eq!(say(&mut world, 1, &land())["accepted"], false);
        assert_eq!(say(&mut world, 2, &start(2))["accepted"], true);
        check_counters(&mut world, [2, 1, 1, 2, 0]);
        // The older one cannot come back over the newer one.
        if epoch == 2 {
            assert_eq!(claim(&mut world, 3, 1, 1)["accepted"], false);
        }
        // The end of the fenced connection takes nothing from the newer one.
        world.disconnected(1);
        assert_eq!(say(&mut world, 2, &land())["accepted"], true);
    }
}

#[test]
fn a_second_writer_waits_until_the_first_is_gone() {
    let mut world = world();
    claim(&mut world, 1, 1, 3);
    for epoch in [1, 3, 4] {
        let answer = claim(&mut world, 2, 2, epoch);
        assert_eq!(answer["accepted"], false);
        assert!(
            answer["reason"]
                .as_str()
                .unwrap()
                .contains("holds this swarm")
        );
    }
    world.disconnected(1);
    assert_eq!(claim(&mut world, 2, 2, 1)["accepted"], true);
}

#[test]
fn a_claim_for_another_swarm_is_refused() {
    let mut world = world();
    let frame = json!({"op": "claim", "writer": Uuid::nil(), "swarm": "swarm-2", "epoch": 1});
    let answer = say(&mut world, 1, &frame);
    assert_eq!(answer["accepted"], false);
    assert_eq!(answer["reason"], "this is swarm-1");
}

#[test]
fn the_state_comes_before_the_answer_that_changed_it() {
    let mut world = world();
    claim(&mut world, 1, 1, 1);
    let reports = world.handle(1, start(1).to_string().as_bytes(), 7);
    let [
        Report::State {
            mission,
            taken_at_ms: 7,
            ..
        },
        Report::Ack { .. },
    ] = reports.as_slice()
    else {
        panic!("state, then ack: {reports:?}");
    };
    assert!(mission.is_some_and(|mission| !mission.complete));
}

#[test]
fn a_repeated_mission_is_acknowledged_and_counted_and_not_flown() {
    let mut world = world();
    claim(&mut world, 1, 1, 1);
    for already_known in [false, true, true] {
        let answer = say(&mut world, 1, &start(1));
        assert_eq!(answer["accepted"], true);
        assert_eq!(answer["alreadyKnown"], already_known);
    }
    check_counters(&mut world, [3, 1, 0, 0, 0]);
    let answer = say(&mut world, 1, &start(2));
    assert_eq!(answer["accepted"], false);
    assert!(answer["reason"].as_str().unwrap().ends_with("is flying"));
    check_counters(&mut world, [4, 1, 0, 1, 0]);
}

#[test]
fn a_frame_that_cannot_be_read_is_answered_and_counted() {
    let mut world = world();
    claim(&mut world, 1, 1, 1);
    for frame in [json!("x"), json!({"op": "explode"}), json!({"op": "start"})] {
        let answer = say(&mut world, 1, &frame);
        assert_eq!(answer["op"], "error");
        assert!(
            answer["reason"]
                .as_str()
                .unwrap()
                .contains("malformed frame")
        );
    }
    // Well formed, but no flight anyone could mean.
    let mut far = start(1);
    far["mission"]["waypoints"] = json!([[1e300, 0, 5]]);
    assert_eq!(say(&mut world, 1, &far)["accepted"], false);
    check_counters(&mut world, [1, 0, 0, 4, 3]);
}

proptest! {
    #[test]
    fn no_frame_panics(frames in prop::collection::vec(
        prop_oneof![
            prop::collection::vec(any::<u8>(), 0..60),
            (0_u128..4).prop_map(|id| start(id).to_string().into_bytes()),
            Just(land().to_string().into_bytes()),
        ],
        1..20,
    )) {
        let mut world = world();
        claim(&mut world, 1, 1, 1);
        for frame in frames {
            prop_assert!(!world.handle(1, &frame, 0).is_empty());
            world.swarm.step();
        }
    }
}

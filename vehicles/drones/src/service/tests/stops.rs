use std::time::Duration;

use jiff::Timestamp;
use serde_json::json;
use sqlx::{Connection, Executor};

use crate::contract::state::SwarmState;
use crate::epoch::LEAP;

use super::rig::{Call, Rig, Silent, route, simulate};

fn in_the_air(state: &SwarmState) -> bool {
    let drone = state.drone("drone_1");
    drone.is_some_and(|drone| drone.position.z > 0.2)
}

#[tokio::test]
async fn land_all_needs_no_mission_and_says_what_each_drone_acknowledged() {
    let rig = Rig::slow().await;
    let reply = rig.check(&Call::land(), 202, "", "").await.json();
    let expected = json!({
        "command": "Land", "recorded": true,
        "drones": [
            {"droneId": "drone_1", "acknowledged": true},
            {"droneId": "drone_2", "acknowledged": true},
            {"droneId": "drone_3", "acknowledged": true},
        ],
    });
    assert_eq!(reply, expected);
    assert_eq!(rig.counters().await.commands, 1);
}

#[tokio::test]
async fn a_drone_that_does_not_hear_is_named() {
    let rig = Rig::with(&simulate(1.0, vec![(1, 0)]).await)
        .await
        .live()
        .await;
    let mut rig = rig;
    rig.when(|state| state.drone("drone_2").is_some()).await;
    let mut reply = rig.check(&Call::land(), 202, "", "").await.json();
    // The radio is lost with the first step of the simulation.
    while reply["drones"][1]["acknowledged"] == json!(true) {
        rig.life.states.changed().await.unwrap();
        reply = rig.check(&Call::land(), 202, "", "").await.json();
    }
    assert_eq!(reply["drones"][0]["acknowledged"], true);
    assert_eq!(
        reply["drones"][1],
        json!({"droneId": "drone_2", "acknowledged": false})
    );
}

#[tokio::test]
async fn abort_takes_three_actions_and_ends_the_mission() {
    for (body, command) in [
        ("", "Rtl"),
        ("{}", "Rtl"),
        (r#"{"action":null}"#, "Rtl"),
        (r#"{"action":""}"#, "Rtl"),
        (r#"{"action":"rtl"}"#, "Rtl"),
        (r#"{"action":"land"}"#, "Land"),
        (r#"{"action":"hold"}"#, "Hold"),
    ] {
        let rig = Rig::slow().await;
        let start = Call::start(&route());
        let id = start.operation.to_string();
        rig.check(&start, 201, "", "").await;
        let reply = rig.check(&Call::abort(&id, body), 200, "", "").await.json();
        assert_eq!(reply["command"], command, "{body}");
        assert_eq!(reply["status"], "Aborted", "{body}");
        assert_eq!(reply["recorded"], true, "{body}");
        assert_eq!(reply["drones"].as_array().unwrap().len(), 3, "{body}");
        assert_eq!(
            rig.send(&Call::mission(&id)).await.json()["status"],
            "Aborted"
        );
    }
}

#[tokio::test]
async fn a_bad_action_is_refused_before_the_mission_is_looked_up() {
    let rig = Rig::slow().await;
    let call = Call::abort(
        "0199aaaa-0000-7000-8000-000000000001",
        r#"{"action":"dive"}"#,
    );
    rig.check(&call, 400, "invalid-request", "none").await;
    let call = Call::abort("0199aaaa-0000-7000-8000-000000000001", r#"{"speed":1}"#);
    rig.check(&call, 400, "invalid-request", "none").await;
    assert_eq!(rig.counters().await.commands, 0);
}

#[tokio::test]
async fn an_ended_mission_is_aborted_again_unless_its_drones_stand() {
    let mut rig = Rig::slow().await;
    let start = Call::start(&route());
    let id = start.operation.to_string();
    rig.check(&start, 201, "", "").await;
    rig.when(in_the_air).await;
    rig.check(&Call::abort(&id, r#"{"action":"hold"}"#), 200, "", "")
        .await;
    // It has ended in the books and hangs in the air.
    rig.check(&Call::abort(&id, r#"{"action":"land"}"#), 200, "", "")
        .await;
    rig.when(|state| {
        state
            .drone("drone_1")
            .is_some_and(|drone| drone.armed == Some(false))
    })
    .await;
    let commands = rig.counters().await.commands;
    rig.check(&Call::abort(&id, ""), 409, "not-active", "none")
        .await;
    assert_eq!(rig.counters().await.commands, commands, "nothing was sent");
}

#[tokio::test]
async fn motion_asked_before_a_stop_is_refused() {
    let rig = Rig::slow().await;
    let early = Call::start(&route());
    let fenced = Call {
        fence: Some(super::fence(&rig, &route()).await),
        ..Call::start(&route())
    };
    rig.check(&Call::land(), 202, "", "").await;
    rig.check(&early, 409, "stopped-since", "none").await;
    // Asked after the stop, but for a preview from before it.
    let asked_at = Timestamp::now() + Duration::from_millis(5);
    let fenced = Call { asked_at, ..fenced };
    rig.check(&fenced, 409, "stopped-since", "none").await;
    assert_eq!(rig.counters().await.starts, 0);
    let late = Call {
        asked_at,
        ..Call::start(&route())
    };
    rig.check(&late, 201, "", "").await;
}

#[tokio::test]
async fn without_a_swarm_a_stop_says_that_nothing_stopped() {
    let silent = Silent::new().await;
    let rig = Rig::with(&silent.address).await;
    let reply = rig
        .check(&Call::land(), 503, "swarm-unavailable", "none")
        .await;
    assert!(reply.text.contains("not stopped"), "{}", reply.text);
}

/// The disk is not needed to stop, and a stop is caught up with when the disk is back.
#[tokio::test]
async fn a_locked_database_delays_no_stop() {
    let mut rig = Rig::slow().await;
    let start = Call::start(&route());
    let id = start.operation.to_string();
    rig.check(&start, 201, "", "").await;
    rig.when(in_the_air).await;
    let mut lock = rig.lock_database().await;
    let reply = rig.check(&Call::land(), 202, "", "").await.json();
    assert_eq!(reply["recorded"], false);
    assert_eq!(reply["drones"][0]["acknowledged"], true);
    let reply = rig.check(&Call::abort(&id, ""), 200, "", "").await.json();
    assert_eq!(
        (&reply["recorded"], &reply["status"]),
        (&json!(false), &json!("Aborted"))
    );
    assert_eq!(rig.counters().await.commands, 2);
    lock.execute("ROLLBACK").await.unwrap();
    lock.close().await.unwrap();
    assert!(
        rig.life
            .service
            .epoch
            .is_recorded(2, Duration::from_secs(10))
            .await
    );
    let rig = rig.restart(true).await.live().await;
    assert_eq!(rig.life.service.epoch.current().epoch, 2 + LEAP);
    assert_eq!(
        rig.send(&Call::mission(&id)).await.json()["status"],
        "Aborted"
    );
}

/// A start that hangs at the disk when a stop comes is not sent once the disk is back.
#[tokio::test]
async fn a_start_in_flight_does_not_outlive_a_stop() {
    let rig = Rig::slow().await;
    let mut lock = rig.lock_database().await;
    let start = Call::start(&route());
    let hanging = rig.send(&start);
    let stopping = async {
        // The start holds the slot from before it writes until it is over.
        while rig.life.service.missions.slot() == crate::missions::Slot::Free {
            tokio::task::yield_now().await;
        }
        let reply = rig.check(&Call::land(), 202, "", "").await.json();
        assert_eq!(reply["recorded"], false);
        lock.execute("ROLLBACK").await.unwrap();
        lock.close().await.unwrap();
    };
    let (refused, ()) = tokio::join!(hanging, stopping);
    assert_eq!(refused.status.as_u16(), 409, "{}", refused.text);
    assert_eq!(
        refused.json()["type"],
        "urn:interlock:problem:stopped-since"
    );
    assert_eq!(refused.json()["effect"], "none");
    let counted = rig.counters().await;
    assert_eq!((counted.starts, counted.commands), (0, 1));
    // It is over for good, and in the way of nothing.
    let settled = rig
        .check(&Call::settle(start.operation), 200, "", "")
        .await
        .json();
    assert_eq!(
        (&settled["state"], &settled["effect"]),
        (&json!("done"), &json!("none"))
    );
    assert_eq!(settled["answer"]["status"], 409);
    let next = Call {
        asked_at: Timestamp::now() + Duration::from_millis(5),
        ..Call::start(&route())
    };
    rig.check(&next, 201, "", "").await;
}

#[tokio::test]
async fn a_stop_that_runs_is_settled_as_running() {
    let silent = Silent::new().await;
    let rig = Rig::with(&silent.address).await;
    let land = Call::land();
    let stopping = rig.send(&land);
    let meanwhile = async {
        assert!(
            rig.life
                .service
                .epoch
                .is_recorded(1, Duration::from_secs(10))
                .await
        );
        let settled = rig.send(&Call::settle(land.operation)).await.json();
        assert_eq!(
            (&settled["state"], &settled["effect"]),
            (&json!("running"), &json!("maybe"))
        );
    };
    let (answered, ()) = tokio::join!(stopping, meanwhile);
    assert_eq!(answered.status.as_u16(), 503);
}

#[tokio::test]
async fn a_stop_is_settled_by_its_answer_in_this_life_and_the_next() {
    let rig = Rig::slow().await;
    let land = Call::land();
    let answer = rig.check(&land, 202, "", "").await.json();
    let expected = json!({
        "state": "done", "effect": "done", "answer": {"status": 202, "body": answer},
    });
    let settle = || Call::settle(land.operation);
    assert_eq!(rig.send(&settle()).await.json(), expected);
    let rig = rig.restart(false).await.live().await;
    assert_eq!(rig.send(&settle()).await.json(), expected);
}

/// A return that was asked before a landing and comes after it keeps nothing in the air.
#[tokio::test]
async fn a_late_stop_does_not_undo_a_landing() {
    let mut rig = Rig::slow().await;
    let start = Call::start(&route());
    let id = start.operation.to_string();
    rig.check(&start, 201, "", "").await;
    rig.when(in_the_air).await;
    let rtl = Call::abort(&id, "");
    rig.check(&rtl, 200, "", "").await;
    let land = Call {
        asked_at: rtl.asked_at + Duration::from_millis(5),
        ..Call::land()
    };
    rig.check(&land, 202, "", "").await;
    for body in ["", r#"{"action":"hold"}"#] {
        let late = Call {
            asked_at: rtl.asked_at,
            ..Call::abort(&id, body)
        };
        let reply = rig.check(&late, 200, "", "").await.json();
        assert_eq!(reply["command"], "Land", "{body}");
    }
    let wanted = Call {
        asked_at: land.asked_at + Duration::from_millis(5),
        ..Call::abort(&id, "")
    };
    let reply = rig.check(&wanted, 200, "", "").await.json();
    assert_eq!(reply["command"], "Rtl", "asked after the landing");
}

/// Nothing starts around drones of which nobody knows where they will be.
#[tokio::test]
async fn nothing_starts_while_a_drone_moves() {
    let mut rig = Rig::slow().await;
    let start = Call::start(&route());
    let id = start.operation.to_string();
    rig.check(&start, 201, "", "").await;
    rig.when(in_the_air).await;
    rig.check(&Call::abort(&id, ""), 200, "", "").await;
    let next = Call {
        asked_at: Timestamp::now() + Duration::from_millis(5),
        ..Call::start(&route())
    };
    rig.when(|state| state.mission.is_none_or(|mission| mission.complete))
        .await;
    let reply = rig.check(&next, 409, "moved", "none").await;
    assert!(
        reply.text.contains("drone_1 is not at rest"),
        "{}",
        reply.text
    );
    assert_eq!(rig.counters().await.starts, 1);
}

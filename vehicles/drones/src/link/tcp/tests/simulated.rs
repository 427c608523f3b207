//! The link against the simulator's own server.

use std::sync::Arc;

use super::{
    AsyncReadExt, AsyncWriteExt, BridgeMode, BufReader, Claim, Command, LONG, LinkMission,
    LinkOutcome, Open, Peer, Point, SwarmLink, Talk, TcpLink, TcpStream, Value, json, link_to,
    mission, until,
};
use crate::contract::state::DroneStatus;
use crate::link::protocol::MAX_FRAME_BYTES;
use crate::sim::swarm::SwarmConfig;

/// A simulator that runs fifty times faster than time.
async fn simulator() -> String {
    let Peer { listener, address } = Peer::new().await;
    tokio::spawn(
        async move { crate::sim::serve(listener, &SwarmConfig::default(), None, 50.0).await },
    );
    address
}

async fn connect(address: &str) -> Talk {
    let (reader, writer) = TcpStream::connect(address).await.unwrap().into_split();
    Talk {
        reader: BufReader::new(reader),
        writer,
    }
}

async fn counters(address: &str) -> Value {
    let mut talk = connect(address).await;
    talk.say(&json!({"op": "counters"})).await;
    talk.read().await
}

async fn live(address: &str, writer: u128, epoch: u64) -> TcpLink {
    let link = link_to(address, writer, epoch);
    until(&link, |state| state.bridge == BridgeMode::Simulated).await;
    link
}

/// A mission that takes minutes, seconds here.
fn high(id: u128) -> LinkMission {
    LinkMission {
        waypoints: vec![Point::new(0.0, 0.0, 100.0)],
        ..mission(id)
    }
}

#[tokio::test]
async fn a_mission_completes() {
    let address = simulator().await;
    let link = live(&address, 1, 1).await;
    assert_eq!(link.state().drones.len(), 5);
    link.start(&mission(1), Arc::new(Open), LONG).await;
    let end = until(&link, |state| state.mission.is_some_and(|m| m.complete)).await;
    assert_eq!(end.drones[0].status(), DroneStatus::Landed);
    assert_eq!(end.known_missions, [mission(1).id]);
}

#[tokio::test]
async fn a_mission_flies_once_and_a_stop_lands_it() {
    let address = simulator().await;
    let link = live(&address, 1, 1).await;
    let outcome = link.start(&high(1), Arc::new(Open), LONG).await;
    assert!(matches!(
        outcome,
        LinkOutcome::Acknowledged { already_known: false, ref drones } if drones.len() == 5
    ));
    // The state that goes with the answer has arrived before it.
    let state = link.state();
    assert_eq!(state.known_missions, [high(1).id]);
    assert_eq!(state.drones[0].armed, Some(true));
    assert!(matches!(
        link.start(&high(1), Arc::new(Open), LONG).await,
        LinkOutcome::Acknowledged {
            already_known: true,
            ..
        }
    ));
    assert!(matches!(
        link.start(&high(2), Arc::new(Open), LONG).await,
        LinkOutcome::Refused { ref reason, .. } if reason.contains("is flying")
    ));
    until(&link, |state| state.drones[0].position.z > 2.0).await;
    let outcome = link.command(Command::Land, None, LONG).await;
    let LinkOutcome::Acknowledged { drones, .. } = outcome else {
        panic!("acknowledged: {outcome:?}");
    };
    assert!(drones.iter().all(|drone| drone.acknowledged));
    assert_eq!(link.state().mission, None);
    until(&link, |state| {
        state.drones[0].status() == DroneStatus::Landed
    })
    .await;
    assert_eq!(
        counters(&address).await,
        json!({"op": "counters", "starts": 3, "flights": 1, "commands": 1, "refused": 1,
            "malformed": 0})
    );
}

#[tokio::test]
async fn a_second_writer_is_refused_until_the_first_is_gone() {
    let address = simulator().await;
    let first = live(&address, 1, 1).await;
    let second = link_to(&address, 2, 1);
    let mut claims = second.claims();
    let claim = claims
        .wait_for(|claim| *claim != Claim::Pending)
        .await
        .unwrap()
        .clone();
    assert!(matches!(claim, Claim::Refused { reason } if reason.contains("holds this swarm")));
    assert!(first.state().bridge.is_live());
    drop(first);
    claims
        .wait_for(|claim| *claim == Claim::Held)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_later_start_of_the_service_takes_over_and_the_older_one_knows() {
    let address = simulator().await;
    let older = live(&address, 1, 1).await;
    let mut claims = older.claims();
    let newer = live(&address, 1, 2).await;
    claims
        .wait_for(|claim| matches!(claim, Claim::Refused { .. }))
        .await
        .unwrap();
    let state = until(&older, |state| !state.bridge.is_live()).await;
    assert!(state.reason.as_deref().unwrap().contains("not the writer"));
    assert_eq!(state.drones.len(), 5);
    assert!(matches!(
        older.command(Command::Land, None, LONG).await,
        LinkOutcome::NotSent { .. }
    ));
    assert!(matches!(
        newer.start(&mission(1), Arc::new(Open), LONG).await,
        LinkOutcome::Acknowledged { .. }
    ));
}

#[tokio::test]
async fn the_simulator_survives_hostile_bytes() {
    let address = simulator().await;
    let mut talk = connect(&address).await;
    talk.writer.write_all(b"\xff\xfe\n{}\n[[[\n").await.unwrap();
    for _ in 0..3 {
        assert_eq!(talk.read().await["op"], "error");
    }
    talk.say(&json!({"op": "counters"})).await;
    assert_eq!(talk.read().await["malformed"], 3);

    // Too long a frame ends the connection: what follows cannot be trusted.
    let mut long = connect(&address).await;
    let sent = long
        .writer
        .write_all(&vec![b'x'; MAX_FRAME_BYTES + 2])
        .await;
    sent.unwrap();
    assert!(
        long.read().await["reason"]
            .as_str()
            .unwrap()
            .contains("1 MiB")
    );
    assert_eq!(long.reader.read(&mut [0; 8]).await.unwrap_or(0), 0);

    // One that only asks and says no more is answered to the end.
    let mut asking = connect(&address).await;
    asking.say(&json!({"op": "counters"})).await;
    asking.writer.shutdown().await.unwrap();
    assert_eq!(asking.read().await["malformed"], 4);
    assert_eq!(asking.reader.read(&mut [0; 8]).await.unwrap(), 0);
    let _ = live(&address, 1, 1).await;
}

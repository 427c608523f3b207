use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

use super::{Claim, PACE, Pace, TcpLink, TcpLinkConfig};
use crate::clock::SystemClock;
use crate::contract::state::{BridgeMode, SwarmState};
use crate::contract::{Command, DroneAck, Formation, MissionType};
use crate::geometry::Point;
use crate::link::{LinkMission, LinkOutcome, StartGate, SwarmLink};

mod simulated;

/// Longer than any test takes.
const LONG: Duration = Duration::from_secs(60);

/// Passes in every test that uses it.
const SHORT: Duration = Duration::from_millis(50);

fn link_to(address: &str, writer: u128, epoch: u64) -> TcpLink {
    impatient(address, writer, epoch, LONG)
}

fn impatient(address: &str, writer: u128, epoch: u64, silence: Duration) -> TcpLink {
    let config = TcpLinkConfig {
        address: address.to_owned(),
        writer: Uuid::from_u128(writer),
        swarm: "swarm-1".to_owned(),
        epoch,
    };
    let pace = Pace { silence, ..PACE };
    TcpLink::spawn_at(config, Arc::new(SystemClock), pace)
}

/// A gate that lets everything pass.
struct Open;

impl StartGate for Open {
    fn wanted(&self, _connection: u64) -> bool {
        true
    }
}

fn mission(id: u128) -> LinkMission {
    LinkMission {
        id: Uuid::from_u128(id),
        kind: MissionType::Waypoint,
        formation: Formation::Line,
        waypoints: vec![Point::new(0.0, 0.0, 5.0)],
        drone_count: 1,
        spacing_meters: 2.0,
        starts: vec![],
    }
}

/// Waits until the state is as wanted.
async fn until(link: &TcpLink, wanted: impl Fn(&SwarmState) -> bool) -> Arc<SwarmState> {
    let mut states = link.states();
    let state = states.wait_for(|state| wanted(state)).await.unwrap();
    Arc::clone(&state)
}

/// A swarm played by the test, frame by frame.
struct Peer {
    listener: TcpListener,
    address: String,
}

struct Talk {
    reader: BufReader<OwnedReadHalf>,
    writer: OwnedWriteHalf,
}

impl Peer {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        Self { listener, address }
    }

    async fn accept(&self) -> Talk {
        let (stream, _) = self.listener.accept().await.unwrap();
        let (reader, writer) = stream.into_split();
        Talk {
            reader: BufReader::new(reader),
            writer,
        }
    }

    /// Accepts, grants the claim and reports one drone at `x`.
    async fn serve(&self, x: f64) -> Talk {
        let mut talk = self.accept().await;
        assert_eq!(talk.read().await["op"], "claim");
        talk.say(&json!({"op": "claimed", "accepted": true})).await;
        talk.report(x).await;
        talk
    }
}

impl Talk {
    async fn read(&mut self) -> Value {
        let mut line = String::new();
        self.reader.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn say(&mut self, frame: &Value) {
        let line = format!("{frame}\n");
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }

    async fn report(&mut self, x: f64) {
        self.say(&json!({
            "op": "state", "takenAtMs": 0, "mission": null, "aNewField": true, "knownMissions": [],
            "drones": [{"id": "drone_1", "x": x, "y": 0, "z": 0}],
        }))
        .await;
    }

    async fn ack(&mut self, request: &Value, accepted: bool, reason: Option<&str>) {
        self.say(&json!({
            "op": "ack", "seq": request["seq"], "accepted": accepted, "reason": reason,
            "drones": [{"id": "drone_1", "acknowledged": accepted}],
        }))
        .await;
    }
}

fn is_unknown(outcome: &LinkOutcome, part: &str) -> bool {
    matches!(outcome, LinkOutcome::Unknown { reason } if reason.contains(part))
}

fn is_not_sent(outcome: &LinkOutcome, part: &str) -> bool {
    matches!(outcome, LinkOutcome::NotSent { reason } if reason.contains(part))
}

#[tokio::test]
async fn without_a_connection_nothing_is_sent() {
    let peer = Peer::new().await;
    let address = peer.address.clone();
    drop(peer);
    let link = link_to(&address, 1, 1);
    assert_eq!(*link.state(), SwarmState::unknown());
    until(&link, |state| {
        state
            .reason
            .as_deref()
            .is_some_and(|why| why.contains("cannot connect"))
    })
    .await;
    for outcome in [
        link.start(&mission(1), Arc::new(Open), LONG).await,
        link.command(Command::Land, None, LONG).await,
    ] {
        assert!(is_not_sent(&outcome, "swarm link is down"), "{outcome:?}");
    }
}

#[tokio::test]
async fn a_connection_that_is_not_the_writers_sends_nothing() {
    let peer = Peer::new().await;
    let link = link_to(&peer.address, 1, 1);
    let mut talk = peer.accept().await;
    let claim = talk.read().await;
    assert_eq!(
        claim,
        json!({"op": "claim", "writer": Uuid::from_u128(1), "swarm": "swarm-1", "epoch": 1})
    );
    // A state without a claim is no ground to send on.
    talk.report(1.0).await;
    talk.say(&json!({"op": "claimed", "accepted": false, "reason": "taken"}))
        .await;
    let mut claims = link.claims();
    let refused = Claim::Refused {
        reason: "taken".to_owned(),
    };
    claims.wait_for(|claim| *claim == refused).await.unwrap();
    assert_eq!(link.state().received_at, None);
    assert!(is_not_sent(
        &link.start(&mission(1), Arc::new(Open), LONG).await,
        "down"
    ));
    // It asks again.
    let _talk = peer.serve(2.0).await;
    claims
        .wait_for(|claim| *claim == Claim::Held)
        .await
        .unwrap();
    until(&link, |state| state.bridge == BridgeMode::Connected).await;
}

#[tokio::test]
async fn answers_are_told_apart() {
    let peer = Peer::new().await;
    let link = link_to(&peer.address, 1, 1);
    let mut talk = peer.serve(1.0).await;
    until(&link, |state| state.bridge.is_live()).await;
    let acks = |acknowledged| {
        vec![DroneAck {
            drone_id: "drone_1".to_owned(),
            acknowledged,
        }]
    };

    let (mission, command) = (mission(1), Command::Hold);
    let (outcome, ()) = tokio::join!(link.start(&mission, Arc::new(Open), LONG), async {
        let request = talk.read().await;
        assert_eq!(request["op"], "start");
        assert_eq!(request["mission"]["id"], mission.id.to_string());
        // An answer to something else answers nothing.
        talk.ack(&json!({"seq": 77}), false, None).await;
        talk.ack(&request, true, None).await;
    });
    assert_eq!(
        outcome,
        LinkOutcome::Acknowledged {
            drones: acks(true),
            already_known: false
        }
    );

    let (outcome, ()) = tokio::join!(link.command(command, Some(mission.id), LONG), async {
        let request = talk.read().await;
        assert_eq!(request["command"], "hold");
        assert_eq!(request["missionId"], mission.id.to_string());
        talk.ack(&request, false, Some("busy")).await;
    });
    assert_eq!(
        outcome,
        LinkOutcome::Refused {
            reason: "busy".to_owned(),
            drones: acks(false)
        }
    );
}

#[tokio::test]
async fn a_stop_passes_a_start_that_waits_and_a_lost_answer_is_unknown() {
    let peer = Peer::new().await;
    let link = Arc::new(link_to(&peer.address, 1, 1));
    let mut talk = peer.serve(1.0).await;
    until(&link, |state| state.bridge.is_live()).await;
    let starting = tokio::spawn({
        let link = Arc::clone(&link);
        async move { link.start(&mission(1), Arc::new(Open), LONG).await }
    });
    assert_eq!(talk.read().await["op"], "start");
    let (outcome, ()) = tokio::join!(link.command(Command::Land, None, LONG), async {
        let request = talk.read().await;
        talk.ack(&request, true, None).await;
    });
    assert!(matches!(outcome, LinkOutcome::Acknowledged { .. }));
    assert!(!starting.is_finished());
    drop(talk);
    let outcome = starting.await.unwrap();
    assert!(
        is_unknown(&outcome, "the connection was lost"),
        "{outcome:?}"
    );
}

#[tokio::test]
async fn no_answer_to_a_start_is_unknown_until_a_new_connection_settles_it() {
    let peer = Peer::new().await;
    let link = link_to(&peer.address, 1, 1);
    let mut talk = peer.serve(1.0).await;
    let before = until(&link, |state| state.bridge.is_live()).await;
    let outcome = link.start(&mission(1), Arc::new(Open), SHORT).await;
    assert!(
        is_unknown(&outcome, "no answer came in time"),
        "{outcome:?}"
    );
    assert_eq!(talk.read().await["op"], "start");
    // It hangs up, and comes back to ask what became of it.
    let down = until(&link, |state| !state.bridge.is_live()).await;
    assert_eq!(
        down.reason.as_deref(),
        Some("the swarm did not answer a start")
    );
    assert_eq!(talk.reader.read(&mut [0; 8]).await.unwrap(), 0);
    let _talk = peer.serve(2.0).await;
    until(&link, |state| {
        state.bridge.is_live() && state.connection > before.connection
    })
    .await;
}

#[tokio::test]
async fn the_last_state_stays_and_is_marked_while_the_link_is_down() {
    let peer = Peer::new().await;
    let link = link_to(&peer.address, 1, 1);
    let mut talk = peer.serve(1.0).await;
    until(&link, |state| state.bridge.is_live()).await;
    // What cannot be believed is dropped and counted; the link stays.
    talk.writer
        .write_all(b"nonsense\n{\"op\":\"dance\"}\n")
        .await
        .unwrap();
    talk.report(1e300).await;
    talk.report(3.0).await;
    let live = until(&link, |state| state.drones[0].position.x == 3.0).await;
    assert_eq!(link.shared.dropped_reports.load(Ordering::Relaxed), 3);
    drop(talk);
    let down = until(&link, |state| !state.bridge.is_live()).await;
    assert_eq!(down.drones, live.drones);
    assert_eq!(down.received_at, live.received_at);
    assert_eq!(
        down.reason.as_deref(),
        Some("the swarm closed the connection")
    );
    let _talk = peer.serve(4.0).await;
    let back = until(&link, |state| state.bridge.is_live()).await;
    assert_eq!(back.drones[0].position.x, 4.0);
    assert_eq!(back.connection, live.connection + 1);
}

#[tokio::test]
async fn a_silent_swarm_is_disconnected() {
    let peer = Peer::new().await;
    let link = impatient(&peer.address, 1, 1, Duration::from_millis(500));
    let _talk = peer.serve(1.0).await;
    until(&link, |state| state.received_at.is_some()).await;
    let down = until(&link, |state| !state.bridge.is_live()).await;
    assert_eq!(
        down.reason.as_deref(),
        Some("the swarm was silent for 0.5 s")
    );
}

/// The swarm stops reading. What fits into the buffers between is sent, the
/// rest is not: and what is said not to be sent never arrives.
#[tokio::test]
async fn what_is_not_sent_never_arrives() {
    let peer = Peer::new().await;
    let link = Arc::new(link_to(&peer.address, 1, 1));
    let mut talk = peer.serve(1.0).await;
    until(&link, |state| state.bridge.is_live()).await;
    let large = |id| LinkMission {
        waypoints: vec![Point::new(0.123_456_789, 0.123_456_789, 5.123_456_789); 20_000],
        ..mission(id)
    };
    let starting: Vec<_> = (1..=40)
        .map(|id| {
            let (link, large) = (Arc::clone(&link), large(id));
            tokio::spawn(async move { (id, link.start(&large, Arc::new(Open), SHORT).await) })
        })
        .collect();
    let mut not_sent = Vec::new();
    for start in starting {
        let (id, outcome) = start.await.unwrap();
        if matches!(outcome, LinkOutcome::NotSent { .. }) {
            not_sent.push(Uuid::from_u128(id).to_string());
        } else {
            assert!(
                matches!(outcome, LinkOutcome::Unknown { .. }),
                "{outcome:?}"
            );
        }
    }
    assert!(!not_sent.is_empty());
    let mut arrived = Vec::new();
    talk.reader.read_to_end(&mut arrived).await.unwrap();
    let arrived = String::from_utf8(arrived).unwrap();
    assert!(arrived.contains(&Uuid::from_u128(1).to_string()));
    for id in not_sent {
        assert!(!arrived.contains(&id), "{id}");
    }
}

#[tokio::test]
async fn a_stop_does_not_wait_for_the_next_attempt_to_connect() {
    let peer = Peer::new().await;
    let config = TcpLinkConfig {
        address: peer.address.clone(),
        writer: Uuid::from_u128(1),
        swarm: "swarm-1".to_owned(),
        epoch: 1,
    };
    let pace = Pace {
        first_pause: LONG * 60,
        longest_pause: LONG * 60,
        ..PACE
    };
    let link = TcpLink::spawn_at(config, Arc::new(SystemClock), pace);
    drop(peer.serve(0.0).await);
    until(&link, |state| {
        state.connection == 1 && !state.bridge.is_live()
    })
    .await;
    let stopping = async {
        loop {
            let outcome = link.command(Command::Land, None, LONG).await;
            if !matches!(outcome, LinkOutcome::NotSent { .. }) {
                return outcome;
            }
            tokio::task::yield_now().await;
        }
    };
    let answering = async {
        let mut talk = peer.serve(0.0).await;
        let command = talk.read().await;
        talk.ack(&command, true, None).await;
        talk
    };
    let (outcome, _talk) = tokio::join!(stopping, answering);
    assert!(
        matches!(outcome, LinkOutcome::Acknowledged { .. }),
        "{outcome:?}"
    );
}

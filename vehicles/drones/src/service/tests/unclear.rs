//! Starts whose answer is lost, against a swarm whose every word is scripted.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection, Executor};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use uuid::Uuid;

use super::rig::{Call, Rig, route};
use crate::missions::Slot;

/// A swarm of one drone on its pad that says what it is told to say.
struct Swarm {
    listener: TcpListener,
    address: String,
}

struct Wire {
    lines: Lines<BufReader<OwnedReadHalf>>,
    writer: OwnedWriteHalf,
}

impl Swarm {
    async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        Self { listener, address }
    }

    /// Accepts the service's connection and its claim, and reports these missions as known.
    async fn claimed(&self, known: &[Uuid], flies: Option<Uuid>) -> Wire {
        let (stream, _): (TcpStream, _) = self.listener.accept().await.unwrap();
        let (reader, writer) = stream.into_split();
        let lines = BufReader::new(reader).lines();
        let mut wire = Wire { lines, writer };
        assert_eq!(wire.hear().await["op"], "claim");
        wire.say(&json!({"op": "claimed", "accepted": true, "reason": null}))
            .await;
        wire.report(known, flies).await;
        wire
    }
}

impl Wire {
    async fn hear(&mut self) -> Value {
        let line = self.lines.next_line().await.unwrap().unwrap();
        serde_json::from_str(&line).unwrap()
    }

    async fn say(&mut self, report: &Value) {
        let mut line = report.to_string();
        line.push('\n');
        self.writer.write_all(line.as_bytes()).await.unwrap();
    }

    async fn report(&mut self, known: &[Uuid], flies: Option<Uuid>) {
        let mission = flies.map(|id| json!({"id": id, "complete": false}));
        self.say(&json!({
            "op": "state", "takenAtMs": 0, "simulated": true, "mission": mission,
            "knownMissions": known,
            "drones": [{"id": "drone_1", "x": 0.0, "y": 0.0, "z": 0.0, "armed": false}],
        }))
        .await;
    }

    /// Hears the link being dropped.
    async fn closed(&mut self) {
        while let Ok(Some(_)) = self.lines.next_line().await {}
    }
}

/// A start whose answer does not come in its time.
fn impatient() -> Call {
    let call = Call::start(&route());
    Call {
        deadline: call.asked_at + Duration::from_millis(750),
        ..call
    }
}

/// Loses the answer to a start, and settles by what the swarm then knows.
async fn check(swarm_took_it: bool, state: &str, effect: &str) {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let start = impatient();
    let lost = async {
        let frame = wire.hear().await;
        assert_eq!(frame["mission"]["id"], start.operation.to_string());
        // The link is made anew, which fences what may still be on its way.
        wire.closed().await;
        let known = Vec::from_iter(swarm_took_it.then_some(start.operation));
        let wire = swarm.claimed(&known, known.first().copied()).await;
        (wire, known)
    };
    let ((mut wire, known), reply) =
        tokio::join!(lost, rig.check(&start, 504, "unknown-outcome", "maybe"));
    assert!(reply.text.contains("settle"), "{}", reply.text);
    wire.report(&known, known.first().copied()).await;
    rig.when(|state| state.bridge.is_live()).await;
    let settled = loop {
        let settled = rig.send(&Call::settle(start.operation)).await.json();
        if settled["state"] != "running" {
            break settled;
        }
        wire.report(&known, known.first().copied()).await;
    };
    assert_eq!(
        (&settled["state"], &settled["effect"]),
        (&json!(state), &json!(effect))
    );
}

#[tokio::test]
async fn a_lost_answer_to_a_start_that_flew_is_settled_as_done() {
    check(true, "done", "done").await;
}

#[tokio::test]
async fn a_lost_answer_to_a_start_that_never_flew_is_settled_as_not_done() {
    check(false, "tombstoned", "none").await;
}

#[tokio::test]
async fn while_a_start_is_unclear_nothing_else_starts_and_stops_go_out() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let start = impatient();
    let unanswered = async {
        wire.hear().await;
        wire.closed().await;
    };
    tokio::join!(
        unanswered,
        rig.check(&start, 504, "unknown-outcome", "maybe")
    );
    rig.check(&Call::start(&route()), 503, "operation-unsettled", "none")
        .await;
    let again = Call {
        jti: Uuid::new_v4(),
        deadline: start.deadline + Duration::from_secs(10),
        ..start.clone()
    };
    rig.check(&again, 409, "operation-in-progress", "maybe")
        .await;
    let stopping = async {
        let mut wire = swarm
            .claimed(&[start.operation], Some(start.operation))
            .await;
        // The service may drop this connection to fence the start; the stop is sent again then.
        loop {
            match wire.lines.next_line().await {
                Ok(Some(line)) => {
                    let frame: Value = serde_json::from_str(&line).unwrap();
                    assert_eq!(frame["op"], "command");
                    let acks = json!([{"id": "drone_1", "acknowledged": true}]);
                    let seq = frame["seq"].clone();
                    wire.say(&json!({
                        "op": "ack", "seq": seq, "drones": acks, "accepted": true, "reason": null,
                    }))
                    .await;
                    return;
                }
                Ok(None) | Err(_) => {
                    wire = swarm
                        .claimed(&[start.operation], Some(start.operation))
                        .await;
                }
            }
        }
    };
    let land = Call::land();
    let ((), reply) = tokio::join!(stopping, rig.send(&land));
    assert_eq!(reply.status.as_u16(), 202, "{}", reply.text);
}

#[tokio::test]
async fn a_stop_nobody_acknowledges_may_not_have_stopped() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let call = Call::land();
    let silent = async {
        assert_eq!(wire.hear().await["op"], "command");
    };
    tokio::join!(silent, rig.check(&call, 504, "unknown-outcome", "maybe"));
    let again = Call::land();
    let deaf = async {
        let frame = wire.hear().await;
        let acks = json!([{"id": "drone_1", "acknowledged": false}]);
        let seq = frame["seq"].clone();
        wire.say(&json!({
            "op": "ack", "seq": seq, "drones": acks, "accepted": true, "reason": null,
        }))
        .await;
    };
    tokio::join!(deaf, rig.check(&again, 504, "unknown-outcome", "maybe"));
    let settled = rig.send(&Call::settle(call.operation)).await.json();
    assert_eq!(settled["effect"], "maybe", "{settled}");
}

/// Hears a command and acknowledges it for `drones`.
async fn obey(wire: &mut Wire, drones: Value) -> Value {
    let frame = wire.hear().await;
    assert_eq!(frame["op"], "command", "{frame}");
    wire.ack(&frame, drones).await;
    frame
}

impl Wire {
    async fn ack(&mut self, frame: &Value, drones: Value) {
        let seq = frame["seq"].clone();
        self.say(&json!({
            "op": "ack", "seq": seq, "drones": drones, "accepted": true, "reason": null,
        }))
        .await;
    }
}

fn heard() -> Value {
    json!([{"id": "drone_1", "acknowledged": true}])
}

#[tokio::test]
async fn a_mission_is_aborted_before_the_swarm_has_answered_its_start() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let start = Call::start(&route());
    let id = start.operation.to_string();
    let meanwhile = async {
        let frame = wire.hear().await;
        assert_eq!(frame["op"], "start");
        rig.check(&Call::mission(&id), 409, "operation-in-progress", "maybe")
            .await;
        let repeated = Call {
            jti: Uuid::new_v4(),
            ..start.clone()
        };
        rig.check(&repeated, 409, "operation-in-progress", "maybe")
            .await;
        let abort = Call::abort(&id, "");
        let (command, reply) = tokio::join!(obey(&mut wire, heard()), rig.send(&abort));
        assert_eq!(command["missionId"], id);
        assert_eq!(reply.status.as_u16(), 200, "{}", reply.text);
        assert_eq!(reply.json()["status"], "Aborted");
        wire.ack(&frame, heard()).await;
    };
    let (reply, ()) = tokio::join!(rig.send(&start), meanwhile);
    assert_eq!(reply.status.as_u16(), 201, "{}", reply.text);
    let mission = rig.send(&Call::mission(&id)).await.json();
    assert_eq!(mission["status"], "Aborted", "{mission}");
}

#[tokio::test]
async fn an_unclear_mission_is_aborted_without_the_disk() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let start = impatient();
    let id = start.operation.to_string();
    let unanswered = async {
        wire.hear().await;
        wire.closed().await;
    };
    tokio::join!(
        unanswered,
        rig.check(&start, 504, "unknown-outcome", "maybe")
    );
    let lock = rig.lock_database().await;
    let mut wire = swarm.claimed(&[start.operation], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    rig.check(&Call::mission(&id), 409, "operation-in-progress", "maybe")
        .await;
    let abort = Call::abort(&id, "");
    let (_, reply) = tokio::join!(obey(&mut wire, heard()), rig.send(&abort));
    assert_eq!(reply.status.as_u16(), 200, "{}", reply.text);
    assert_eq!(reply.json()["status"], "Aborted");
    drop(lock);
}

#[tokio::test]
async fn a_mission_that_only_the_swarm_knows_is_aborted() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let foreign = Uuid::new_v4();
    let mut wire = swarm.claimed(&[foreign], Some(foreign)).await;
    rig.when(|state| state.bridge.is_live()).await;
    let abort = Call::abort(&foreign.to_string(), "");
    let (_, reply) = tokio::join!(obey(&mut wire, heard()), rig.send(&abort));
    assert_eq!(reply.status.as_u16(), 200, "{}", reply.text);
    assert_eq!(reply.json()["id"], foreign.to_string());
}

/// The first try dies with its connection; the next one carries the stop.
#[tokio::test]
async fn a_stop_whose_connection_dies_is_sent_again() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let land = Call::land();
    let dying = async {
        assert_eq!(wire.hear().await["op"], "command");
        drop(wire);
        let mut wire = swarm.claimed(&[], None).await;
        obey(&mut wire, heard()).await;
        wire
    };
    let (_wire, reply) = tokio::join!(dying, rig.send(&land));
    assert_eq!(reply.status.as_u16(), 202, "{}", reply.text);
}

/// Once a stop may have arrived, a link that stays down does not make it one that did not.
#[tokio::test]
async fn a_stop_that_may_have_arrived_is_never_called_unsent() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let dying = async {
        wire.hear().await;
        drop(wire);
        drop(swarm);
    };
    let land = Call::land();
    tokio::join!(dying, rig.check(&land, 504, "unknown-outcome", "maybe"));
}

#[tokio::test]
async fn a_drone_the_answer_leaves_out_did_not_hear() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let land = Call::land();
    tokio::join!(
        obey(&mut wire, json!([])),
        rig.check(&land, 504, "unknown-outcome", "maybe")
    );
    let land = Call::land();
    let other = json!([{"id": "drone_9", "acknowledged": true}]);
    let (_, reply) = tokio::join!(obey(&mut wire, other), rig.send(&land));
    assert_eq!(reply.status.as_u16(), 202, "{}", reply.text);
    let left_out = json!({"droneId": "drone_1", "acknowledged": false});
    assert_eq!(reply.json()["drones"][1], left_out);
}

/// Limits bind the place a drone starts from as well.
#[tokio::test]
async fn nothing_starts_outside_the_limits() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    let told = async |rig: &Rig| {
        let body = route().to_string();
        let call = Call::new("drones.internal.preview", "/internal/preview", &body);
        let planned = rig.check(&call, 200, "", "").await.json();
        planned["preview"]["assumptions"].to_string()
    };
    rig.when(|state| state.bridge.is_live()).await;
    let said = told(&rig).await;
    assert!(!said.contains("refused"), "{said}");
    for (x, z, fault) in [
        (1001.0, -3.0, "outside the geofence"),
        (0.0, 121.0, "at most 120 m high"),
    ] {
        wire.say(&json!({
            "op": "state", "takenAtMs": 0, "mission": null, "knownMissions": [],
            "drones": [{"id": "drone_1", "x": x, "y": 0.0, "z": z, "armed": false}],
        }))
        .await;
        rig.when(|state| {
            let drone = state.drone("drone_1");
            drone.is_some_and(|drone| drone.position.z == z)
        })
        .await;
        let said = told(&rig).await;
        assert!(said.contains("refused") && said.contains(fault), "{said}");
        let reply = rig
            .check(&Call::start(&route()), 409, "moved", "none")
            .await;
        assert!(reply.text.contains(fault), "{}", reply.text);
    }
}

/// What the swarm reports while a start waits for the disk counts.
#[tokio::test]
async fn a_start_is_judged_again_after_the_disk() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let mut lock = rig.lock_database().await;
    let start = Call::start(&route());
    let mut states = rig.life.states.clone();
    let meanwhile = async {
        while rig.life.service.missions.slot() == Slot::Free {
            tokio::task::yield_now().await;
        }
        let foreign = Uuid::new_v4();
        wire.report(&[foreign], Some(foreign)).await;
        states
            .wait_for(|state| state.mission.is_some())
            .await
            .unwrap();
        lock.execute("ROLLBACK").await.unwrap();
        lock.close().await.unwrap();
    };
    let ((), reply) = tokio::join!(meanwhile, rig.check(&start, 409, "mission-active", "none"));
    drop(reply);
    let settled = rig.send(&Call::settle(start.operation)).await.json();
    assert_eq!(
        settled["effect"], "none",
        "it was begun and is over: {settled}"
    );
    assert_eq!(settled["answer"]["status"], 409);
}

#[tokio::test]
async fn a_mission_the_swarm_flies_and_does_not_list_is_settled_as_done() {
    let swarm = Swarm::new().await;
    let mut rig = Rig::with(&swarm.address).await;
    let mut wire = swarm.claimed(&[], None).await;
    rig.when(|state| state.bridge.is_live()).await;
    let start = impatient();
    let unanswered = async {
        wire.hear().await;
        wire.closed().await;
    };
    tokio::join!(
        unanswered,
        rig.check(&start, 504, "unknown-outcome", "maybe")
    );
    let mut wire = swarm.claimed(&[], Some(start.operation)).await;
    loop {
        let settled = rig.send(&Call::settle(start.operation)).await.json();
        if settled["state"] != "running" {
            assert_eq!(settled["state"], "done", "{settled}");
            return;
        }
        wire.report(&[], Some(start.operation)).await;
    }
}

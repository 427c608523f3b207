//! What a call needs before it can be made: a plan, its code, a mission.

pub(crate) mod fleet;

use interlock_surface::{Class, Row};
use interlock_tests::http::Call;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::System;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

/// Three drones in a line, which do not meet.
pub(crate) fn route() -> Value {
    json!({
        "name": "survey", "type": "formation", "formation": "line", "droneCount": 3,
        "spacingMeters": 3, "waypoints": [{ "x": 0, "y": 0, "z": 6 }, { "x": 30, "y": 0, "z": 6 }],
    })
}

/// A call that is complete but for who makes it.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) row: &'static Row,
    pub(crate) path: String,
    pub(crate) body: Option<Value>,
}

impl Ask {
    /// The call by `persona`. What is not a read carries a key of its own,
    /// which agents need.
    pub(crate) fn by(&self, system: &System, persona: Persona) -> Call {
        let mut call = system.call(persona, self.row.method.as_str(), &self.path);
        if !matches!(self.row.class, Class::Read | Class::PrivateRead) {
            call = call.key(&Uuid::new_v4().to_string());
        }
        match &self.body {
            Some(body) => call.json(body),
            None => call,
        }
    }
}

/// Makes, with the rights of those who have them, what a call of `row` is
/// about: everything is on the ground, and the object is a fresh one.
pub(crate) async fn set(system: &System, row: &'static Row) -> Ask {
    let with = |path: String, body: Option<Value>| Ask { row, path, body };
    let path = || row.path.to_owned();
    match row.name {
        "gateway.health" | "gateway.alive" | "drones.swarm.state" | "drones.swarm.land"
        | "drones.plan.list" => with(path(), None),
        "drones.mission.start" | "drones.plan.propose" => {
            ground(system).await;
            with(path(), Some(route()))
        }
        "drones.mission.get" | "drones.mission.abort" => {
            with(path().replace("{mission}", &mission(system).await), None)
        }
        "drones.plan.get" | "drones.plan.approve" | "drones.plan.reject" => {
            with(path().replace("{plan}", &pending(system).await), None)
        }
        "drones.plan.dispatch" => {
            let (plan, code) = approved(system).await;
            with(
                path().replace("{plan}", &plan),
                Some(json!({ "approvalCode": code })),
            )
        }
        _ if row.service == "mowers" => fleet::set(system, row).await,
        other => panic!("say here what a call of `{other}` needs"),
    }
}

/// A plan of the proposer that waits for a person.
pub(crate) async fn pending(system: &System) -> String {
    propose(system, Persona::Proposer).await
}

/// A plan of `persona` that waits for a person.
pub(crate) async fn propose(system: &System, persona: Persona) -> String {
    ground(system).await;
    let plan = system.post(persona, "/api/mission-plans", &route()).await;
    let plan = plan.expect(201).json();
    assert_eq!(plan["status"], "PendingApproval", "{plan}");
    text(&plan["id"])
}

/// A plan that may be flown, and its code.
pub(crate) async fn approved(system: &System) -> (String, String) {
    let plan = pending(system).await;
    let path = format!("/api/mission-plans/{plan}/approve");
    let answer = system.call(Persona::Approver, "POST", &path).send().await;
    let code = text(&answer.expect(200).json()["approvalCode"]);
    (plan, code)
}

/// A mission that flies.
pub(crate) async fn mission(system: &System) -> String {
    ground(system).await;
    let started = system
        .post(Persona::Operator, "/api/missions", &route())
        .await;
    text(&started.expect(201).json()["id"])
}

/// Ends what flies and brings the drones home to their pads, from where every
/// plan here starts.
///
/// Looks at reports that came after this was asked: an older one may not know
/// of a flight that has just begun.
pub(crate) async fn ground(system: &System) {
    if system.sim.counters().flights == 0 {
        return;
    }
    let asked = Timestamp::now();
    poll::until_async("the drones are home", async || {
        let state = system.get(Persona::Viewer, "/api/swarm/state").await;
        let state = state.expect(200).json();
        if reported(&state) <= asked {
            return None;
        }
        if let Some(mission) = state["activeMissionId"].as_str() {
            let path = format!("/api/missions/{mission}/abort");
            let home = json!({ "action": "rtl" });
            // 409 when it has ended meanwhile.
            let answer = system.post(Persona::Viewer, &path, &home).await;
            assert!(matches!(answer.status, 200 | 409), "{}", answer.text());
            return None;
        }
        let drones = state["drones"].as_array().expect("a list of drones");
        drones
            .iter()
            .all(|drone| drone["armed"] == false)
            .then_some(())
    })
    .await;
}

/// When the state that the service shows was reported to it.
fn reported(state: &Value) -> Timestamp {
    let shown: Timestamp = text(&state["timestampUtc"]).parse().expect("a time");
    let age = state["lastStateAgeSeconds"].as_f64().expect("an age");
    shown - SignedDuration::from_secs_f64(age)
}

pub(crate) fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

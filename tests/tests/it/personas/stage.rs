//! What a call needs before it can be made: a plan, its code, a mission.

use interlock_surface::{Class, Row};
use interlock_tests::http::{Answer, Call};
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::System;
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
        "drones.mission.start" => {
            ground(system).await;
            with(path(), Some(route()))
        }
        "drones.plan.propose" => with(path(), Some(route())),
        "drones.mission.get" | "drones.mission.abort" => {
            with(path().replace("{mission}", &mission(system).await), None)
        }
        "drones.plan.get" | "drones.plan.approve" | "drones.plan.reject" => {
            with(path().replace("{plan}", &pending(system).await), None)
        }
        "drones.plan.dispatch" => {
            ground(system).await;
            let (plan, code) = approved(system).await;
            with(
                path().replace("{plan}", &plan),
                Some(json!({ "approvalCode": code })),
            )
        }
        other => panic!("say here what a call of `{other}` needs"),
    }
}

/// A plan of the proposer that waits for a person.
pub(crate) async fn pending(system: &System) -> String {
    propose(system, Persona::Proposer).await
}

/// A plan of `persona` that waits for a person.
pub(crate) async fn propose(system: &System, persona: Persona) -> String {
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

/// Lands everything that ever flew, and waits until it stands.
pub(crate) async fn ground(system: &System) {
    if system.sim.counters().flights == 0 {
        return;
    }
    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    land.send().await.expect(202);
    poll::until_async("the swarm stands", async || {
        let state = state(system).await;
        let drones = state["drones"].as_array().expect("a list of drones");
        let stand = drones.iter().all(|drone| drone["armed"] == false);
        (stand && state["activeMissionId"].is_null()).then_some(())
    })
    .await;
}

async fn state(system: &System) -> Value {
    let answer: Answer = system.get(Persona::Viewer, "/api/swarm/state").await;
    answer.expect(200).json()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a text").to_owned()
}

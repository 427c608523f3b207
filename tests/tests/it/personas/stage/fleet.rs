//! What a call about mowers needs: a site, a group, a mower, and what it does.

use interlock_surface::Row;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::System;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Ask, text};

/// Where the fleet's API begins.
pub(crate) const FLEET: &str = "/api/v1/fleet";

/// Makes, with the rights of those who have them, what a call of `row` is
/// about. Every object is a fresh one.
pub(super) async fn set(system: &System, row: &'static Row) -> Ask {
    let mut path = row.path.to_owned();
    if row.path.contains("{site}") {
        path = path.replace("{site}", &site(system).await);
    }
    let mower = match row.path.contains("{mower}") || row.path.contains("{group}") {
        true => Some(mower(system).await),
        false => None,
    };
    if let Some(mower) = &mower {
        path = path.replace("{mower}", mower);
    }
    if row.path.contains("{group}") {
        let group = group(system).await;
        let joins = !matches!(row.name, "mowers.group.add" | "mowers.group.delete");
        if let Some(mower) = mower.as_ref().filter(|_| joins) {
            join(system, &group, mower).await;
        }
        path = path.replace("{group}", &group);
    }
    if row.path.contains("{command}") {
        let mower = self::mower(system).await;
        let command = json!({ "command": { "kind": "pause_mow" } });
        let answer = command_at(system, &mower, &command).await;
        path = path.replace("{command}", &text(&answer["command_id"]));
    }
    if row.path.contains("{bulk}") {
        path = path.replace("{bulk}", &bulk(system).await);
    }
    let mut session = None;
    if row.path.contains("{session}") {
        let opened = open(system, &self::mower(system).await).await;
        path = path.replace("{session}", &opened);
    }
    if row.kind == Some("manual_drive") {
        session = Some(open(system, mower.as_deref().expect("driving is of a mower")).await);
    }
    let mut code = None;
    if row.path.contains("{plan}") {
        let (plan, given) = match row.name {
            "mowers.plan.dispatch" => approved(system).await,
            _ => (pending(system).await, String::new()),
        };
        code = Some(given);
        path = path.replace("{plan}", &plan);
    }
    let area = match (mower.as_deref(), needs_area(row)) {
        (Some(mower), true) => area(system, mower).await,
        _ => Uuid::nil().to_string(),
    };
    let mut body = body(row, &area, session, code);
    if row.name == "mowers.mower.place" {
        body = Some(json!({ "site_id": site(system).await, "group_ids": [] }));
    }
    Ask { row, path, body }
}

/// Whether the body names an area of the mower in the path.
fn needs_area(row: &Row) -> bool {
    matches!(row.name, "mowers.path.preview" | "mowers.plan.propose")
        || row.kind == Some("start_mow")
}

/// The body of a call of `row`, complete but for what it cannot know.
pub(crate) fn body(
    row: &Row,
    area: &str,
    session: Option<String>,
    code: Option<String>,
) -> Option<Value> {
    let command = |command: Value| Some(json!({ "command": command }));
    if let Some(kind) = row.kind {
        return match kind {
            "start_mow" => Some(json!({
                "command": { "kind": kind, "area_ids": [area] },
                "area_clear_confirmed": true,
            })),
            "resume_mow" => Some(json!({
                "command": { "kind": kind }, "area_clear_confirmed": true,
            })),
            "set_blade_height" => command(json!({ "kind": kind, "height_mm": 40 })),
            "set_speed" => command(json!({ "kind": kind, "speed_mps": 0.3 })),
            "manual_drive" => command(json!({
                "kind": kind, "session_id": session, "sequence": 1, "linear": 0, "angular": 0,
            })),
            _ => command(json!({ "kind": kind })),
        };
    }
    match row.name {
        "mowers.path.preview" | "mowers.plan.propose" => Some(json!({ "area_ids": [area] })),
        "mowers.plan.dispatch" => Some(json!({ "approvalCode": code })),
        "mowers.mower.reset" => Some(json!({ "on_site_confirmed": true })),
        "mowers.site.create" => Some(json!({ "name": "Depot", "time_zone": "Europe/Berlin" })),
        "mowers.group.create" => Some(json!({ "name": "North" })),
        "mowers.site.change" | "mowers.group.change" | "mowers.mower.change" => {
            Some(json!({ "name": "Renamed" }))
        }
        "mowers.mower.register" => Some(registration()),
        _ => None,
    }
}

pub(crate) fn registration() -> Value {
    json!({
        "name": "Mower", "vendor": "Simulated", "model": "luba",
        "serial": Uuid::new_v4().to_string(),
        "connection": { "kind": "simulated", "options": { "profile": "luba" } },
    })
}

/// A mower that its device gateway holds, in the default site.
pub(crate) async fn mower(system: &System) -> String {
    let path = format!("{FLEET}/mowers");
    let answer = system.post(Persona::Manager, &path, &registration()).await;
    let mower = text(&answer.expect(201).json()["id"]);
    held(system, &mower).await;
    mower
}

/// Waits until a device gateway talks to a mower.
pub(crate) async fn held(system: &System, mower: &str) {
    let state = format!("{FLEET}/mowers/{mower}/state");
    poll::until_async("the mower is held", async || {
        let answer = system.get(Persona::Viewer, &state).await;
        (answer.status == 200).then_some(())
    })
    .await;
}

/// A site of its own.
pub(crate) async fn site(system: &System) -> String {
    let body = json!({ "name": "Depot", "time_zone": "Europe/Berlin" });
    made(system, "sites", &body).await
}

/// A group below the account.
pub(crate) async fn group(system: &System) -> String {
    made(system, "groups", &json!({ "name": "North" })).await
}

async fn made(system: &System, what: &str, body: &Value) -> String {
    let path = format!("{FLEET}/{what}");
    let answer = system.post(Persona::Manager, &path, body).await;
    text(&answer.expect(201).json()["id"])
}

/// Puts a mower into a group.
pub(crate) async fn join(system: &System, group: &str, mower: &str) {
    let path = format!("{FLEET}/groups/{group}/mowers/{mower}");
    let answer = system.call(Persona::Manager, "PUT", &path).send().await;
    answer.expect(204);
}

/// An area of the mower's map.
pub(crate) async fn area(system: &System, mower: &str) -> String {
    let path = format!("{FLEET}/mowers/{mower}/map");
    let map = system.get(Persona::Viewer, &path).await.expect(200).json();
    text(&map["areas"][0]["id"])
}

/// A command by the operator, as accepted.
pub(crate) async fn command_at(system: &System, mower: &str, body: &Value) -> Value {
    let path = format!("{FLEET}/mowers/{mower}/commands");
    let answer = system.post(Persona::Operator, &path, body).await;
    answer.expect(202).json()
}

/// A command to the mowers of a group.
async fn bulk(system: &System) -> String {
    let (group, mower) = (group(system).await, mower(system).await);
    join(system, &group, &mower).await;
    let path = format!("{FLEET}/groups/{group}/commands");
    let body = json!({ "command": { "kind": "pause_mow" } });
    let answer = system.post(Persona::Dispatcher, &path, &body).await;
    text(&answer.expect(202).json()["bulk_id"])
}

/// A drive session of the driver.
async fn open(system: &System, mower: &str) -> String {
    let path = format!("{FLEET}/mowers/{mower}/drive-sessions");
    let answer = system.call(Persona::Driver, "POST", &path).send().await;
    text(&answer.expect(201).json()["session_id"])
}

/// A plan of the proposer that waits for a person.
pub(crate) async fn pending(system: &System) -> String {
    propose(system, Persona::Proposer).await
}

/// A plan of `persona` that waits for a person.
pub(crate) async fn propose(system: &System, persona: Persona) -> String {
    let mower = mower(system).await;
    let area = area(system, &mower).await;
    let path = format!("{FLEET}/mowers/{mower}/mow-plans");
    let call = system
        .call(persona, "POST", &path)
        .key(&Uuid::new_v4().to_string());
    let answer = call.json(&json!({ "area_ids": [area] })).send().await;
    text(&answer.expect(201).json()["id"])
}

/// A plan that may be mown, and its code.
pub(crate) async fn approved(system: &System) -> (String, String) {
    let plan = pending(system).await;
    let path = format!("{FLEET}/mow-plans/{plan}/approve");
    let answer = system.call(Persona::Approver, "POST", &path).send().await;
    let code = text(&answer.expect(200).json()["approvalCode"]);
    (plan, code)
}

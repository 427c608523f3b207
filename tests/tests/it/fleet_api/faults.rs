//! Faults that other fleets have had, tried through the gateway on mowers that
//! move.

use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::System;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use super::stage::{Caller, ended, made, mowers, registered_with, start, state};
use crate::personas::stage::fleet::{approved, area, mower};
use crate::personas::stage::text;

fn mow(area: &str) -> Value {
    json!({ "command": { "kind": "start_mow", "area_ids": [area] }, "area_clear_confirmed": true })
}

fn resume() -> Value {
    json!({ "command": { "kind": "resume_mow" }, "area_clear_confirmed": true })
}

fn simple(kind: &str) -> Value {
    json!({ "command": { "kind": kind } })
}

/// The record of a command, from its acceptance to its end.
async fn run(system: &System, by: &Caller, mower: &str, body: &Value) -> Value {
    let answer = by
        .post(system, &format!("/mowers/{mower}/commands"), body)
        .await;
    let accepted = answer.expect(202).json();
    assert_eq!(accepted["meaning"], "queued", "{accepted}");
    assert_eq!(accepted["status"], "pending", "{accepted}");
    ended(system, &text(&accepted["command_id"])).await
}

/// A simulated mower that is like the others but for these options.
async fn special(system: &System, options: Value) -> String {
    let manager = Caller::persona(system, Persona::Manager);
    let body = registered_with(|body| body["connection"]["options"] = options);
    let id = made(system, &manager, "/mowers", &body).await;
    state(system, &id, "the mower is held", |_| true).await;
    id
}

/// B91: a start is a start and a resume is a resume, to the mower too.
#[tokio::test]
async fn a_start_is_never_taken_for_a_resume() {
    let system = start().await;
    let operator = Caller::persona(&system, Persona::Operator);
    let mower = mower(&system).await;
    let area = area(&system, &mower).await;
    let nothing = run(&system, &operator, &mower, &resume()).await;
    assert_eq!(nothing["status"], "rejected", "{nothing}");
    assert!(text(&nothing["reason"]).contains("no-job"), "{nothing}");

    let first = run(&system, &operator, &mower, &mow(&area)).await;
    assert_eq!(first["status"], "executed", "{first}");
    assert_eq!(first["kind"], "start_mow");
    assert_eq!(first["command"]["area_ids"], json!([area]), "{first}");
    let mows = |state: &Value| state["activity"] == "mowing" || state["activity"] == "undocking";
    let of_first = state(&system, &mower, "it mows", mows).await["job"]["plan_id"].clone();
    let second = run(&system, &operator, &mower, &mow(&area)).await;
    assert_eq!(second["status"], "rejected", "{second}");
    assert!(text(&second["reason"]).contains("job-running"), "{second}");

    run(&system, &operator, &mower, &simple("pause_mow")).await;
    let paused = state(&system, &mower, "it pauses", |state| {
        state["activity"] == "paused"
    })
    .await;
    assert_eq!(paused["job"]["plan_id"], of_first, "the job is kept");
    // A start in the pause begins a job of its own.
    let third = run(&system, &operator, &mower, &mow(&area)).await;
    assert_eq!(third["status"], "executed", "{third}");
    let fresh = |state: &Value| !state["job"].is_null() && state["job"]["plan_id"] != of_first;
    let fresh = state(&system, &mower, "another job runs", fresh).await;
    assert_eq!(fresh["job"]["plan_id"], third["command_id"]);
    // An area that is not on the map is refused by the mower, not replaced.
    run(&system, &operator, &mower, &simple("pause_mow")).await;
    let unknown = run(&system, &operator, &mower, &mow(super::stage::NEVER)).await;
    assert_eq!(unknown["status"], "rejected", "{unknown}");
    assert!(
        text(&unknown["reason"]).contains("unknown-area"),
        "{unknown}"
    );
}

/// B92: what was accepted on the way and refused by the machine ends refused,
/// and says why.
#[tokio::test]
async fn a_refusal_of_the_machine_is_the_end_of_the_command() {
    let system = start().await;
    let operator = Caller::persona(&system, Persona::Operator);
    let empty = special(&system, json!({ "profile": "luba", "battery_percent": 10 })).await;
    let area = area(&system, &empty).await;
    let record = run(&system, &operator, &empty, &mow(&area)).await;
    assert_eq!(record["status"], "rejected", "{record}");
    assert!(text(&record["reason"]).contains("low-battery"), "{record}");
    assert_eq!(record["overdue"], false, "{record}");
    assert!(record["result_at"].is_string(), "{record}");
    let state = state(&system, &empty, "it stays", |_| true).await;
    assert_eq!(state["ha_activity"], "docked", "{state}");
    assert!(state["job"].is_null(), "{state}");
}

/// B100, B103: nothing moves after a stop, nor after its reset, until somebody
/// who may asks for it anew.
#[tokio::test]
async fn a_stop_holds_and_its_reset_moves_nothing() {
    let system = start().await;
    let operator = Caller::persona(&system, Persona::Operator);
    let viewer = Caller::persona(&system, Persona::Viewer);
    let mower = mower(&system).await;
    let area = area(&system, &mower).await;
    run(&system, &operator, &mower, &mow(&area)).await;
    let moves = |state: &Value| state["speed_mps"].as_f64().is_some_and(|speed| speed > 0.0);
    state(&system, &mower, "it moves", moves).await;

    let path = format!("/mowers/{mower}/emergency-stop");
    for _ in 0..3 {
        let stop = viewer
            .call(&system, "POST", &path)
            .send()
            .await
            .expect(202)
            .json();
        let stop = ended(&system, &text(&stop["command_id"])).await;
        assert_eq!(stop["status"], "executed", "{stop}");
    }
    let stands = |state: &Value| state["activity"] == "stopped" && state["speed_mps"] == 0.0;
    state(&system, &mower, "it stands", stands).await;
    for body in [
        mow(&area),
        resume(),
        simple("return_to_dock"),
        simple("leave_dock"),
    ] {
        let record = run(&system, &operator, &mower, &body).await;
        assert_eq!(record["status"], "rejected", "{record}");
        let reason = text(&record["reason"]);
        assert!(reason.contains("emergency-latched"), "{record}");
    }

    // The latch: not by who may look, not from afar, not without a word.
    let reset = format!("/mowers/{mower}/emergency-reset");
    let attested = json!({ "on_site_confirmed": true });
    viewer.post(&system, &reset, &attested).await.expect(403);
    for body in [json!({}), json!({ "on_site_confirmed": false })] {
        let refused = operator.post(&system, &reset, &body).await;
        assert!(matches!(refused.status, 400 | 422), "{}", refused.text());
    }
    let agent = Caller::persona(&system, Persona::Agent);
    agent.post(&system, &reset, &attested).await.expect(403);
    state(&system, &mower, "the latch holds", |state| {
        state["emergency"]["latched"] == true
    })
    .await;
    let released = operator
        .post(&system, &reset, &attested)
        .await
        .expect(202)
        .json();
    let released = ended(&system, &text(&released["command_id"])).await;
    assert_eq!(released["status"], "executed", "{released}");

    // Free, and still: ten reports later it has not moved.
    let free = |state: &Value| state["emergency"]["latched"] == false;
    let before = state(&system, &mower, "the latch is off", free).await;
    let later = |now: &Value| now["at"] != before["at"];
    let after = state(&system, &mower, "another report", later).await;
    assert_eq!(after["activity"], "paused", "{after}");
    assert_eq!(after["speed_mps"], 0.0, "{after}");
    let path = format!("/mowers/{mower}/commands");
    viewer.post(&system, &path, &resume()).await.expect(403);
    let resumed = run(&system, &operator, &mower, &resume()).await;
    assert_eq!(resumed["status"], "executed", "{resumed}");
}

/// B100: a code that was good before a stop starts nothing after it.
#[tokio::test]
async fn a_code_from_before_a_stop_starts_nothing() {
    let system = start().await;
    let operator = Caller::persona(&system, Persona::Operator);
    let viewer = Caller::persona(&system, Persona::Viewer);
    let (plan, code) = approved(&system).await;
    let told = viewer.get(&system, &format!("/mow-plans/{plan}")).await;
    let told = told.expect(200).json();
    let mower = text(&told["object"]["id"]);
    let stop = format!("/mowers/{mower}/emergency-stop");
    viewer.call(&system, "POST", &stop).send().await.expect(202);
    let latched = |state: &Value| state["emergency"]["latched"] == true;
    state(&system, &mower, "the stop holds", latched).await;
    let dispatch = format!("/mow-plans/{plan}/dispatch");
    let answer = operator
        .post(&system, &dispatch, &json!({ "approvalCode": code }))
        .await;
    assert_eq!(answer.status, 409, "{}", answer.text());
    assert_eq!(answer.problem(), "stopped-since", "{}", answer.text());
    assert_eq!(answer.json()["effect"], "none");
    let starts = viewer
        .get(&system, &format!("/commands?mower={mower}"))
        .await;
    let starts = starts.expect(200).json();
    let items = starts["items"].as_array().unwrap();
    assert!(items.iter().all(|it| it["kind"] != "start_mow"), "{starts}");
}

/// B101: stops are neither counted against anybody nor against each other.
#[tokio::test]
async fn twenty_stops_are_twenty_stops() {
    let system = start().await;
    let viewer = Caller::persona(&system, Persona::Viewer);
    let mower = &mowers(&system, 1).await[0];
    let path = format!("/mowers/{mower}/emergency-stop");
    let mut stops = JoinSet::new();
    for _ in 0..20 {
        stops.spawn(viewer.call(&system, "POST", &path).send());
    }
    let mut commands = Vec::new();
    for answer in stops.join_all().await {
        let told = answer.expect(202).json();
        commands.push(text(&told["command_id"]));
    }
    commands.sort();
    commands.dedup();
    assert_eq!(commands.len(), 20);
    let latched = |state: &Value| state["emergency"]["latched"] == true;
    state(&system, mower, "the stops hold", latched).await;
    // The stream keeps the latest of a mower, so an earlier one may stay without
    // a word of its own; none is refused, and none has run out.
    for command in &commands {
        // What the records could not take at once they are given later.
        let record = poll::until_async("the stop is on record", async || {
            let record = viewer.get(&system, &format!("/commands/{command}")).await;
            (record.status == 200).then(|| record.json())
        })
        .await;
        let open = ["pending", "accepted", "executed"];
        assert!(open.iter().any(|it| record["status"] == *it), "{record}");
    }
}

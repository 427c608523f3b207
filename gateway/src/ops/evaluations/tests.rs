use serde_json::{Value, json};

use crate::testkit::{Stage, Told, object};

const PATH: &str = "/access/v1/evaluations";
const STOP: &str = "/api/v1/fleet/emergency-stop";
const LIST: &str = "/api/v1/fleet/mowers";
const FIRST: &str = "0197b1f0-0000-7000-8000-000000000001";
const SECOND: &str = "0197b1f0-0000-7000-8000-000000000002";
const FOREIGN: &str = "0197b1f0-0000-7000-8000-000000000003";
const MISSING: &str = "0197b1f0-0000-7000-8000-0000000000ff";

async fn stage() -> Stage {
    let stage = Stage::enforced().await;
    stage.register(
        ("Scope", "acme"),
        1,
        &[],
        json!({ "features": ["control"] }),
    );
    stage.register(
        ("Scope", "north"),
        1,
        &["acme"],
        json!({ "time_zone": "UTC", "quiet_hours": [{ "from": "00:00", "to": "24:00" }] }),
    );
    stage.register(("Mower", FIRST), 7, &["acme"], json!({}));
    stage.register(("Mower", SECOND), 3, &["north"], json!({}));
    stage.register(("Mower", FOREIGN), 1, &["beta"], json!({}));
    stage
}

/// The grant with which the service hears a call of this caller.
async fn grant(stage: &Stage, grants: Value, path: &str) -> String {
    let token = stage.token("ann", &["acme"], grants);
    stage.call(Some(&token), "GET", path, None).await;
    stage.heard().remove(0).token
}

fn question(action: &str, id: &str) -> Value {
    json!({ "action": { "name": action }, "resource": { "type": "Mower", "id": id } })
}

async fn ask(stage: &Stage, grant: &str, questions: &[Value]) -> Told {
    let body = json!({ "grant": grant, "evaluations": questions });
    stage.feed("POST", PATH, &body).await
}

#[tokio::test]
async fn members_are_judged_for_the_caller_of_the_grant() {
    let stage = stage().await;
    let roles = json!({ "operator": [FIRST, "north"], "viewer": ["acme"] });
    let grant = grant(&stage, roles, LIST).await;
    let questions = [
        question("start_mow", FIRST),
        question("start_mow", SECOND),
        question("manual_drive", FIRST),
        question("mower_stop", SECOND),
        question("observe", FIRST),
        question("observe", FOREIGN),
        question("start_mow", MISSING),
    ];
    let told = ask(&stage, &grant, &questions).await;
    assert_eq!(told.status, 200, "{:?}", told.body);
    assert_eq!(
        told.json()["evaluations"],
        json!([
            { "decision": true, "context": { "visible": true, "revision": 7 } },
            { "decision": false, "context": { "visible": true, "revision": 3, "problem": "quiet-hours" } },
            { "decision": false, "context": { "visible": true, "revision": 7 } },
            { "decision": true, "context": { "visible": true, "revision": 3 } },
            { "decision": true, "context": { "visible": true, "revision": 7 } },
            { "decision": false, "context": { "visible": false, "revision": 1 } },
            { "decision": false, "context": { "visible": false } },
        ])
    );
    assert_eq!(told.headers["cache-control"], "no-store");
}

#[tokio::test]
async fn what_changed_since_the_call_counts() {
    let stage = stage().await;
    let grant = grant(&stage, json!({ "operator": ["acme"] }), LIST).await;
    let allowed = async || {
        let told = ask(&stage, &grant, &[question("start_mow", FIRST)]).await;
        told.json()["evaluations"][0]["decision"].clone()
    };
    assert_eq!(allowed().await, true);
    let moved = object(("Mower", FIRST), 8, &["beta"], json!({}));
    stage.gateway.registry.apply(&moved);
    assert_eq!(allowed().await, false);
}

#[tokio::test]
async fn only_a_grant_with_a_standing_is_taken() {
    let stage = stage().await;
    let without = grant(
        &stage,
        json!({ "viewer": ["acme"] }),
        &format!("{LIST}/{FIRST}"),
    )
    .await;
    let with = grant(&stage, json!({ "viewer": ["acme"] }), LIST).await;
    let check = async |grant: &str, status: u16, part: &str| {
        let told = ask(&stage, grant, &[question("observe", FIRST)]).await;
        assert_eq!(told.status, status, "{:?}", told.body);
        let detail = told.json()["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(detail.contains(part), "{detail}");
    };
    check(&with, 200, "").await;
    check(&without, 401, "`grant` carries no standing").await;
    check("x.y.z", 401, "`grant` is no grant").await;
    let (signed, _) = with.rsplit_once('.').expect("a signature");
    check(&format!("{signed}.AAAA"), 401, "`grant` does not verify").await;
}

#[tokio::test]
async fn what_is_no_question_is_named() {
    let stage = stage().await;
    let grant = grant(&stage, json!({ "viewer": ["acme"] }), LIST).await;
    let about = |kind: &str, action: &str| json!({ "action": { "name": action }, "resource": { "type": kind, "id": FIRST } });
    let check = async |question: Value, part: &str| {
        let told = ask(
            &stage,
            &grant,
            &[about("Mower", "observe"), question.clone()],
        )
        .await;
        assert_eq!(told.status, 400, "{question}");
        let detail = told.json()["detail"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        assert!(detail.contains(part), "{question}: {detail}");
    };
    check(
        about("Mower", "fly"),
        "evaluation 1: no row of the service `mowers` has the action `fly`",
    )
    .await;
    // Another service's action, another type's, and a plan, which is not registered.
    check(about("Swarm", "mission_start"), "evaluation 1").await;
    check(about("Scope", "start_mow"), "evaluation 1").await;
    check(about("Plan", "mow_plan_get"), "evaluation 1").await;
    check(about("Gateway", "mowers_healthz"), "evaluation 1").await;
    check(about("Gateway", "observe"), "evaluation 1").await;
    check(json!({ "action": { "name": "observe" } }), "resource").await;
    check(
        {
            let mut named = about("Mower", "observe");
            named["subject"] = json!({ "id": "somebody else" });
            named
        },
        "subject",
    )
    .await;
    let many = vec![about("Mower", "observe"); super::QUESTIONS + 1];
    let told = ask(&stage, &grant, &many).await;
    assert_eq!(told.status, 400);
    let none = ask(&stage, &grant, &[]).await;
    assert_eq!(
        (none.status, none.json()),
        (200, json!({ "evaluations": [] }))
    );
}

#[tokio::test]
async fn a_service_that_did_not_sign_is_not_answered() {
    let stage = stage().await;
    let request = http::Request::post(PATH)
        .header("host", "127.0.0.1")
        .body(crate::server::RequestBody::whole(
            r#"{"grant":"","evaluations":[]}"#.into(),
        ))
        .expect("a request");
    let peer = crate::server::Peer {
        address: ([127, 0, 0, 1], 1).into(),
        admission: crate::server::Admission::Normal,
    };
    let told = crate::ops::handle(stage.ops.clone(), request, peer).await;
    assert_eq!(told.status(), 401);
}

#[tokio::test]
async fn feeding_an_attribute_that_cannot_be_read_names_it() {
    let stage = stage().await;
    let check = async |path: &str, body: Value, status: u16, part: &str| {
        let told = stage.feed("PUT", path, &body).await;
        assert_eq!(told.status, status, "{body}: {:?}", told.body);
        let text = String::from_utf8_lossy(&told.body).into_owned();
        assert!(text.contains(part), "{text}");
    };
    let mower = format!("/registry/objects/Mower/{FIRST}");
    let good =
        json!({ "revision": 20, "parents": ["acme"], "attributes": { "quarantined": true } });
    check(&mower, good, 200, "20").await;
    let bad = json!({ "revision": 21, "parents": ["acme"], "attributes": { "quarantined": "no" } });
    check(&mower, bad, 400, "attribute `quarantined` must be").await;
    let zone = json!({ "revision": 2, "attributes": { "time_zone": "Mars/Olympus" } });
    check(
        "/registry/objects/Scope/acme",
        zone,
        400,
        "attribute `time_zone` must name",
    )
    .await;
    let crowd: Vec<String> = (0..65).map(|n| format!("s{n}")).collect();
    check(
        &mower,
        json!({ "revision": 21, "parents": crowd }),
        400,
        "64 parents",
    )
    .await;
    let upper = FIRST.replace('f', "F");
    let spelled = json!({ "revision": 21, "parents": [upper] });
    check(&mower, spelled, 400, "lower case").await;
    let path = format!("/registry/objects/Mower/{}", FIRST.replace('f', "F"));
    check(&path, json!({ "revision": 1 }), 400, "lower case").await;
    check(
        "/registry/objects/Swarm/s",
        json!({ "revision": 1 }),
        403,
        "feeds no objects",
    )
    .await;
    check(
        "/registry/objects/Plan/p",
        json!({ "revision": 1 }),
        403,
        "feeds no objects",
    )
    .await;
}

/// A guard that cannot be evaluated in one scope, where no case of the bundle
/// looks.
const BROKEN: &str = r#"
@id("guard.broken")
@advice("Overflows.")
forbid (principal, action in Action::"write", resource)
when { resource in Scope::"cracked" && context.ttl_ms - 9223372036854775807 - 2 < 0 };
"#;

#[tokio::test]
async fn what_cannot_be_evaluated_answers_nothing() {
    let stage = Stage::with_policy("guards/90-broken.cedar", BROKEN).await;
    stage.register(("Scope", "acme"), 1, &[], json!({}));
    stage.register(("Mower", FIRST), 7, &["acme", "cracked"], json!({}));
    stage.register(("Mower", SECOND), 7, &["acme"], json!({}));
    let grant = grant(&stage, json!({ "operator": ["acme"] }), LIST).await;
    let good = [question("start_mow", SECOND), question("mower_stop", FIRST)];
    let told = ask(&stage, &grant, &good).await;
    assert_eq!(told.status, 200, "{:?}", told.body);
    let bad = [question("start_mow", SECOND), question("start_mow", FIRST)];
    let told = ask(&stage, &grant, &bad).await;
    assert_eq!(
        (told.status, told.problem().as_str()),
        (503, "policy-broken")
    );
}

/// A permit to look that cannot be evaluated.
const BLIND: &str = r#"
@id("view.broken")
@advice("Overflows.")
permit (principal, action in Action::"view", resource)
when { resource in Scope::"cracked" && context.ttl_ms - 9223372036854775807 - 2 < 0 };
"#;

#[tokio::test]
async fn a_stop_is_decided_by_the_built_in_bundle_where_the_policies_break() {
    let stage = stage().await;
    let grant = grant(&stage, json!({ "viewer": ["acme"] }), LIST).await;
    let blind = Stage::with_policy("permits/90-broken.cedar", BLIND).await;
    blind.register(("Scope", "acme"), 1, &[], json!({}));
    blind.register(("Mower", FIRST), 7, &["acme", "cracked"], json!({}));
    blind.register(("Mower", FOREIGN), 7, &["beta", "cracked"], json!({}));
    let stops = [
        question("mower_stop", FIRST),
        question("mower_stop", FOREIGN),
    ];
    let told = ask(&blind, &grant, &stops).await;
    assert_eq!(told.status, 200, "{:?}", told.body);
    let told = told.json();
    let decided = |index: usize| told["evaluations"][index]["decision"].clone();
    assert_eq!([decided(0), decided(1)], [true, false]);
    let observed = [question("observe", FIRST), question("observe", FOREIGN)];
    assert_eq!(ask(&blind, &grant, &observed).await.status, 503);
    // A stop that asks whom it may reach is not held up by what breaks looking.
    let token = stage.token("ann", &["acme"], json!({ "viewer": ["acme"] }));
    stage.call(Some(&token), "POST", STOP, None).await;
    let grant = stage.heard().remove(0).token;
    let told = ask(&blind, &grant, &observed).await;
    assert_eq!(told.status, 200, "{:?}", told.body);
    let told = told.json();
    let decided = |index: usize| told["evaluations"][index]["decision"].clone();
    assert_eq!([decided(0), decided(1)], [true, false]);
    let starts = ask(&blind, &grant, &[question("start_mow", FIRST)]).await;
    assert_eq!(starts.json()["evaluations"][0]["decision"], false);
}

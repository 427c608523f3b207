use serde_json::json;

use super::{MOWER, commands, furnish};
use crate::testkit::{ACCOUNT, Stage};

#[tokio::test]
async fn what_holds_somebody_back_who_has_the_right_is_named() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    let operator = stage.token("otto", &["acme"], json!({ "operator": ["acme"] }));
    let viewer = stage.token("vera", &["acme"], json!({ "viewer": ["acme"] }));
    let foreign = stage.token("fay", &["beta"], json!({ "admin": ["beta"] }));
    let check = async |token: &str, kind: &str, status: u16, problem: &str| {
        let body = json!({ "command": { "kind": kind } });
        let told = stage
            .call(Some(token), "POST", &commands(MOWER), Some(body))
            .await;
        assert_eq!(told.status, status, "{kind}: {:?}", told.body);
        if status != 200 {
            assert_eq!(told.problem(), problem, "{kind}");
        }
    };
    stage.register(("Scope", ACCOUNT), 2, &[], json!({ "features": [] }));
    check(&operator, "start_mow", 403, "feature-not-in-plan").await;
    check(&operator, "pause_mow", 200, "").await;
    check(&operator, "emergency_stop", 200, "").await;
    // Nobody learns more by what they may not do.
    check(&viewer, "start_mow", 403, "forbidden").await;
    check(&foreign, "start_mow", 404, "not-found").await;

    let night = json!({
        "features": ["control"], "time_zone": "UTC",
        "quiet_hours": [{ "from": "00:00", "to": "24:00" }],
    });
    stage.register(("Scope", ACCOUNT), 3, &[], night);
    check(&operator, "start_mow", 403, "quiet-hours").await;
    check(&operator, "set_speed", 200, "").await;
    check(&operator, "return_to_dock", 200, "").await;

    stage.register(
        ("Scope", ACCOUNT),
        4,
        &[],
        json!({ "features": ["control"] }),
    );
    stage.register(
        ("Mower", MOWER),
        8,
        &["acme"],
        json!({ "quarantined": true }),
    );
    check(&operator, "start_mow", 403, "forbidden").await;
    check(&viewer, "emergency_stop", 200, "").await;

    stage.register(("Mower", MOWER), 9, &["acme"], json!({}));
    stage.register(("Scope", ACCOUNT), 5, &[], json!({ "suspended": true }));
    check(&operator, "start_mow", 403, "forbidden").await;
    check(&operator, "emergency_stop", 200, "").await;
}

#[tokio::test]
async fn a_command_that_would_live_too_long_is_a_fault_of_the_request() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    let driver = stage.token("dan", &["acme"], json!({ "driver": ["acme"] }));
    let viewer = stage.token("vera", &["acme"], json!({ "viewer": ["acme"] }));
    let check = async |token: &str, kind: &str, seconds: serde_json::Value, told: &str| {
        let body = json!({ "command": { "kind": kind }, "ttl_seconds": seconds });
        let answer = stage
            .call(Some(token), "POST", &commands(MOWER), Some(body))
            .await;
        let problem = match answer.status {
            200 => "passed".to_owned(),
            status => format!("{status} {}", answer.problem()),
        };
        assert_eq!(problem, told, "{kind} {seconds}: {:?}", answer.body);
    };
    check(&driver, "start_mow", json!(600), "passed").await;
    for seconds in [json!(601), json!(601.0), json!(600.5)] {
        check(&driver, "start_mow", seconds, "422 ttl-too-long").await;
    }
    check(&driver, "manual_drive", json!(3), "422 ttl-too-long").await;
    check(&driver, "emergency_stop", json!(100_000), "passed").await;
    // Without the right, no other life would help.
    check(&viewer, "start_mow", json!(601), "403 forbidden").await;
}

#[tokio::test]
async fn an_agent_without_a_key_is_asked_for_one() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    let agent = stage.agent("bot", &["acme"], json!({ "operator": ["acme"] }));
    let path = format!("/api/v1/fleet/mowers/{MOWER}/mow-plans");
    let told = stage
        .call(Some(&agent), "POST", &path, Some(json!({ "area_ids": [] })))
        .await;
    assert_eq!(told.status, 400, "{:?}", told.body);
    assert_eq!(told.problem(), "idempotency-key-required");
    assert_eq!(told.json()["reasons"], json!(["guard.agent.idempotency"]));
}

#[tokio::test]
async fn a_refusal_says_whether_a_guard_or_a_missing_right_is_in_the_way() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    stage.register(
        ("Mower", MOWER),
        8,
        &["acme"],
        json!({ "quarantined": true }),
    );
    let check = async |role: &str, action: &str, reasons: serde_json::Value, part: &str| {
        let token = stage.token("ann", &["acme"], json!({ role: ["acme"] }));
        let body = json!({ "command": { "kind": action } });
        let told = stage
            .call(Some(&token), "POST", &commands(MOWER), Some(body))
            .await;
        assert_eq!(
            (told.status, told.problem().as_str()),
            (403, "forbidden"),
            "{role}"
        );
        let told = told.json();
        assert_eq!(told["reasons"], reasons, "{told}");
        assert!(told["decision"].is_string(), "{told}");
        let detail = told["detail"].as_str().unwrap_or_default();
        assert!(detail.contains(part), "{detail}");
    };
    let guard = "the guard `guard.mower.quarantine` forbids it";
    let quarantine = json!(["guard.mower.quarantine"]);
    check("operator", "start_mow", quarantine, guard).await;
    let lacking = "nothing that you hold lets you do it";
    check("viewer", "pause_mow", json!([]), lacking).await;
}

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
async fn a_command_that_would_live_too_long_is_held_back() {
    let stage = Stage::open().await;
    furnish(&stage);
    let check = async |kind: &str, seconds: serde_json::Value, status: u16| {
        let body = json!({ "command": { "kind": kind }, "ttl_seconds": seconds });
        let told = stage.call(None, "POST", &commands(MOWER), Some(body)).await;
        assert_eq!(told.status, status, "{kind} {seconds}: {:?}", told.body);
    };
    check("start_mow", json!(600), 200).await;
    check("start_mow", json!(601), 403).await;
    check("start_mow", json!(601.0), 403).await;
    check("start_mow", json!(600.5), 403).await;
    check("manual_drive", json!(3), 403).await;
    check("emergency_stop", json!(100_000), 200).await;
}

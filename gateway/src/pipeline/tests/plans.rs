use serde_json::{Value, json};

use super::{MOWER, furnish};
use crate::testkit::{Heard, Stage, object};

const PLANS: &str = "/api/v1/fleet/mow-plans";
const AREA: &str = "0197b1f0-0000-7000-8000-00000000000a";

fn proposal() -> Option<Value> {
    Some(json!({ "area_ids": [AREA], "speed_mps": 0.3, "ttl_seconds": 60 }))
}

fn plans_of(mower: &str) -> String {
    format!("/api/v1/fleet/mowers/{mower}/mow-plans")
}

/// A service that previews and starts.
fn previews(heard: &Heard) -> (u16, Value) {
    match heard.path.starts_with("/internal/") {
        true => (
            200,
            json!({ "preview": { "length_m": 12 }, "fence": { "stop_epoch": 3 }, "conflicted": false }),
        ),
        false => (202, json!({ "meaning": "queued" })),
    }
}

/// Proposes and approves; the plan's id and its code.
async fn approved(stage: &Stage) -> (String, String) {
    let proposed = stage.call(None, "POST", &plans_of(MOWER), proposal()).await;
    assert_eq!(proposed.status, 201, "{:?}", proposed.body);
    let id = proposed.json()["id"].as_str().unwrap().to_owned();
    let approve = format!("{PLANS}/{id}/approve");
    let approved = stage.call(None, "POST", &approve, None).await;
    assert_eq!(approved.status, 200, "{:?}", approved.body);
    let code = approved.json()["approvalCode"].as_str().unwrap().to_owned();
    (id, code)
}

async fn dispatch(stage: &Stage, id: &str, code: &str) -> crate::testkit::Told {
    let path = format!("{PLANS}/{id}/dispatch");
    stage
        .call(None, "POST", &path, Some(json!({ "approvalCode": code })))
        .await
}

#[tokio::test]
async fn a_plan_is_made_and_carried_out_on_its_own_object() {
    let stage = Stage::open().await;
    furnish(&stage);
    stage.answers(previews);
    let proposed = stage.call(None, "POST", &plans_of(MOWER), proposal()).await;
    let plan = proposed.json();
    assert_eq!(plan["object"], json!({ "type": "Mower", "id": MOWER }));
    let id = plan["id"].as_str().unwrap();
    assert_eq!(proposed.headers["location"], format!("{PLANS}/{id}"));
    let heard = stage.heard();
    assert_eq!(heard[0].path, format!("/internal/mowers/{MOWER}/preview"));
    assert_eq!(heard[0].json(), proposal().unwrap());
    assert_eq!(heard[0].grant["revision"], 7);

    let (id, code) = approved(&stage).await;
    stage.heard();
    let told = dispatch(&stage, &id, &code).await;
    assert_eq!(told.status, 202, "{:?}", told.body);
    let heard = stage.heard();
    assert_eq!(heard[0].path, super::commands(MOWER));
    assert_eq!(
        heard[0].json(),
        json!({
            "command": { "kind": "start_mow", "area_ids": [AREA], "speed_mps": 0.3 },
            "ttl_seconds": 60,
        })
    );
    let grant = &heard[0].grant;
    assert_eq!(grant["row"], "mowers.command.start_mow");
    assert_eq!(grant["action"], "mow_plan_dispatch");
    assert_eq!(grant["approval"]["fence"], json!({ "stop_epoch": 3 }));
    assert_eq!(grant["revision"], 7);
    // The code is spent.
    assert_eq!(dispatch(&stage, &id, &code).await.status, 409);
    assert!(stage.heard().is_empty());
}

#[tokio::test]
async fn a_plan_whose_object_is_gone_goes_nowhere() {
    let stage = Stage::open().await;
    furnish(&stage);
    stage.answers(previews);
    let (id, code) = approved(&stage).await;
    stage.heard();
    let mut gone = object(("Mower", MOWER), 8, &[], json!({}));
    gone.deleted = true;
    stage.gateway.registry.apply(&gone);
    let told = dispatch(&stage, &id, &code).await;
    assert_eq!((told.status, told.problem().as_str()), (409, "plan-state"));
    assert!(stage.heard().is_empty());
    // Nothing was spent: once it is back, the approval holds.
    stage.register(("Mower", MOWER), 9, &["acme"], json!({}));
    assert_eq!(dispatch(&stage, &id, &code).await.status, 202);
}

#[tokio::test]
async fn a_dispatch_that_was_overtaken_keeps_its_code_for_the_second_try() {
    let stage = Stage::open().await;
    furnish(&stage);
    stage.answers(previews);
    let (id, code) = approved(&stage).await;
    stage.heard();
    stage.register(("Mower", MOWER), 8, &["acme"], json!({}));
    stage.answers(
        |heard| match heard.grant["attempt"].is_null() && heard.grant["revision"] == 8 {
            // Moved once more while it was under way, and known here already.
            true => (
                409,
                json!({
                    "type": "urn:interlock:problem:authz-stale", "effect": "none", "revision": 8,
                }),
            ),
            false => (202, json!({})),
        },
    );
    let told = dispatch(&stage, &id, &code).await;
    assert_eq!((told.status, told.problem().as_str()), (409, "authz-stale"));
    let heard = stage.heard();
    assert_eq!(heard.len(), 2);
    assert_eq!(heard[0].grant["approval"], heard[1].grant["approval"]);
    assert_eq!(heard[0].grant["operation"], heard[1].grant["operation"]);
}

#[tokio::test]
async fn a_list_omits_what_its_reader_may_not_see() {
    let other = "0197b1f0-0000-7000-8000-000000000002";
    let stage = Stage::enforced().await;
    furnish(&stage);
    stage.register(("Mower", other), 1, &["acme"], json!({}));
    stage.answers(previews);
    let operator = stage.token(
        "otto",
        &["acme", "beta"],
        json!({ "operator": ["acme"], "viewer": ["beta"] }),
    );
    let one = stage.token("ada", &["acme"], json!({ "viewer": [other] }));
    let foreign = stage.token("fay", &["beta"], json!({ "admin": ["beta"] }));
    for mower in [MOWER, other] {
        let told = stage
            .call(Some(&operator), "POST", &plans_of(mower), proposal())
            .await;
        assert_eq!(told.status, 201, "{:?}", told.body);
    }
    let objects = async |token: &str, account: &str| {
        let path = format!("{PLANS}?account={account}");
        let told = stage.call(Some(token), "GET", &path, None).await;
        let list = told.json();
        let ids = list.as_array().map(|plans| {
            let ids = plans
                .iter()
                .map(|plan| plan["object"]["id"].as_str().unwrap().to_owned());
            ids.collect::<Vec<_>>()
        });
        (told.status, ids.unwrap_or_default())
    };
    assert_eq!(
        objects(&operator, "acme").await,
        (200, vec![other.to_owned(), MOWER.to_owned()])
    );
    assert_eq!(objects(&operator, "beta").await, (200, vec![]));
    assert_eq!(objects(&foreign, "acme").await.0, 404);
    assert_eq!(objects(&foreign, "beta").await, (200, vec![]));
    let _one = one;
}

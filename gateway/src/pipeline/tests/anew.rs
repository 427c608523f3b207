use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};

use super::{MOWER, commands, furnish};
use crate::testkit::{Stage, object};

fn stale(revision: u64) -> (u16, Value) {
    let problem = json!({
        "type": "urn:interlock:problem:authz-stale", "title": "Decision is old", "status": 409,
        "detail": "the mower was moved", "effect": "none", "revision": revision,
    });
    (409, problem)
}

fn start() -> Option<Value> {
    Some(json!({ "command": { "kind": "start_mow" } }))
}

/// Answers stale once, after the mower was moved to `account`; then queued.
fn moves_to(stage: &Stage, account: &'static str) {
    let registry = Arc::clone(&stage.gateway.registry);
    let asked = AtomicUsize::new(0);
    stage.answers(move |_| match asked.fetch_add(1, Ordering::SeqCst) {
        0 => {
            registry.apply(&object(("Mower", MOWER), 8, &[account], json!({})));
            stale(8)
        }
        _ => (202, json!({})),
    });
}

#[tokio::test]
async fn an_overtaken_decision_is_taken_once_more() {
    let stage = Stage::open().await;
    furnish(&stage);
    moves_to(&stage, "beta");
    let told = stage.call(None, "POST", &commands(MOWER), start()).await;
    assert_eq!(told.status, 202, "{:?}", told.body);
    let heard = stage.heard();
    let claim = |name: &str| [&heard[0].grant[name], &heard[1].grant[name]];
    assert_eq!(claim("revision"), [7, 8]);
    // The same operation and the same asking, another decision and grant.
    for (name, same) in [
        ("operation", true),
        ("askedAt", true),
        ("decision", false),
        ("jti", false),
    ] {
        let [first, second] = claim(name);
        assert_eq!(first == second, same, "{name}");
    }
    assert_eq!(heard[0].body, heard[1].body);
}

#[tokio::test]
async fn the_second_decision_may_refuse() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    moves_to(&stage, "beta");
    let token = stage.token("otto", &["acme"], json!({ "operator": ["acme"] }));
    let told = stage
        .call(Some(&token), "POST", &commands(MOWER), start())
        .await;
    // The mower is somebody else's now, and was nobody's business.
    assert_eq!((told.status, told.problem().as_str()), (404, "not-found"));
    assert_eq!(stage.heard().len(), 1);
}

#[tokio::test]
async fn a_second_such_answer_is_the_callers() {
    let stage = Stage::open().await;
    furnish(&stage);
    stage.register(("Mower", MOWER), 9, &["acme"], json!({}));
    stage.answers(|_| stale(9));
    let told = stage.call(None, "POST", &commands(MOWER), start()).await;
    assert_eq!((told.status, told.problem().as_str()), (409, "authz-stale"));
    assert_eq!(stage.heard().len(), 2);
}

#[tokio::test]
async fn a_revision_that_does_not_come_is_not_waited_for_long() {
    let stage = Stage::open().await;
    furnish(&stage);
    stage.answers(|_| stale(99));
    let told = stage.call(None, "POST", &commands(MOWER), start()).await;
    assert_eq!((told.status, told.problem().as_str()), (409, "authz-stale"));
    assert_eq!(stage.heard().len(), 1);
}

#[tokio::test]
async fn only_a_service_that_did_nothing_is_asked_again() {
    let stage = Stage::open().await;
    furnish(&stage);
    for (name, value) in [
        ("effect", json!("maybe")),
        ("revision", Value::Null),
        ("type", json!("urn:x")),
    ] {
        let (status, mut problem) = stale(7);
        problem[name] = value;
        stage.answers(move |_| (status, problem.clone()));
        stage.call(None, "POST", &commands(MOWER), start()).await;
        assert_eq!(stage.heard().len(), 1, "{name}");
    }
}

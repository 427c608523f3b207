use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Notify;
use uuid::Uuid;

use super::{MOWERS, furnish};
use crate::testkit::{Stage, Told};

const STOP: &str = "/api/v1/fleet/emergency-stop";

#[tokio::test]
async fn a_stop_of_an_account_knows_which_one() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    let token = stage.token(
        "bea",
        &["acme", "beta"],
        json!({ "viewer": ["acme", "beta"] }),
    );
    let path = "/api/v1/fleet/emergency-stop?account=beta&hurry=yes";
    assert_eq!(
        stage.call(Some(&token), "POST", path, None).await.status,
        200
    );
    assert_eq!(
        stage.heard()[0].path,
        "/api/v1/fleet/emergency-stop?account=beta"
    );
}

/// What the service was asked for: account by account, in order.
fn stopped(stage: &Stage) -> Vec<String> {
    let mut asked: Vec<String> = stage.heard().into_iter().map(|heard| heard.path).collect();
    asked.sort();
    asked
}

fn stop_of(account: &str) -> String {
    format!("{STOP}?account={account}")
}

#[tokio::test]
async fn a_stop_that_names_no_account_stops_in_all_of_the_callers() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    stage.register(("Scope", "gamma"), 1, &[], json!({}));
    stage.register(("Scope", "yard"), 1, &["acme"], json!({}));
    let token = |tenants: &[&str]| stage.token("bea", tenants, json!({ "viewer": tenants }));
    let check = async |token: String, query: &str, status: u16, accounts: &[&str]| {
        let path = format!("{STOP}{query}");
        let told = stage.call(Some(&token), "POST", &path, None).await;
        assert_eq!(told.status, status, "{query}: {:?}", told.body);
        let expected: Vec<String> = accounts.iter().map(|id| stop_of(id)).collect();
        assert_eq!(stopped(&stage), expected, "{query}");
    };
    let both = || token(&["beta", "acme"]);
    check(both(), "", 200, &["acme", "beta"]).await;
    check(both(), "?account=beta", 200, &["beta"]).await;
    // What cannot be read names nothing.
    for query in [
        "?account=a%20b",
        "?account",
        "?account=%GG",
        "?account=acme&account=beta",
        "?token=x",
        "?&",
    ] {
        check(both(), query, 200, &["acme", "beta"]).await;
        check(token(&["acme"]), query, 200, &["acme"]).await;
    }
    let installation = ["acme", "beta", "gamma"];
    check(token(&["installation"]), "", 200, &installation).await;
    // Who belongs to nothing has nothing to stop.
    check(token(&[]), "", 404, &[]).await;
    check(token(&["acme"]), "?account=beta", 404, &[]).await;
    // Nothing else is read past its query.
    let list = format!("{MOWERS}?account");
    let read = stage.call(Some(&both()), "GET", &list, None).await;
    assert_eq!(read.status, 400);
}

#[tokio::test]
async fn a_stop_of_several_accounts_tells_of_each() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    let accounts = ["acme", "beta"];
    let token = stage.token("bea", &accounts, json!({ "viewer": accounts }));
    let stop = async || stage.call(Some(&token), "POST", STOP, None).await;
    stage.answers(|heard| (202, json!({ "target": heard.path.clone() })));
    let told = stop().await;
    assert_eq!(told.status, 202);
    let told = told.json();
    let mut targets = [&told["target"], &told["others"][0]["target"]].map(ToString::to_string);
    targets.sort();
    assert_eq!(targets, accounts.map(|id| format!("\"{}\"", stop_of(id))));
    assert_eq!(told["accounts"], json!({ "acme": 202, "beta": 202 }));

    // Where one was not stopped, the answer says which.
    stage.answers(|heard| match heard.path.ends_with("beta") {
        true => (503, json!({ "effect": "none" })),
        false => (202, json!({})),
    });
    let told = stop().await;
    let problem = (told.status, told.problem());
    assert_eq!(problem, (503, "not-stopped".to_owned()));
    let told = told.json();
    assert_eq!(told["accounts"], json!({ "acme": 202, "beta": 503 }));
    assert_eq!(told["effect"], "maybe");

    // An account that the service does not know is none.
    stage.answers(|heard| match heard.path.ends_with("beta") {
        true => (404, json!({ "effect": "none" })),
        false => (202, json!({ "stopped": 1 })),
    });
    let told = stop().await;
    assert_eq!(told.json(), json!({ "stopped": 1 }));
}

#[tokio::test]
async fn what_one_answer_has_no_room_for_is_left_out_and_counted() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    stage.register(("Scope", "gamma"), 1, &[], json!({}));
    let accounts = ["acme", "beta", "gamma"];
    let token = stage.token("bea", &accounts, json!({ "viewer": accounts }));
    stage.answers(|_| (202, json!({ "told": "a".repeat(600 * 1_024) })));
    let told = stage.call(Some(&token), "POST", STOP, None).await.json();
    let others: Vec<Value> = serde_json::from_value(told["others"].clone()).unwrap();
    assert_eq!(others.len(), 1, "two together are more than a mebibyte");
    let all = json!({ "acme": 202, "beta": 202, "gamma": 202 });
    assert_eq!(told["accounts"], all);
}

#[tokio::test]
async fn the_stops_of_a_caller_who_hung_up_go_on_beyond_those_at_once() {
    let stage = Arc::new(Stage::enforced().await);
    let accounts: Vec<String> = (0..100).map(|n| format!("account-{n:03}")).collect();
    for account in &accounts {
        stage.register(("Scope", account), 1, &[], json!({}));
    }
    let token = stage.token(
        "ivy",
        &["installation"],
        json!({ "viewer": ["installation"] }),
    );
    let first = Arc::new(Notify::new());
    stage.answers({
        let first = Arc::clone(&first);
        move |_| {
            first.notify_one();
            (202, json!({}))
        }
    });
    let caller = tokio::spawn({
        let stage = Arc::clone(&stage);
        async move { stage.call(Some(&token), "POST", STOP, None).await }
    });
    first.notified().await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    stage.gateway.detached.finished().await;
    let expected: Vec<String> = accounts.iter().map(|id| stop_of(id)).collect();
    assert_eq!(stopped(&stage), expected);
}

#[tokio::test]
async fn a_stop_of_everything_that_finds_no_account_is_no_quiet_404() {
    let stage = Stage::enforced().await;
    let everywhere = json!({ "viewer": ["installation"] });
    let token = stage.token("ivy", &["installation"], everywhere);
    let told = stage.call(Some(&token), "POST", STOP, None).await;
    assert_eq!(
        (told.status, told.problem()),
        (503, "not-stopped".to_owned())
    );
    assert_eq!(told.json()["effect"], "none");
    assert_eq!(stopped(&stage), [""; 0]);
}

#[tokio::test]
async fn what_the_path_names_is_ended_once_it_is_ended_in_one_account() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    let accounts = ["acme", "beta"];
    let token = stage.token("bea", &accounts, json!({ "operator": accounts }));
    let session = format!("/api/v1/fleet/drive-sessions/{}", Uuid::nil());
    let close = async || stage.call(Some(&token), "DELETE", &session, None).await;
    let answers = |acme: u16, beta: u16| {
        stage.answers(move |heard| {
            let status = if heard.path.ends_with("acme") {
                acme
            } else {
                beta
            };
            (status, json!({ "effect": "none", "from": status }))
        });
    };
    let check = |told: Told, status: u16| assert_eq!(told.status, status, "{:?}", told.body);
    answers(200, 503);
    check(close().await, 200);
    answers(503, 200);
    let told = close().await.json();
    assert_eq!(told, json!({ "effect": "none", "from": 200 }));
    answers(404, 503);
    check(close().await, 503);
    answers(404, 404);
    check(close().await, 404);
}

use serde_json::json;

use super::furnish;
use crate::testkit::Stage;

const MOWERS: &str = "/api/v1/fleet/mowers";
const STOP: &str = "/api/v1/fleet/emergency-stop";

#[tokio::test]
async fn a_call_without_a_path_is_judged_on_the_callers_account() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    let one = stage.token("ann", &["acme"], json!({ "viewer": ["acme"] }));
    let two = stage.token(
        "bea",
        &["acme", "beta"],
        json!({ "viewer": ["acme", "beta"] }),
    );
    let none = stage.token("nil", &[], json!({ "viewer": ["acme"] }));
    let check = async |token: &str, query: &str, status: u16, account: Option<&str>| {
        let path = format!("{MOWERS}{query}");
        let told = stage.call(Some(token), "GET", &path, None).await;
        assert_eq!(told.status, status, "{query}: {:?}", told.body);
        let heard = stage.heard();
        let asked = heard.first().map(|heard| heard.path.as_str());
        let expected = account.map(|account| format!("{MOWERS}?account={account}"));
        assert_eq!(asked, expected.as_deref(), "{query}");
        told
    };
    check(&one, "", 200, Some("acme")).await;
    check(&one, "?account=acme", 200, Some("acme")).await;
    check(&two, "?account=beta", 200, Some("beta")).await;
    let several = check(&two, "", 400, None).await;
    assert!(
        several.json()["detail"]
            .as_str()
            .unwrap()
            .contains("several accounts")
    );
    let no = check(&none, "", 400, None).await;
    assert!(no.json()["detail"].as_str().unwrap().contains("no account"));
    check(&one, "?account=a%20b", 400, None).await;
    let foreign = check(&one, "?account=beta", 404, None).await;
    let missing = check(&one, "?account=gamma", 404, None).await;
    assert_eq!(foreign.body, missing.body);
}

#[tokio::test]
async fn open_mode_means_the_account_of_the_service() {
    let stage = Stage::open().await;
    furnish(&stage);
    assert_eq!(stage.call(None, "GET", MOWERS, None).await.status, 200);
    assert_eq!(stage.heard()[0].path, format!("{MOWERS}?account=acme"));
}

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
async fn a_row_that_judges_members_carries_the_callers_standing() {
    let stage = Stage::enforced().await;
    furnish(&stage);
    let token = stage.token("ann", &["acme"], json!({ "viewer": ["acme"] }));
    stage.call(Some(&token), "GET", MOWERS, None).await;
    let mower = format!("{MOWERS}/{}", super::MOWER);
    stage.call(Some(&token), "GET", &mower, None).await;
    let heard = stage.heard();
    assert_eq!(
        heard[0].grant["caller"]["standing"],
        json!({ "tenants": ["acme"], "roles": [["viewer", "acme"]], "suspended": false })
    );
    assert_eq!(heard[1].grant["caller"].get("standing"), None);
}

use serde_json::json;

use super::{MOWERS, furnish};
use crate::testkit::Stage;

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

//! Whose fleet a call is about is decided once, by what the caller may do
//! there, and by nothing else that can be written as `account=`.

use interlock_tests::personas::{ACCOUNT, FOREIGN, Persona};
use serde_json::json;

use super::stage::{Caller, NEVER, made, mowers, registered_with, start};
use crate::personas::stage::fleet::mower;

/// The rows of the account that look.
const LISTS: [&str; 5] = ["/mowers", "/sites", "/groups", "/commands", "/mow-plans"];

#[tokio::test]
async fn another_account_is_none_and_another_spelling_is_another_account() {
    let system = start().await;
    mower(&system).await;
    let viewer = Caller::persona(&system, Persona::Viewer);
    let foreign = Caller::persona(&system, Persona::Foreign);
    for list in LISTS {
        let never = viewer.raw(&system, "GET", &format!("{list}?account=nowhere"), "");
        assert_eq!(never.status, 404, "{list}: {}", never.text());
        for named in [
            FOREIGN,
            "ACME",
            "Acme",
            "acme.",
            "installation",
            "mowers",
            NEVER,
        ] {
            let answer = viewer.raw(&system, "GET", &format!("{list}?account={named}"), "");
            assert_eq!(answer, never, "{list}: {named}");
        }
        let theirs = foreign.raw(&system, "GET", &format!("{list}?account={ACCOUNT}"), "");
        assert_eq!(theirs, never, "{list}");
        for malformed in [
            "account=",
            "account",
            "account=acme&account=acme",
            "account=acme&account=globex",
            "account=acme%00",
            "account=acme%20",
            "account=acme/../globex",
            "account=acme,globex",
            "account[]=acme",
            "account=%2561cme",
            "account=acm%C3%A9",
        ] {
            let answer = viewer.raw(&system, "GET", &format!("{list}?{malformed}"), "");
            assert_eq!(answer.status, 400, "{list}: {malformed}: {}", answer.text());
        }
        let escaped = format!("{list}?account=%61cme");
        viewer.get(&system, &escaped).await.expect(200);
    }
    // A stop of an account is of one's own.
    for named in [FOREIGN, "nowhere", "installation"] {
        let path = format!("/emergency-stop?account={named}");
        let refused = viewer.call(&system, "POST", &path).send().await;
        assert_eq!(refused.status, 404, "{named}: {}", refused.text());
    }
}

/// Sites, groups and mowers are scopes too, and no accounts.
#[tokio::test]
async fn a_part_of_an_account_is_no_account() {
    let system = start().await;
    let manager = Caller::persona(&system, Persona::Manager);
    let site = json!({ "name": "Depot", "time_zone": "UTC" });
    let site = made(&system, &manager, "/sites", &site).await;
    let group = made(&system, &manager, "/groups", &json!({ "name": "North" })).await;
    let mower = &mowers(&system, 1).await[0];
    let all = json!({ "admin": [site, group, mower] });
    let mike = Caller::of(&system, ACCOUNT, "mike", &all);
    for part in [&site, &group, mower] {
        for list in LISTS {
            let path = format!("{list}?account={part}");
            let answer = mike.get(&system, &path).await;
            assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        }
        let stop = format!("/emergency-stop?account={part}");
        let answer = mike.call(&system, "POST", &stop).send().await;
        assert_eq!(answer.status, 404, "{stop}: {}", answer.text());
        for (what, body) in [
            ("/sites", json!({ "name": "Mine", "time_zone": "UTC" })),
            ("/groups", json!({ "name": "Mine" })),
            ("/mowers", registered_with(|_| {})),
        ] {
            let path = format!("{what}?account={part}");
            let answer = mike.post(&system, &path, &body).await;
            assert_eq!(answer.status, 404, "{path}: {}", answer.text());
        }
    }
    // Each is where it was, and belongs to whom it did.
    let viewer = Caller::persona(&system, Persona::Viewer);
    for path in [
        format!("/sites/{site}"),
        format!("/groups/{group}"),
        format!("/mowers/{mower}"),
    ] {
        viewer.get(&system, &path).await.expect(200);
    }
    for path in [
        format!("/sites/{site}/emergency-stop"),
        format!("/groups/{group}/emergency-stop"),
        format!("/mowers/{mower}/emergency-stop"),
    ] {
        viewer.call(&system, "POST", &path).send().await.expect(202);
    }
}

/// Who belongs to several accounts says which; what is named in a body or a
/// header instead says nothing.
#[tokio::test]
async fn an_account_is_named_in_the_query_alone() {
    let system = start().await;
    let claims = system.idp.claims("both");
    let claims = claims.with("interlock_tenants", json!([ACCOUNT, FOREIGN]));
    let claims = claims.with("interlock_grants", json!({ "manager": [ACCOUNT, FOREIGN] }));
    let both = Caller(system.idp.sign(&claims));
    let unsaid = both.get(&system, "/mowers").await.expect(400);
    assert!(unsaid.text().contains("account"), "{}", unsaid.text());
    let body = json!({ "name": "Depot", "time_zone": "UTC", "account": FOREIGN });
    let answer = both.post(&system, "/sites?account=acme", &body).await;
    assert_eq!(answer.status, 400, "{}", answer.text());
    let plain = json!({ "name": "Depot", "time_zone": "UTC" });
    let call = both
        .call(&system, "POST", "/sites?account=acme")
        .json(&plain);
    let call = call
        .header("x-account", FOREIGN)
        .header("x-interlock-account", FOREIGN);
    let site = call.send().await.expect(201).json();
    let path = format!("/sites/{}", site["id"].as_str().unwrap());
    let viewer = Caller::persona(&system, Persona::Viewer);
    viewer.get(&system, &path).await.expect(200);
    let foreign = Caller::persona(&system, Persona::Foreign);
    foreign.get(&system, &path).await.expect(404);
}

//! Many registrations at once: one default site, and one owner of a serial.

use std::thread;

use interlock_tests::personas::{FOREIGN, Persona};
use interlock_tests::poll;
use interlock_tests::system::System;
use serde_json::{Value, json};
use uuid::Uuid;

use super::stand::{EMBEDDED, registration};
use crate::personas::stage::fleet::FLEET;
use crate::personas::stage::text;
use crate::races::at_once;

/// An account that nobody has made yet.
const UMBRA: &str = "umbra";

/// Callers at once.
const RACERS: usize = 16;

/// Registrations without a site race with each other and with what makes the
/// account, thrice.
#[tokio::test]
async fn for_the_default_site() {
    let system = System::start(EMBEDDED).await;
    let claims = system
        .idp
        .claims("uma")
        .with_roles(UMBRA, &["manager", "viewer"]);
    let token = system.idp.sign(&claims);
    let http = system.gateway().http();
    let path = format!("{FLEET}/mowers");
    let register = || {
        let body = registration(&Uuid::new_v4().to_string(), &json!({}));
        http.post(&path).token(Some(&token)).json(&body)
    };
    let mut racing = Vec::new();
    for _ in 0..RACERS {
        let calls: Vec<_> = std::iter::repeat_with(&register).take(200).collect();
        racing.push(tokio::spawn(async move {
            for call in calls {
                let answer = call.send().await;
                // Until the gateway has heard of the account there is none.
                if answer.status != 404 {
                    return answer.expect(201).json();
                }
            }
            panic!("the account was never known");
        }));
    }
    let mowers = system.mowers.as_ref().expect("a fleet");
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| mowers.create_account(UMBRA));
        }
    });
    let get = async |path: &str| {
        let call = http.get(&format!("{FLEET}/{path}")).token(Some(&token));
        call.send().await.expect(200).json()
    };
    let sites = get("sites?include_default=true").await;
    let sites = sites["items"].as_array().expect("a list");
    assert_eq!(sites.len(), 1, "{sites:?}");
    for racer in racing {
        let mower = racer.await.expect("a mower is registered");
        assert_eq!(mower["site_id"], sites[0]["id"], "{mower}");
    }
    let mowers = get("mowers?limit=200").await;
    assert_eq!(mowers["items"].as_array().map(Vec::len), Some(RACERS));
}

/// One serial in two accounts: one gets it, and nobody is told who.
#[tokio::test]
async fn for_a_serial() {
    let system = System::start(EMBEDDED).await;
    // Both accounts are known.
    for persona in [Persona::Manager, Persona::Foreign] {
        poll::until_async("the account is known", async || {
            let path = format!("{FLEET}/sites?include_default=true");
            let answer = system.get(persona, &path).await;
            let known = |it: &Value| it["items"].as_array().is_some_and(|it| !it.is_empty());
            (answer.status == 200 && known(&answer.json())).then_some(())
        })
        .await;
    }
    let body = registration("one-serial", &json!({}));
    let calls = (0..RACERS).map(|racer| {
        let persona = [Persona::Manager, Persona::Foreign][racer % 2];
        let call = system.call(persona, "POST", &format!("{FLEET}/mowers"));
        call.json(&body)
    });
    let (won, lost): (Vec<_>, Vec<_>) = at_once(calls.collect())
        .await
        .into_iter()
        .partition(|answer| answer.status == 201);
    assert_eq!(won.len(), 1, "{lost:#?}");
    for answer in lost {
        assert_eq!(answer.problem(), "already-registered", "{}", answer.text());
        let told = answer.expect(409);
        for account in [interlock_tests::personas::ACCOUNT, FOREIGN] {
            assert!(!told.text().contains(account), "{}", told.text());
        }
        assert!(!told.text().contains(&text(&won[0].json()["id"])));
    }
}

//! A key repeats the call of the one who made it, as long as that one may make
//! it; for everybody else, and for anything else, it is another key.

use interlock_tests::personas::{ACCOUNT, Persona};
use interlock_tests::system::System;
use serde_json::{Value, json};

use super::stage::{Caller, made, mowers, start};
use crate::personas::stage::fleet::join;
use crate::personas::stage::text;

async fn keyed(
    system: &System,
    by: &Caller,
    path: &str,
    body: &Value,
    key: &str,
) -> interlock_tests::http::Answer {
    by.call(system, "POST", path)
        .key(key)
        .json(body)
        .send()
        .await
}

async fn commands(system: &System) -> Vec<Value> {
    let viewer = Caller::persona(system, Persona::Viewer);
    let listed = viewer.get(system, "/commands?limit=200").await.expect(200);
    listed.json()["items"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_key_is_one_callers_for_one_call() {
    let system = start().await;
    let [one, two] = &mowers(&system, 2).await[..] else {
        panic!("two mowers");
    };
    let olivia = Caller::persona(&system, Persona::Operator);
    let priya = Caller::persona(&system, Persona::Proposer);
    let viewer = Caller::persona(&system, Persona::Viewer);
    let foreign = Caller::persona(&system, Persona::Foreign);
    let pause = json!({ "command": { "kind": "pause_mow" } });
    let dock = json!({ "command": { "kind": "return_to_dock" } });
    let path = format!("/mowers/{one}/commands");
    let first = keyed(&system, &olivia, &path, &pause, "k")
        .await
        .expect(202);
    let again = keyed(&system, &olivia, &path, &pause, "k")
        .await
        .expect(202);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.text(), first.text());
    assert_eq!(commands(&system).await.len(), 1);

    // Another caller: refused, hidden, or a command of its own.
    let refused = keyed(&system, &viewer, &path, &pause, "k")
        .await
        .expect(403);
    assert_eq!(refused.header("idempotency-replayed"), None);
    keyed(&system, &foreign, &path, &pause, "k")
        .await
        .expect(404);
    let own = keyed(&system, &priya, &path, &pause, "k").await.expect(202);
    assert_eq!(own.header("idempotency-replayed"), None);
    assert_ne!(own.json()["command_id"], first.json()["command_id"]);
    // Another mower: a command of its own. Another kind: the key is taken.
    let elsewhere = format!("/mowers/{two}/commands");
    let other = keyed(&system, &olivia, &elsewhere, &pause, "k")
        .await
        .expect(202);
    assert_ne!(other.json()["command_id"], first.json()["command_id"]);
    let reused = keyed(&system, &olivia, &path, &dock, "k").await.expect(422);
    assert_eq!(reused.problem(), "idempotency-key-reuse");
    assert_eq!(commands(&system).await.len(), 3);

    // The same person without the right: the stored answer is none of hers.
    let demoted = Caller::of(&system, ACCOUNT, "olivia", &json!({ "viewer": [ACCOUNT] }));
    let refused = keyed(&system, &demoted, &path, &pause, "k")
        .await
        .expect(403);
    assert!(!refused.text().contains(&text(&first.json()["command_id"])));
    let gone = Caller::of(&system, ACCOUNT, "olivia", &json!({}));
    keyed(&system, &gone, &path, &pause, "k").await.expect(404);
}

/// A command to many that is repeated is the one that was, also for members
/// that came later.
#[tokio::test]
async fn a_bulk_is_repeated_as_it_was() {
    let system = start().await;
    let all = mowers(&system, 3).await;
    let manager = Caller::persona(&system, Persona::Manager);
    let dirk = Caller::persona(&system, Persona::Dispatcher);
    let group = made(&system, &manager, "/groups", &json!({ "name": "North" })).await;
    join(&system, &group, &all[0]).await;
    join(&system, &group, &all[1]).await;
    let path = format!("/groups/{group}/commands");
    let pause = json!({ "command": { "kind": "pause_mow" } });
    let first = keyed(&system, &dirk, &path, &pause, "k").await.expect(202);
    join(&system, &group, &all[2]).await;
    let again = keyed(&system, &dirk, &path, &pause, "k").await.expect(202);
    assert_eq!(again.header("idempotency-replayed"), Some("true"));
    assert_eq!(again.text(), first.text());
    assert_eq!(commands(&system).await.len(), 2);
    // A stop under a used key stops all the same, and all.
    let stop = format!("/groups/{group}/emergency-stop");
    for _ in 0..2 {
        let call = dirk.call(&system, "POST", &stop).key("k");
        assert_eq!(call.send().await.expect(202).json()["accepted"], 3);
    }
}

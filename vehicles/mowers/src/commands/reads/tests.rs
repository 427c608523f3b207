use serde_json::{Value, json};
use uuid::Uuid;

use crate::commands::testkit::{ACCOUNT, Asking, Rig, mower};

fn list(query: &str) -> Asking {
    let path = format!("/api/v1/fleet/commands?account={ACCOUNT}{query}");
    Asking::new("mowers.command.list", path, &Value::Null)
}

/// Sends a pause to each of these mowers, a second apart; the commands' ids.
async fn paused(rig: &Rig, numbers: &[u128]) -> Vec<Uuid> {
    let mut ids = Vec::new();
    for number in numbers {
        let asking = Asking::command(mower(*number), json!({ "kind": "pause_mow" }));
        assert_eq!(rig.send(&asking).await.status, 202);
        ids.push(asking.operation);
        rig.pass(1_000);
    }
    ids
}

fn ids(page: &Value) -> Vec<Uuid> {
    let items = page["items"].as_array().expect("items");
    let ids = items.iter().map(|item| item["command_id"].as_str());
    ids.map(|id| id.and_then(|id| Uuid::parse_str(id).ok()).expect("an id"))
        .collect()
}

#[tokio::test]
async fn a_record_that_may_not_be_seen_is_like_none() {
    let rig = Rig::new(1).await;
    let sent = paused(&rig, &[1]).await;
    let hidden = rig.send(&Asking::record(sent[0])).await;
    let missing = rig.send(&Asking::record(Uuid::from_u128(1))).await;
    assert_eq!(
        (hidden.status, &hidden.text),
        (missing.status, &missing.text)
    );
    assert_eq!(hidden.status, 404);
    assert_eq!(hidden.headers, missing.headers);
    rig.allow("observe", mower(1));
    let shown = rig.send(&Asking::record(sent[0])).await;
    assert_eq!(shown.json()["command_id"], json!(sent[0]));
    assert_eq!(shown.json()["overdue"], false);
    rig.pass(40_000);
    assert_eq!(
        rig.send(&Asking::record(sent[0])).await.json()["overdue"],
        true
    );
    // The same id, asked of another account.
    let mut other = Asking::record(sent[0]);
    other.path = format!("/api/v1/fleet/commands/{}?account=other", sent[0]);
    rig.rights.allow("observe", "other");
    assert_eq!(rig.send(&other).await.text, missing.text);
}

#[tokio::test]
async fn who_sees_the_account_sees_what_is_deleted_too() {
    let rig = Rig::new(1).await;
    let sent = paused(&rig, &[1]).await;
    rig.fleet.roster.remove(mower(1), 2);
    assert_eq!(rig.send(&Asking::record(sent[0])).await.status, 404);
    rig.rights.allow("observe", ACCOUNT);
    assert_eq!(rig.send(&Asking::record(sent[0])).await.status, 200);
    assert_eq!(ids(&rig.send(&list("")).await.json()), sent);
}

#[tokio::test]
async fn a_list_pages_over_what_is_seen() {
    let rig = Rig::new(3).await;
    let sent = paused(&rig, &[1, 3, 2, 3, 1, 3]).await;
    rig.allow("observe", mower(1));
    rig.allow("observe", mower(2));
    let first = rig.send(&list("&limit=2")).await;
    assert_eq!(ids(&first.json()), [sent[4], sent[2]]);
    assert!(!first.text.contains(&mower(3).to_string()));
    let next = first.json()["next"]
        .as_str()
        .expect("a next page")
        .to_owned();
    let second = rig
        .send(&list(&format!("&limit=2&after={next}")))
        .await
        .json();
    assert_eq!(ids(&second), [sent[0]]);
    assert_eq!(second["next"], Value::Null);
    let nobody = Rig::new(1).await;
    paused(&nobody, &[1]).await;
    assert_eq!(nobody.send(&list("")).await.json()["items"], json!([]));
}

#[tokio::test]
async fn a_hidden_record_is_no_cursor() {
    let rig = Rig::new(2).await;
    let sent = paused(&rig, &[1, 2]).await;
    rig.allow("observe", mower(1));
    let after = async |id: Uuid| rig.send(&list(&format!("&after={id}"))).await;
    let (hidden, missing) = (after(sent[1]).await, after(Uuid::from_u128(1)).await);
    assert_eq!(missing.status, 422, "{}", missing.text);
    assert_eq!(
        (hidden.status, &hidden.text, &hidden.headers),
        (missing.status, &missing.text, &missing.headers)
    );
    assert_eq!(after(sent[0]).await.status, 200);
}

#[tokio::test]
async fn a_list_is_filtered() {
    let rig = Rig::new(2).await;
    let sent = paused(&rig, &[1, 2, 1]).await;
    rig.rights.allow("observe", ACCOUNT);
    let of = async |query: &str| ids(&rig.send(&list(query)).await.json());
    assert_eq!(of(&format!("&mower={}", mower(2))).await, [sent[1]]);
    assert_eq!(of("&since=2026-05-01T10:00:01Z").await, [sent[2], sent[1]]);
    assert_eq!(of("&status=executed").await, [] as [Uuid; 0]);
    assert_eq!(of("&status=pending&limit=1").await, [sent[2]]);
    for query in [
        "&status=done",
        "&since=noon",
        "&mower=x",
        "&limit=0",
        "&after=x",
    ] {
        assert_eq!(rig.send(&list(query)).await.status, 422, "{query}");
    }
    let unknown = format!("&after={}", Uuid::from_u128(1));
    assert_eq!(rig.send(&list(&unknown)).await.status, 422);
}

#[tokio::test]
async fn records_that_are_down_are_503() {
    let rig = Rig::new(1).await;
    rig.fleet.records.pool().close().await;
    assert_eq!(
        rig.send(&Asking::record(Uuid::from_u128(1))).await.status,
        503
    );
}

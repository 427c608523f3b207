use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{Stops, by_issuer};
use crate::commands::record::{Record, millis};
use crate::commands::store::insert;
use crate::commands::testkit::{ACCOUNT, Asking, Rig, mower, noon, record};
use crate::contract::{Command, Issuer, IssuerKind};
use crate::records::testkit::on_both;

fn person(name: &str) -> Issuer {
    Issuer {
        kind: IssuerKind::User,
        id: format!("https://idp {name}"),
        display: name.to_owned(),
        on_behalf_of: None,
    }
}

fn at(seconds: i64) -> Timestamp {
    noon() + SignedDuration::from_secs(seconds)
}

fn stop(by: &Issuer, mower: u128, seconds: i64) -> Record {
    let stop = Command::EmergencyStop { reason: None };
    let mut record = record(Uuid::from_u128(mower), stop);
    record.envelope.issued_by = by.clone();
    record.envelope.issued_at = at(seconds);
    record
}

#[tokio::test]
async fn each_issuer_is_counted_who_stopped_last_first() {
    on_both(async |store| {
        let (anna, bert) = (person("anna"), person("bert"));
        let agent = Issuer {
            kind: IssuerKind::Agent,
            on_behalf_of: Some(anna.id.clone()),
            ..anna.clone()
        };
        let mut foreign = stop(&bert, 1, 9);
        foreign.envelope.account_id = "other".to_owned();
        let pause = record(Uuid::from_u128(1), Command::PauseMow {});
        let records = [
            stop(&anna, 1, 1),
            stop(&anna, 2, 2),
            stop(&anna, 1, 3),
            stop(&bert, 1, 4),
            stop(&agent, 1, 0),
            // None of these counts.
            stop(&bert, 1, -1),
            foreign,
            pause,
        ];
        let mut change = store.records.begin().await.unwrap();
        insert(&mut change, &records).await.unwrap();
        change.commit().await.unwrap();
        let expected = |issuer: &Issuer, stops, mowers, first, last| Stops {
            issuer: issuer.clone(),
            stops,
            mowers,
            first: at(first),
            last: at(last),
        };
        let all = [
            expected(&bert, 1, 1, 4, 4),
            expected(&anna, 3, 2, 1, 3),
            expected(&agent, 1, 1, 0, 0),
        ];
        let found = by_issuer(&store.records, ACCOUNT, noon(), 10)
            .await
            .unwrap();
        assert_eq!(found, all);
        let found = by_issuer(&store.records, ACCOUNT, noon(), 2).await.unwrap();
        assert_eq!(found, all[..2]);
    })
    .await;
}

fn asking(query: &str) -> Asking {
    let path = format!("/api/v1/fleet/stops?account={ACCOUNT}{query}");
    Asking::new("mowers.stops.list", path, &Value::Null)
}

#[tokio::test]
async fn the_answer_says_who_how_often_and_since_when() {
    let rig = Rig::new(2).await;
    let begun = millis(rig.now());
    rig.rights.allow("observe", ACCOUNT);
    assert_eq!(rig.send(&Asking::stop_account()).await.status, 202);
    rig.pass(1_000);
    let bert = Asking::stop(mower(1)).by("bert");
    assert_eq!(rig.send(&bert).await.status, 202);
    let reply = rig.send(&asking("&limit=1")).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    let now = millis(rig.now());
    let of_bert = json!({
        "issued_by": { "kind": "user", "id": "https://idp bert", "display": "bert" },
        "on_behalf_of": null, "stops": 1, "mowers": 1, "first_at": now, "last_at": now,
    });
    let since = millis(rig.now() - SignedDuration::from_hours(24));
    let expected = json!({ "since": since, "items": [of_bert], "more": true });
    assert_eq!(reply.json(), expected);
    let all = rig.send(&asking("")).await.json();
    assert_eq!(all["more"], false);
    assert_eq!(all["items"][1]["stops"], 2);
    assert_eq!(all["items"][1]["mowers"], 2);
    assert_eq!(all["items"][1]["last_at"], json!(begun));
    let nothing = rig.send(&asking(&format!("&since={now}"))).await.json();
    assert_eq!(nothing["items"], json!([of_bert]));
}

#[tokio::test]
async fn a_view_without_bounds_is_refused() {
    let rig = Rig::new(1).await;
    let check = async |query: &str, expected: &str| {
        let reply = rig.send(&asking(query)).await;
        assert_eq!(reply.status, 422, "{query}: {}", reply.text);
        assert_eq!(
            reply.json()["errors"]["request"],
            json!([expected]),
            "{query}"
        );
    };
    check(
        "&since=yesterday",
        "`since` must be a time such as 2026-05-01T10:00:00Z",
    )
    .await;
    check("&limit=0", "`limit` must be a whole number from 1 to 200").await;
    let days = |days: i64| rig.now() - SignedDuration::from_hours(24 * days);
    let old = format!(
        "&since={}",
        millis(days(30) - SignedDuration::from_millis(1))
    );
    check(&old, "`since` must be at most 30 days ago").await;
    let reply = rig
        .send(&asking(&format!("&since={}", millis(days(30)))))
        .await;
    assert_eq!(reply.status, 200, "{}", reply.text);
}

#[tokio::test]
async fn whoever_stops_often_is_counted_and_not_hindered() {
    let rig = Rig::new(1).await;
    for _ in 0..50 {
        assert_eq!(rig.send(&Asking::stop(mower(1))).await.status, 202);
    }
    assert_eq!(rig.fleet.control.counters.stops_frequent.get(), 1);
}

//! What goes over the bus.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde_json::{Value, json};
use uuid::Uuid;

use super::rig::{Call, Rig};
use crate::bus::{Bus, Consumer, Message, Published, Stream, subject};
use crate::commands::testkit::{self, Cut};
use crate::contract::Priority;
use crate::crash::Crash;
use crate::hierarchy::bodies::NewAccount;
use crate::hierarchy::{accounts, listen, outbox};
use crate::operations::Effect;
use crate::records::testkit::on_both;

const WITHIN: Duration = Duration::from_secs(2);

async fn events(rig: &Rig, count: usize) -> Vec<(String, String, Value)> {
    let consumer = Consumer {
        stream: Stream::Events,
        durable: Some("test".to_owned()),
        subjects: vec!["mower.*".to_owned()],
        ack_wait: Duration::from_secs(30),
        max_deliver: 0,
        max_ack_pending: 100,
    };
    let mut consumer = rig.bus.consume(&consumer).await.unwrap();
    let mut events = Vec::new();
    while events.len() < count {
        let delivery = consumer.next().await.unwrap();
        let payload = serde_json::from_slice(&delivery.payload).unwrap();
        events.push((delivery.subject, delivery.id, payload));
        delivery.receipt.ack().await.unwrap();
    }
    events
}

#[tokio::test]
async fn each_change_of_a_mower_is_told_once_after_it_is_committed() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let id = rig.register("S-1").await;
        let site = rig.site("Yard").await;
        rig.place(id, site, &[]).await.id(200);
        let path = format!("/api/v1/fleet/mowers/{id}");
        rig.send(&Call::new("mowers.mower.delete", path)).await;
        outbox::publish_all(&rig.fleet).await.unwrap();
        outbox::publish_all(&rig.fleet).await.unwrap();
        let events = events(&rig, 3).await;
        let subjects: Vec<&str> = events
            .iter()
            .map(|(subject, ..)| subject.as_str())
            .collect();
        assert_eq!(
            subjects,
            ["mower.registered", "mower.updated", "mower.removed"]
        );
        let mut last = 0;
        for (_, message, event) in &events {
            assert_eq!(event["event_id"], json!(message));
            assert_eq!(
                (&event["mower_id"], &event["account_id"]),
                (&json!(id), &json!("acme"))
            );
            let revision = event["hierarchy_rev"].as_u64().unwrap();
            assert!(revision > last);
            last = revision;
        }
        assert_eq!(events[1].2["mower"]["site_id"], json!(site));
        assert_eq!(events[2].2.get("mower"), None);
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM outbox").await, 0);
    })
    .await;
}

/// An event that was sent and not noted as sent is sent again, and stored once.
#[tokio::test]
async fn a_crash_after_the_send_repeats_the_event() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        rig.register("S-1").await;
        let (crash, there) = Crash::hang(crate::crash::CrashPoint::EventSent);
        let dying = rig.beside(crash).await;
        let publishing = tokio::spawn(async move { outbox::publish_all(&dying.fleet).await });
        there.notified().await;
        publishing.abort();
        assert!(publishing.await.unwrap_err().is_cancelled());
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM outbox").await, 1);
        outbox::publish_all(&rig.fleet).await.unwrap();
        rig.register("S-2").await;
        outbox::publish_all(&rig.fleet).await.unwrap();
        let ids: HashSet<String> = events(&rig, 2)
            .await
            .into_iter()
            .map(|(_, id, _)| id)
            .collect();
        assert_eq!(ids.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn another_replica_follows() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let other = rig.beside(Crash::default()).await;
        let telling = tokio::spawn(outbox::run(Arc::clone(&rig.fleet)));
        // Told of before the follower listens.
        let seen = rig.register("S-0").await;
        events(&rig, 1).await;
        assert!(other.fleet.roster.find(seen).is_none());
        let following = tokio::spawn(listen::follow(Arc::clone(&other.fleet)));
        while other.fleet.roster.find(seen).is_none() {
            tokio::task::yield_now().await;
        }
        let site = rig.site("Yard").await;
        rig.place(seen, site, &[]).await.id(200);
        while other
            .fleet
            .roster
            .find(seen)
            .is_none_or(|member| member.site_id != site)
        {
            tokio::task::yield_now().await;
        }
        let path = format!("/api/v1/fleet/mowers/{seen}");
        rig.send(&Call::new("mowers.mower.delete", path)).await;
        while other.fleet.roster.find(seen).is_some() {
            tokio::task::yield_now().await;
        }
        following.abort();
        telling.abort();
    })
    .await;
}

async fn publish(rig: &Rig, id: &str, payload: Value) {
    let message = Message {
        stream: Stream::Events,
        subject: subject::ACCOUNT_CREATED.to_owned(),
        id: id.to_owned(),
        priority: Priority::Normal,
        payload: Bytes::from(payload.to_string()),
    };
    let published = rig.bus.publish(&message, WITHIN).await;
    assert!(
        matches!(published, Published::Stored { .. }),
        "{published:?}"
    );
}

#[tokio::test]
async fn an_account_is_made_by_its_event_once() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let making = tokio::spawn(listen::make_accounts(Arc::clone(&rig.fleet)));
        let event = json!({"event_id": Uuid::now_v7(), "account_id": "beta", "name": "Beta",
            "features": ["control"], "time_zone": "Europe/Berlin", "plan": "pro"});
        publish(&rig, "one", json!({"no": "account"})).await;
        publish(&rig, "two", event.clone()).await;
        while rig.gateway.known("Scope/beta").is_none() {
            tokio::task::yield_now().await;
        }
        publish(&rig, "three", event).await;
        let last = json!({"account_id": "gamma", "name": "Gamma", "time_zone": "UTC"});
        publish(&rig, "four", last).await;
        while rig
            .count("SELECT COUNT(*) AS n FROM sites WHERE account_id = 'gamma'")
            .await
            == 0
        {
            tokio::task::yield_now().await;
        }
        let beta = "SELECT COUNT(*) AS n FROM sites WHERE account_id = 'beta'";
        assert_eq!(rig.count(beta).await, 1);
        let rev = "SELECT hierarchy_rev AS n FROM accounts WHERE id = 'beta'";
        assert_eq!(
            rig.count(rev).await,
            1,
            "the event that came again changed nothing"
        );
        making.abort();
        assert!(making.await.unwrap_err().is_cancelled());
        rig.agrees().await;
    })
    .await;
}

/// The operator's command goes the way of the event.
#[tokio::test]
async fn an_account_that_is_asked_for_is_told_on_the_bus() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let consumer = Consumer {
            stream: Stream::Events,
            durable: Some("test".to_owned()),
            subjects: vec![subject::ACCOUNT_CREATED.to_owned()],
            ack_wait: Duration::from_secs(30),
            max_deliver: 0,
            max_ack_pending: 100,
        };
        let mut told = rig.bus.consume(&consumer).await.unwrap();
        let body = json!({"id": "beta", "name": "Beta", "features": ["control"],
            "time_zone": "Europe/Berlin"});
        let first = rig.account(&body).await;
        // It stands: nobody is asked again, and nobody is needed.
        let call = Call::with("mowers.internal.account", "/internal/accounts", &body);
        let second = rig.send(&call).await;
        assert_eq!((first.status, &first.text), (second.status, &second.text));
        assert_eq!(first.json()["features"], json!(["control"]));
        let mut accounts = Vec::new();
        for _ in 0..2 {
            let delivery = told.next().await.unwrap();
            let event: Value = serde_json::from_slice(&delivery.payload).unwrap();
            assert_eq!(event["event_id"], json!(delivery.id));
            accounts.push(event["account_id"].clone());
            delivery.receipt.ack().await.unwrap();
        }
        assert_eq!(accounts, [json!("acme"), json!("beta")]);
        let more = tokio::time::timeout(Duration::from_millis(50), told.next()).await;
        assert!(more.is_err(), "one event for each account");
        rig.agrees().await;
    })
    .await;
}

/// It is said whether the account will be made later, or not at all.
#[tokio::test]
async fn an_account_that_is_not_made_says_what_will_become_of_it() {
    let rig = testkit::Rig::new(1).await;
    let body = json!({"id": "beta", "name": "Beta", "time_zone": "UTC"});
    let wanted = NewAccount::read(body.to_string().as_bytes(), true).unwrap();
    let ask = || accounts::ask(&rig.fleet, &wanted, Duration::from_millis(100));
    for (cut, slug, effect, text) in [
        (
            Cut::All,
            "bus-unavailable",
            Effect::None,
            "nothing was made",
        ),
        (
            Cut::Swallowed,
            "account-pending",
            Effect::Maybe,
            "nobody confirmed",
        ),
        (Cut::None, "account-pending", Effect::Maybe, "is on the bus"),
    ] {
        rig.bus.cut(cut);
        let problem = ask().await.unwrap_err();
        assert_eq!(
            (problem.slug(), problem.effect()),
            (slug, effect),
            "{cut:?}"
        );
        assert!(problem.to_string().contains(text), "{problem}");
    }
}

//! The races: whoever is first, there is one outcome, and rows and registry say the same.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::future::{join, join_all};
use serde_json::json;
use uuid::Uuid;

use super::rig::{Call, Reply, Rig, mower, register};
use crate::crash::Crash;
use crate::hierarchy::accounts;
use crate::hierarchy::bodies::NewAccount;
use crate::records::testkit::on_both;

const WRITERS: usize = 32;

fn account(id: &str) -> NewAccount {
    NewAccount {
        id: id.to_owned(),
        name: id.to_owned(),
        features: vec!["control".to_owned()],
        time_zone: "Europe/Berlin".to_owned(),
    }
}

/// 32 writers at once, on two replicas: registrations without a site, and the event, of an account
/// that nobody has told of before.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn exactly_one_default_site_among_many_writers() {
    on_both(async |store| {
        let rig = Arc::new(Rig::new(store).await);
        let other = Arc::new(rig.beside(Crash::default()).await);
        let writers = (0..WRITERS).map(|n| {
            let rig = Arc::clone(if n % 2 == 0 { &rig } else { &other });
            tokio::spawn(async move {
                if n % 4 == 3 {
                    let made = accounts::ensure(&rig.fleet, account("beta")).await;
                    made.map(|_| ()).unwrap();
                    return;
                }
                let mut call = register(&mower(&format!("S-{n}")));
                call.path = "/api/v1/fleet/mowers?account=beta".to_owned();
                rig.send(&call).await.id(201);
            })
        });
        for writer in join_all(writers).await {
            writer.unwrap();
        }
        let sites = "SELECT COUNT(*) AS n FROM sites WHERE account_id = 'beta'";
        assert_eq!(rig.count(sites).await, 1);
        let placed = "SELECT COUNT(DISTINCT site_id) AS n FROM mowers WHERE account_id = 'beta'";
        assert_eq!(rig.count(placed).await, 1);
        let mowers = "SELECT COUNT(*) AS n FROM mowers WHERE account_id = 'beta'";
        assert_eq!(rig.count(mowers).await, 24);
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn one_of_two_accounts_gets_a_serial() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let mut theirs = register(&mower("S-1"));
        theirs.path = "/api/v1/fleet/mowers?account=beta".to_owned();
        let ours = register(&mower("S-1"));
        let (a, b) = join(rig.send(&ours), rig.send(&theirs)).await;
        let (lost, won) = if a.status == 201 { (b, a) } else { (a, b) };
        assert_eq!(won.status, 201);
        lost.is_problem(409, "already-registered", "none");
        assert!(
            !lost.text.contains("beta") && !lost.text.contains("acme"),
            "{}",
            lost.text
        );
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM mowers").await, 1);
        rig.agrees().await;
    })
    .await;
}

#[tokio::test]
async fn a_serial_cannot_be_taken_by_a_change_either() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        rig.register("S-1").await;
        let id = rig.register("S-2").await;
        let path = format!("/api/v1/fleet/mowers/{id}");
        let call = Call::with("mowers.mower.change", path, &json!({"serial": "S-1"}));
        rig.send(&call)
            .await
            .is_problem(409, "already-registered", "none");
        assert_eq!(rig.row_of(id).await.unwrap().serial, "S-2");
        rig.agrees().await;
    })
    .await;
}

/// Registration into a site against its deletion: never a mower without a site.
#[tokio::test]
async fn a_site_is_deleted_or_registered_into() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let mut outcomes = HashSet::new();
        for n in 0..8 {
            let site = rig.site(&format!("Site {n}")).await;
            let mut body = mower(&format!("S-{n}"));
            body["site_id"] = json!(site);
            let call = register(&body);
            let (registered, deleted): (Reply, Reply) = match n % 2 {
                0 => join(rig.send(&call), rig.delete_site(site, None)).await,
                _ => {
                    let (a, b) = join(rig.delete_site(site, None), rig.send(&call)).await;
                    (b, a)
                }
            };
            match (registered.status.as_u16(), deleted.status.as_u16()) {
                (201, 409) => deleted.is_problem(409, "site-not-empty", "none"),
                (422, 204) => registered.is_problem(422, "unknown-reference", "none"),
                other => panic!("{other:?}: {} {}", registered.text, deleted.text),
            };
            outcomes.insert(registered.status);
        }
        assert!(!outcomes.is_empty());
        rig.agrees().await;
    })
    .await;
}

/// A move against the deletion of the destination, and of the site that is left.
#[tokio::test]
async fn a_move_meets_deletions() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let id = rig.register("S-1").await;
        let home = rig.default_site().await;
        for _ in 0..6 {
            let site = rig.site("Yard").await;
            let (moved, deleted) =
                join(rig.place(id, site, &[]), rig.delete_site(site, None)).await;
            match (moved.status.as_u16(), deleted.status.as_u16()) {
                (200, 409) => assert_eq!(rig.row_of(id).await.unwrap().site_id, site),
                (422, 204) => assert_eq!(rig.row_of(id).await.unwrap().site_id, home),
                other => panic!("{other:?}: {} {}", moved.text, deleted.text),
            }
            rig.place(id, home, &[]).await.id(200);
        }
        let (from, to) = (rig.site("From").await, rig.site("To").await);
        rig.place(id, from, &[]).await.id(200);
        let (moved, deleted) =
            join(rig.place(id, to, &[]), rig.delete_site(from, Some(home))).await;
        assert_eq!((moved.status.as_u16(), deleted.status.as_u16()), (200, 204));
        let at = rig.row_of(id).await.unwrap().site_id;
        assert!(at == to || at == home, "{at}");
        rig.agrees().await;
    })
    .await;
}

/// A mower that is moved and deleted at once is gone, everywhere.
#[tokio::test]
async fn a_move_against_a_delete() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let site = rig.site("Yard").await;
        for n in 0..6 {
            let id = rig.register(&format!("S-{n}")).await;
            let path = format!("/api/v1/fleet/mowers/{id}");
            let delete = Call::new("mowers.mower.delete", path);
            let (moved, deleted) = join(rig.place(id, site, &[]), rig.send(&delete)).await;
            assert_eq!(deleted.status, 204, "{}", deleted.text);
            assert!(matches!(moved.status.as_u16(), 200 | 404), "{}", moved.text);
            assert!(rig.row_of(id).await.is_none());
            assert!(rig.fleet.roster.find(id).is_none());
        }
        rig.agrees().await;
    })
    .await;
}

/// A group is deleted while mowers are put into it.
#[tokio::test]
async fn a_group_is_deleted_or_joined() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let id = rig.register("S-1").await;
        for _ in 0..6 {
            let group = rig.group("North", None).await;
            let add = Call::new(
                "mowers.group.add",
                format!("/api/v1/fleet/groups/{group}/mowers/{id}"),
            );
            let delete = Call::new(
                "mowers.group.delete",
                format!("/api/v1/fleet/groups/{group}"),
            );
            let (added, deleted) = join(rig.send(&add), rig.send(&delete)).await;
            assert_eq!(deleted.status, 204);
            assert!(matches!(added.status.as_u16(), 204 | 404), "{}", added.text);
            assert!(rig.row_of(id).await.unwrap().group_ids.is_empty());
        }
        rig.agrees().await;
    })
    .await;
}

/// The same operation on two replicas at once: done once, both are told the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_operation_on_two_replicas() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let other = rig.beside(Crash::default()).await;
        let call = register(&mower("S-1"));
        let (a, b) = join(rig.send(&call), other.send(&call)).await;
        assert_eq!((a.status, &a.text), (b.status, &b.text));
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM mowers").await, 1);
        rig.agrees().await;
    })
    .await;
}

/// Quotas are not outrun.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_quota_holds_against_many() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let limits = crate::service::settings::Limits {
            mowers: 5,
            ..Default::default()
        };
        let rig = Arc::new(rig.limited(limits).await);
        let writers = (0..12).map(|n| {
            let rig = Arc::clone(&rig);
            tokio::spawn(async move { rig.send(&register(&mower(&format!("S-{n}")))).await.status })
        });
        let statuses = join_all(writers).await;
        let made = statuses
            .into_iter()
            .filter(|status| *status.as_ref().unwrap() == 201);
        assert_eq!(made.count(), 5);
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM mowers").await, 5);
        assert_ne!(rig.default_site().await, Uuid::nil());
        rig.agrees().await;
    })
    .await;
}

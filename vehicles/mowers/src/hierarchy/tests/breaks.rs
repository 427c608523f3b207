//! What breaks off leaves nothing half applied, or is put right.

use std::time::Duration;

use serde_json::json;
use sqlx::Executor;
use uuid::Uuid;

use super::rig::{Call, Rig, mower, register};
use crate::crash::{Crash, CrashPoint};
use crate::hierarchy::outbox;
use crate::hierarchy::reconcile::Reconciler;
use crate::records::testkit::{Store, on_both};

/// A reconciliation as at the start of a process.
pub(super) async fn reconcile(rig: &Rig) {
    let until = rig.fleet.now() + Duration::from_secs(1);
    Reconciler::default().pass(&rig.fleet, until).await.unwrap();
}

#[tokio::test]
async fn a_registry_that_refuses_rolls_the_change_back() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let events = rig.count("SELECT COUNT(*) AS n FROM outbox").await;
        rig.gateway.takes(Some(0));
        let call = register(&mower("S-1"));
        rig.send(&call)
            .await
            .is_problem(503, "registry-unavailable", "none");
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM mowers").await, 0);
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM outbox").await, events);
        rig.gateway.takes(None);
        reconcile(&rig).await;
        rig.agrees().await;
        // Nothing was noted of the operation, so the same one may be tried again.
        rig.send(&call).await.id(201);
        rig.agrees().await;
    })
    .await;
}

/// The registry took a part of the change before it refused: that part is undone.
#[tokio::test]
async fn a_change_that_was_half_fed_is_undone() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let (from, to) = (rig.site("From").await, rig.site("To").await);
        let mut ids = Vec::new();
        for n in 0..4 {
            let id = rig.register(&format!("S-{n}")).await;
            rig.place(id, from, &[]).await.id(200);
            ids.push(id);
        }
        // It has seen the registry whole, so that only the announcement leads it to the rest.
        let mut reconciler = Reconciler::default();
        let until = rig.fleet.now() + Duration::from_secs(60);
        reconciler.pass(&rig.fleet, until).await.unwrap();
        rig.gateway.takes(Some(2));
        let deleted = rig.delete_site(from, Some(to)).await;
        deleted.is_problem(503, "registry-unavailable", "none");
        for id in &ids {
            assert_eq!(rig.row_of(*id).await.unwrap().site_id, from);
        }
        rig.gateway.takes(None);
        reconciler.pass(&rig.fleet, until).await.unwrap();
        for id in &ids {
            let parents = rig.gateway.parents(&format!("Mower/{id}"));
            assert_eq!(parents, [from.to_string()]);
        }
        rig.agrees().await;
    })
    .await;
}

/// Makes every commit of a new mower fail, as a database that breaks does: a constraint that is
/// checked at the commit.
async fn fail_commits(store_is_postgres: bool, rig: &Rig) {
    let texts: &[&'static str] = match store_is_postgres {
        true => &[
            "CREATE TABLE broken (id TEXT REFERENCES accounts (id) DEFERRABLE INITIALLY DEFERRED)",
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO broken VALUES ('nobody'); RETURN NULL; END $$",
            "CREATE TRIGGER fails AFTER INSERT ON mowers FOR EACH ROW EXECUTE FUNCTION fail()",
        ],
        false => &[
            "CREATE TABLE broken (id TEXT REFERENCES accounts (id) DEFERRABLE INITIALLY DEFERRED)",
            "CREATE TRIGGER fails AFTER INSERT ON mowers
             BEGIN INSERT INTO broken VALUES ('nobody'); END",
        ],
    };
    for text in texts {
        rig.fleet.records.pool().execute(*text).await.unwrap();
    }
}

#[tokio::test]
async fn a_commit_that_fails_after_the_feed_is_undone() {
    on_both(async |store| {
        let postgres = store.is_postgres();
        let rig = Rig::new(store).await;
        fail_commits(postgres, &rig).await;
        let before = rig.gateway.there();
        let reply = rig.send(&register(&mower("S-1"))).await;
        reply.is_problem(503, "records-unavailable", "none");
        assert_eq!(rig.count("SELECT COUNT(*) AS n FROM mowers").await, 0);
        assert_eq!(
            rig.gateway.there(),
            before,
            "the registry forgot the mower again"
        );
        assert!(rig.fleet.roster.all().is_empty());
        rig.agrees().await;
    })
    .await;
}

/// The process dies at a point of a change; the next one puts right what it left.
async fn check_crash(store: Store, point: CrashPoint, made: bool) {
    let rig = Rig::new(store).await;
    let site = rig.site("Yard").await;
    let id = rig.register("S-1").await;
    let (crash, there) = Crash::hang(point);
    let dying = rig.beside(crash).await;
    let body = json!({"site_id": site});
    let path = format!("/api/v1/fleet/mowers/{id}/placement");
    let call = Call::with("mowers.mower.place", path, &body);
    let before = rig.row_of(id).await.unwrap();
    let fleet = std::sync::Arc::downgrade(&dying.fleet);
    // The handler runs on its own task, which is dropped with the runtime it runs in.
    let operation = call.operation;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    runtime.spawn(async move { dying.send(&call).await });
    there.notified().await;
    runtime.shutdown_background();
    while fleet.strong_count() > 0 {
        tokio::task::yield_now().await;
    }

    let next = rig.beside(Crash::default()).await;
    reconcile(&next).await;
    let after = next.row_of(id).await.unwrap();
    assert_eq!(
        after.site_id,
        if made { site } else { before.site_id },
        "{point:?}"
    );
    let parents = next.gateway.parents(&format!("Mower/{id}"));
    assert_eq!(parents, [after.site_id.to_string()], "{point:?}");
    assert_eq!(next.fleet.roster.find(id).unwrap().site_id, after.site_id);
    next.agrees().await;
    let path = format!("/internal/operations/{operation}/settle");
    let settled = next
        .send(&Call::new("mowers.internal.settle", path))
        .await
        .json();
    let state = if made { "done" } else { "tombstoned" };
    assert_eq!(settled["state"], state, "{point:?}");
    outbox::publish_all(&next.fleet).await.unwrap();
    assert_eq!(next.count("SELECT COUNT(*) AS n FROM outbox").await, 0);
}

#[tokio::test]
async fn a_crash_before_anything_is_written() {
    on_both(async |store| check_crash(store, CrashPoint::ChangeAnnounced, false).await).await;
}

#[tokio::test]
async fn a_crash_after_the_rows_are_written() {
    on_both(async |store| check_crash(store, CrashPoint::ChangeWritten, false).await).await;
}

#[tokio::test]
async fn a_crash_after_the_gateway_was_told() {
    on_both(async |store| check_crash(store, CrashPoint::ChangeFed, false).await).await;
}

#[tokio::test]
async fn a_crash_after_the_commit() {
    on_both(async |store| check_crash(store, CrashPoint::ChangeCommitted, true).await).await;
}

/// A registration that died after the gateway was told: the registry alone knows the mower.
#[tokio::test]
async fn a_mower_that_only_the_registry_knows_is_forgotten() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let (crash, there) = Crash::hang(CrashPoint::ChangeFed);
        let dying = rig.beside(crash).await;
        let fleet = std::sync::Arc::downgrade(&dying.fleet);
        let known = rig.gateway.there();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        runtime.spawn(async move { dying.send(&register(&mower("S-1"))).await });
        there.notified().await;
        assert_eq!(rig.gateway.there().len(), known.len() + 1);
        runtime.shutdown_background();
        while fleet.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
        reconcile(&rig).await;
        assert_eq!(rig.gateway.there(), known);
        rig.agrees().await;
    })
    .await;
}

/// An announcement that nobody will ever make good is taken away.
#[tokio::test]
async fn a_bare_announcement_is_settled() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        sqlx::query(
            "INSERT INTO changes (id, account_id, created, begun_ms) VALUES ($1, $2, $3, 0)",
        )
        .bind(Uuid::now_v7().to_string())
        .bind("acme")
        .bind("[]")
        .execute(rig.fleet.records.pool())
        .await
        .unwrap();
        reconcile(&rig).await;
        rig.agrees().await;
    })
    .await;
}

/// A change waits for the lock of its account while somebody takes it for one that broke off: it
/// must not go on. (On SQLite it could not even be announced meanwhile.)
#[tokio::test]
async fn a_settled_change_never_goes_on() {
    let rig = Rig::new(Store::postgres().await).await;
    let other = rig.beside(Crash::default()).await;
    let mut settling = rig.fleet.records.begin().await.unwrap();
    let lock = "UPDATE accounts SET hierarchy_rev = hierarchy_rev + 1 WHERE id = 'acme'";
    settling.execute(lock).await.unwrap();
    let waiting = tokio::spawn(async move { other.send(&register(&mower("S-1"))).await });
    while rig.count("SELECT COUNT(*) AS n FROM changes").await == 0 {
        tokio::task::yield_now().await;
    }
    settling.execute("DELETE FROM changes").await.unwrap();
    settling.commit().await.unwrap();
    let reply = waiting.await.unwrap();
    reply.is_problem(503, "records-unavailable", "none");
    assert_eq!(rig.count("SELECT COUNT(*) AS n FROM mowers").await, 0);
    rig.agrees().await;
}

#[tokio::test]
async fn a_registry_that_lost_its_content_is_told_again() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        rig.register("S-1").await;
        let mut reconciler = Reconciler::default();
        let until = rig.fleet.now();
        reconciler.pass(&rig.fleet, until).await.unwrap();
        rig.gateway.forget();
        reconciler.pass(&rig.fleet, until).await.unwrap();
        rig.agrees().await;
    })
    .await;
}

/// The records were restored from an older copy: the registry is ahead, and they go on above it.
#[tokio::test]
async fn records_that_are_behind_go_on_above_the_registry() {
    on_both(async |store| {
        let rig = Rig::new(store).await;
        let id = rig.register("S-1").await;
        let (home, site) = (rig.default_site().await, rig.site("Yard").await);
        rig.place(id, site, &[]).await.id(200);
        for text in [
            "UPDATE mowers SET site_id = (SELECT id FROM sites WHERE is_default = 1), hierarchy_rev = 1",
            "UPDATE accounts SET hierarchy_rev = 1",
        ] {
            rig.fleet.records.pool().execute(text).await.unwrap();
        }
        reconcile(&rig).await;
        assert_eq!(rig.gateway.parents(&format!("Mower/{id}")), [home.to_string()]);
        rig.agrees().await;
        rig.fleet.records.pool().execute("UPDATE accounts SET hierarchy_rev = 1").await.unwrap();
        rig.place(id, site, &[]).await.id(200);
        rig.agrees().await;
    })
    .await;
}

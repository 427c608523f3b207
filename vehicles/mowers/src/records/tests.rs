use super::testkit::{self, Store, on_both};
use super::{Place, Records};

#[tokio::test]
async fn the_layout_is_made_once_and_found_again() {
    let (folder, records) = testkit::fresh().await;
    assert!(records.answer().await);
    drop(records);
    let again = Records::open(&Place::File(folder.path().join("mowers.db"))).await;
    assert!(again.is_ok(), "{again:?}");
}

#[tokio::test]
async fn the_layout_is_found_again_on_both_databases() {
    on_both(async |store| {
        assert!(store.records.answer().await);
        let again = Records::open(&store.place).await;
        assert!(again.is_ok(), "{again:?}");
    })
    .await;
}

#[tokio::test]
async fn a_transaction_that_is_dropped_never_was() {
    on_both(async |store| {
        let mut change = store.records.begin().await.expect("a transaction");
        sqlx::query(
            "INSERT INTO accounts (id, name, features, time_zone, hierarchy_rev, created_ms)
             VALUES ($1, $2, $3, $4, $5, $6)",
        )
        .bind("acme")
        .bind("Acme")
        .bind("[]")
        .bind("UTC")
        .bind(0_i64)
        .bind(0_i64)
        .execute(&mut *change)
        .await
        .expect("an insert");
        drop(change);
        let count: i64 = sqlx::query_scalar("SELECT COUNT(*) FROM accounts")
            .fetch_one(store.records.pool())
            .await
            .expect("a count");
        assert_eq!(count, 0);
    })
    .await;
}

/// A replica that freezes in a transaction keeps its locks no longer than this.
#[tokio::test]
async fn a_transaction_does_not_lie_idle_for_ever() {
    let store = Store::postgres().await;
    let limit: String =
        sqlx::query_scalar("SELECT current_setting('idle_in_transaction_session_timeout')")
            .fetch_one(store.records.pool())
            .await
            .expect("a setting");
    assert_eq!(limit, "30s");
}

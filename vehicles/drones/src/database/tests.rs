use tempfile::TempDir;

use super::{Database, DatabaseError};

#[tokio::test]
async fn a_second_service_is_kept_off_the_file() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("drones.db");
    let first = Database::open(&path).await.unwrap();
    let second = Database::open(&path).await.unwrap_err();
    assert!(matches!(second, DatabaseError::InUse { .. }), "{second}");
    assert!(second.to_string().contains("one writer"), "{second}");
    drop(first);
    assert!(
        Database::open(&path).await.is_ok(),
        "free once the first is gone"
    );
}

#[tokio::test]
async fn what_is_written_survives_a_power_cut() {
    let directory = TempDir::new().unwrap();
    let database = Database::open(&directory.path().join("drones.db"))
        .await
        .unwrap();
    let journal: String = sqlx::query_scalar("PRAGMA journal_mode")
        .fetch_one(database.pool())
        .await
        .unwrap();
    let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous")
        .fetch_one(database.pool())
        .await
        .unwrap();
    assert_eq!((journal.as_str(), synchronous), ("wal", 2), "2 is FULL");
}

#[tokio::test]
async fn a_file_of_another_layout_is_refused() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("drones.db");
    let database = Database::open(&path).await.unwrap();
    sqlx::query("PRAGMA user_version = 9")
        .execute(database.pool())
        .await
        .unwrap();
    database.close().await;
    drop(database);
    let refused = Database::open(&path).await.unwrap_err();
    assert!(matches!(refused, DatabaseError::Layout(9)), "{refused}");
}

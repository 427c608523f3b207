use tempfile::TempDir;

use super::{EmbeddedConfig, EmbeddedStore, unavailable};

/// No test here can cut the power; this holds what promises to survive it.
#[tokio::test]
async fn commits_are_flushed_and_readers_cannot_write() {
    let directory = TempDir::new().expect("a directory");
    let config = EmbeddedConfig::at(directory.path().join("store.db"));
    let store = EmbeddedStore::open(config).await.expect("a store");
    let settings = store.writer.write(|connection| {
        Box::pin(async move {
            let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous")
                .fetch_one(&mut *connection)
                .await
                .map_err(unavailable)?;
            let journal: String = sqlx::query_scalar("PRAGMA journal_mode")
                .fetch_one(connection)
                .await
                .map_err(unavailable)?;
            Ok((synchronous, journal))
        })
    });
    // 2 is FULL: a commit has reached the disk before it is answered.
    assert_eq!(settings.await, Ok((2, "wal".to_owned())));
    let write = sqlx::query("DELETE FROM plans").execute(&store.readers);
    let error = write.await.expect_err("refused");
    assert!(error.to_string().contains("readonly"), "{error}");
}

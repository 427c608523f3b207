use std::time::Duration;

use futures_util::future::{BoxFuture, FutureExt, join_all};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;

use super::Writer;
use crate::store::StoreError;
use crate::store::embedded::unavailable;

async fn writer(queue: usize) -> Writer {
    let mut connection = SqliteConnection::connect("sqlite::memory:")
        .await
        .expect("a database");
    sqlx::raw_sql("CREATE TABLE t (x INTEGER UNIQUE) STRICT")
        .execute(&mut connection)
        .await
        .expect("a table");
    Writer::start(connection, queue, Duration::from_secs(30))
}

fn insert(connection: &mut SqliteConnection, number: i64) -> BoxFuture<'_, Result<(), StoreError>> {
    Box::pin(async move {
        sqlx::query("INSERT INTO t VALUES (?)")
            .bind(number)
            .execute(connection)
            .await
            .map(|_| ())
            .map_err(unavailable)
    })
}

async fn content(writer: &Writer) -> Vec<i64> {
    let read = writer.write(|connection| {
        Box::pin(async move {
            sqlx::query_scalar("SELECT x FROM t ORDER BY x")
                .fetch_all(connection)
                .await
                .map_err(unavailable)
        })
    });
    read.await.expect("the content")
}

#[tokio::test]
async fn a_step_that_fails_is_undone_alone() {
    let writer = writer(64).await;
    let steps = (0..20).map(|number| {
        writer.write(move |connection| {
            Box::pin(async move {
                insert(connection, number).await?;
                match number % 7 {
                    3 => Err(StoreError::Busy),
                    // The database's own refusal, too.
                    5 => insert(connection, number).await,
                    _ => Ok(()),
                }
            })
        })
    });
    let mut expected = Vec::new();
    for (number, result) in join_all(steps).await.into_iter().enumerate() {
        match number % 7 {
            3 => assert_eq!(result, Err(StoreError::Busy)),
            5 => assert!(matches!(result, Err(StoreError::Unavailable { .. }))),
            _ => {
                assert_eq!(result, Ok(()));
                expected.push(number as i64);
            }
        }
    }
    assert_eq!(content(&writer).await, expected);
}

#[tokio::test]
async fn a_transaction_that_breaks_fails_all_of_it_and_the_next_works() {
    let writer = writer(64).await;
    let steps = (0..5).map(|number| {
        writer.write(move |connection| {
            Box::pin(async move {
                insert(connection, number).await?;
                if number == 3 {
                    // As SQLite does by itself when the disk is full.
                    sqlx::query("ROLLBACK")
                        .execute(connection)
                        .await
                        .map_err(unavailable)?;
                }
                Ok(())
            })
        })
    });
    for result in join_all(steps).await {
        assert!(
            matches!(result, Err(StoreError::Unavailable { .. })),
            "{result:?}"
        );
    }
    assert_eq!(content(&writer).await, Vec::<i64>::new());
    assert_eq!(
        writer.write(|connection| insert(connection, 9)).await,
        Ok(())
    );
    assert_eq!(content(&writer).await, [9]);
}

#[tokio::test]
async fn a_step_whose_caller_has_gone_is_not_taken() {
    let writer = writer(64).await;
    // Queued, then dropped before the writer's task has had its turn.
    let step = writer.write(|connection| insert(connection, 1));
    assert_eq!(step.now_or_never(), None);
    assert_eq!(content(&writer).await, Vec::<i64>::new());
}

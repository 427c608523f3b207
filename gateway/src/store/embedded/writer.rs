//! The one writer. Steps queue; each turn takes what has queued meanwhile into
//! one transaction, so that many callers share one flush to disk. A step that
//! fails is undone alone (`SAVEPOINT`); nobody is answered before the commit.

use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::unavailable;
use crate::store::StoreError;

/// The most steps in one transaction: bounds how long the first one waits.
const GROUP: usize = 64;

/// A step that has run inside the transaction.
struct Ran {
    /// Whether its changes stand if the transaction does.
    keep: bool,
    /// Tells its caller what became of it.
    reply: Box<dyn FnOnce(Result<(), StoreError>) + Send>,
}

type Step = Box<dyn for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Ran> + Send>;

/// Where steps are queued.
pub(super) struct Writer {
    queue: mpsc::Sender<Step>,
    timeout: Duration,
}

impl Writer {
    /// Starts the task that owns `connection`; it ends with the last handle.
    pub(super) fn start(connection: SqliteConnection, queue: usize, timeout: Duration) -> Self {
        let (sender, receiver) = mpsc::channel(queue.clamp(1, Semaphore::MAX_PERMITS));
        tokio::spawn(run(connection, receiver));
        Self {
            queue: sender,
            timeout,
        }
    }

    /// Runs `work` in a transaction and answers once it is on disk.
    pub(super) async fn write<T, W>(&self, work: W) -> Result<T, StoreError>
    where
        T: Send + 'static,
        W: for<'c> FnOnce(&'c mut SqliteConnection) -> BoxFuture<'c, Result<T, StoreError>>
            + Send
            + 'static,
    {
        let (sender, receiver) = oneshot::channel();
        let step: Step = Box::new(move |connection| {
            Box::pin(async move {
                // Nobody waits any more: then it is surely not taken.
                let result = match sender.is_closed() {
                    true => Err(StoreError::TimedOut),
                    false => work(connection).await,
                };
                Ran {
                    keep: result.is_ok(),
                    reply: Box::new(move |committed| {
                        // A caller that has gone needs no answer.
                        let _ = sender.send(result.and_then(|value| committed.map(|()| value)));
                    }),
                }
            })
        });
        self.queue.try_send(step).map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => StoreError::Busy,
            mpsc::error::TrySendError::Closed(_) => ended(),
        })?;
        match tokio::time::timeout(self.timeout, receiver).await {
            Ok(answer) => answer.map_err(|_| ended())?,
            Err(_) => Err(StoreError::TimedOut),
        }
    }
}

fn ended() -> StoreError {
    StoreError::Unavailable {
        detail: "the store's writer has ended".to_owned(),
    }
}

async fn run(mut connection: SqliteConnection, mut queue: mpsc::Receiver<Step>) {
    while let Some(first) = queue.recv().await {
        let mut group = vec![first];
        while group.len() < GROUP {
            match queue.try_recv() {
                Ok(step) => group.push(step),
                Err(_) => break,
            }
        }
        let mut ran = Vec::with_capacity(group.len());
        let committed = commit(&mut connection, group, &mut ran).await;
        if committed.is_err() {
            // Already rolled back when SQLite did it itself, as on a full disk.
            let _ = statement(&mut connection, "ROLLBACK").await;
        }
        for step in ran {
            (step.reply)(committed.clone());
        }
    }
}

/// Runs the group in one transaction; steps that could not run are dropped,
/// which tells their callers.
async fn commit(
    connection: &mut SqliteConnection,
    group: Vec<Step>,
    ran: &mut Vec<Ran>,
) -> Result<(), StoreError> {
    statement(connection, "BEGIN IMMEDIATE").await?;
    for step in group {
        statement(connection, "SAVEPOINT step").await?;
        let done = step(connection).await;
        let keep = done.keep;
        ran.push(done);
        if !keep {
            statement(connection, "ROLLBACK TO step").await?;
        }
        statement(connection, "RELEASE step").await?;
    }
    statement(connection, "COMMIT").await
}

async fn statement(connection: &mut SqliteConnection, sql: &'static str) -> Result<(), StoreError> {
    sqlx::query(sql)
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(unavailable)
}

#[cfg(test)]
mod tests;

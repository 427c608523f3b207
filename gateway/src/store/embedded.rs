//! The store in one SQLite file: no server, one process, durable to the last
//! commit. One connection writes, in groups; others read beside it (WAL).

use std::fs::{File, OpenOptions, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use sqlx::ConnectOptions;
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};

use self::writer::Writer;
use crate::store::{StoreError, StoreHealth};

mod keys;
mod plans;
mod registry;
mod schema;
mod writer;

/// Connections that read; SQLite serves them from memory, so few are enough.
const READERS: u32 = 2;

/// How to open the store.
#[derive(Clone, Debug)]
pub struct EmbeddedConfig {
    /// The database file; made if missing. A lock file lies beside it.
    pub path: PathBuf,
    /// The longest a caller waits for one step.
    pub timeout: Duration,
    /// Steps that may wait to be written; one more is refused as busy.
    pub queue: usize,
}

impl EmbeddedConfig {
    /// The defaults, for a file.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            timeout: Duration::from_millis(500),
            queue: 1024,
        }
    }
}

/// The open file.
pub(super) struct EmbeddedStore {
    writer: Writer,
    readers: SqlitePool,
    timeout: Duration,
    /// Held, and by the system's hand released, for as long as we live.
    _lock: File,
}

impl EmbeddedStore {
    pub(super) async fn open(config: EmbeddedConfig) -> Result<Self, StoreError> {
        let lock = lock(&config.path)?;
        let options = SqliteConnectOptions::new()
            .filename(&config.path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // What was answered survives the machine's end, not only ours.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(config.timeout)
            .disable_statement_logging();
        let mut connection = options.connect().await.map_err(unavailable)?;
        schema::prepare(&mut connection).await?;
        let readers = SqlitePoolOptions::new()
            .max_connections(READERS)
            .acquire_timeout(config.timeout)
            .connect_with(options.pragma("query_only", "ON"))
            .await
            .map_err(unavailable)?;
        Ok(Self {
            writer: Writer::start(connection, config.queue, config.timeout),
            readers,
            timeout: config.timeout,
            _lock: lock,
        })
    }

    /// Runs a read within the time limit.
    async fn read<T>(
        &self,
        work: impl Future<Output = Result<T, sqlx::Error>>,
    ) -> Result<T, StoreError> {
        match tokio::time::timeout(self.timeout, work).await {
            Ok(result) => result.map_err(unavailable),
            Err(_) => Err(StoreError::TimedOut),
        }
    }
}

#[async_trait]
impl StoreHealth for EmbeddedStore {
    async fn ping(&self) -> Result<(), StoreError> {
        self.read(sqlx::query("SELECT 1").fetch_one(&self.readers))
            .await?;
        self.writer.write(|_| Box::pin(async { Ok(()) })).await
    }
}

/// Takes the lock that keeps a second process away. The operating system
/// releases it with the process, however that ends.
fn lock(database: &Path) -> Result<File, StoreError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let path = PathBuf::from(path);
    let refused = |what: &str| StoreError::Refused {
        detail: format!("`{}` {what}", path.display()),
    };
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|error| refused(&format!("cannot be opened: {error}")))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(refused(
            "is locked: another process uses this store. Stop it, give this one a file of its \
             own, or run both on Redis",
        )),
        Err(TryLockError::Error(error)) => Err(refused(&format!("cannot be locked: {error}"))),
    }
}

fn unavailable(error: sqlx::Error) -> StoreError {
    match error {
        sqlx::Error::PoolTimedOut => StoreError::Busy,
        other => StoreError::Unavailable {
            detail: other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests;

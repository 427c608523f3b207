//! The one durable file of the service, and the lock that keeps a second service off it.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use thiserror::Error;

#[cfg(test)]
mod tests;

/// The layout below; a file of another layout is refused.
const LAYOUT: i64 = 2;

/// How long one statement waits for a lock that somebody else holds on the file.
const BUSY_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a statement waits for the one connection.
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(2);

const SCHEMA: &str = "
CREATE TABLE operations (
    id TEXT PRIMARY KEY NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('started', 'done', 'tombstoned')),
    effect TEXT NOT NULL CHECK (effect IN ('none', 'maybe', 'done')),
    kind TEXT NOT NULL,
    digest TEXT,
    status INTEGER,
    body TEXT,
    location TEXT,
    begun_ms INTEGER NOT NULL,
    ended_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX operations_begun ON operations (begun_ms);
CREATE INDEX operations_started ON operations (state) WHERE state = 'started';
CREATE TABLE missions (
    id TEXT PRIMARY KEY NOT NULL,
    mission TEXT NOT NULL,
    created_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX missions_created ON missions (created_ms);
CREATE TABLE swarm (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    name TEXT NOT NULL,
    writer TEXT,
    starts INTEGER NOT NULL,
    stop_epoch INTEGER NOT NULL,
    last_stop_ms INTEGER,
    clean INTEGER NOT NULL
) STRICT;
PRAGMA user_version = 2;
";

/// From layout 1, which had no writer.
const FROM_1: &str = "
ALTER TABLE swarm ADD COLUMN writer TEXT;
PRAGMA user_version = 2;
";

/// The open file.
#[derive(Debug)]
pub struct Database {
    pool: SqlitePool,
    /// Held for as long as the file is open; the operating system frees it when the process ends,
    /// however it ends.
    _lock: File,
}

impl Database {
    /// Opens the file at `path`, makes it if there is none, and locks it for this process.
    ///
    /// # Errors
    /// [`DatabaseError::InUse`] when another process has it, and every other [`DatabaseError`].
    pub async fn open(path: &Path) -> Result<Self, DatabaseError> {
        let lock = lock(path)?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(BUSY_TIMEOUT)
            .foreign_keys(true);
        // One connection: one writer, and every statement sees the one before.
        let pool = SqlitePoolOptions::new()
            .max_connections(1)
            .acquire_timeout(ACQUIRE_TIMEOUT)
            .connect_with(options)
            .await?;
        let layout: i64 = sqlx::query_scalar("PRAGMA user_version")
            .fetch_one(&pool)
            .await?;
        let statements = match layout {
            0 => Some(SCHEMA),
            1 => Some(FROM_1),
            LAYOUT => None,
            other => return Err(DatabaseError::Layout(other)),
        };
        if let Some(statements) = statements {
            let mut transaction = pool.begin().await?;
            sqlx::raw_sql(statements).execute(&mut *transaction).await?;
            transaction.commit().await?;
        }
        Ok(Self { pool, _lock: lock })
    }

    pub(crate) fn pool(&self) -> &SqlitePool {
        &self.pool
    }

    /// Closes the file once running statements have ended.
    pub async fn close(&self) {
        self.pool.close().await;
    }
}

fn lock(path: &Path) -> Result<File, DatabaseError> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let lock_path = PathBuf::from(name);
    let failed = |source| DatabaseError::Lock {
        path: lock_path.clone(),
        source,
    };
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    let file = options.open(&lock_path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(DatabaseError::InUse {
            path: path.to_owned(),
        }),
        Err(TryLockError::Error(error)) => Err(failed(error)),
    }
}

/// Why the durable file cannot be used.
#[derive(Debug, Error)]
pub enum DatabaseError {
    /// Another process has it.
    #[error(
        "another drone service uses `{}`: a swarm has one writer; end the other one first",
        path.display()
    )]
    InUse {
        /// The file.
        path: PathBuf,
    },
    /// The lock file cannot be made.
    #[error("cannot lock `{}`: {source}", path.display())]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Written by another version.
    #[error("the database has layout {0}; this version reads layout {LAYOUT}")]
    Layout(i64),
    /// A file of another swarm.
    #[error("the database belongs to the swarm `{found}`, not `{expected}`")]
    OtherSwarm {
        /// Whose it is.
        found: String,
        /// Whose it should be.
        expected: String,
    },
    /// A row that this version would not have written.
    #[error("the database holds something unreadable: {0}")]
    Corrupt(String),
    /// SQLite's own.
    #[error("database: {0}")]
    Sqlite(#[from] sqlx::Error),
}

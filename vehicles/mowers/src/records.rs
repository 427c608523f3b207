//! Where the service keeps what must survive: SQLite in one file by default, or
//! Postgres. One text of SQL serves both, on the types they share: text,
//! bigint (times in milliseconds since the epoch), double. JSON is text.

use std::path::PathBuf;
use std::time::Duration;

use sqlx::any::{AnyPoolOptions, install_default_drivers};
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Any, AnyPool, AssertSqlSafe, Executor, SqlSafeStr, Transaction};
use thiserror::Error;

#[cfg(test)]
pub(crate) mod testkit;

/// How long a caller waits for a connection before it is told that there is none.
const ACQUIRE: Duration = Duration::from_secs(2);

/// How long a transaction may lie idle on Postgres before the server ends it, in
/// milliseconds: a replica that froze in one must not keep its locks. Longer than
/// a change of the hierarchy ever waits for the registry.
const IDLE_MS: u32 = 30_000;

/// Connections to Postgres of one replica. SQLite has one writer and gets few.
const CONNECTIONS: u32 = 8;

/// The layout, in order. A file once released is never changed.
const MIGRATIONS: [(i64, &str, &str); 5] = [
    (
        1,
        "hierarchy",
        include_str!("../migrations/0001_hierarchy.sql"),
    ),
    (
        2,
        "commands",
        include_str!("../migrations/0002_commands.sql"),
    ),
    (
        3,
        "open_stops",
        include_str!("../migrations/0003_open_stops.sql"),
    ),
    (
        4,
        "calm_epochs",
        include_str!("../migrations/0004_calm_epochs.sql"),
    ),
    (5, "rooms", include_str!("../migrations/0005_rooms.sql")),
];

/// Where the records are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// One SQLite file of this process.
    File(PathBuf),
    /// A Postgres database, shared by the replicas.
    Postgres(String),
}

/// Why a record was not read or written.
#[derive(Debug, Error)]
pub enum RecordsError {
    /// The database cannot be reached, or gave no connection in time. A commit
    /// under way may have happened.
    #[error("the records are unavailable: {0}")]
    Unavailable(String),
    /// A unique index or a foreign key says no; its name.
    #[error("the records refuse: {0}")]
    Conflict(String),
    /// A record is not what was written.
    #[error("an unreadable record: {0}")]
    Corrupt(String),
    /// The layout cannot be brought up to date.
    #[error("the layout of the records: {0}")]
    Layout(String),
}

impl From<sqlx::Error> for RecordsError {
    fn from(cause: sqlx::Error) -> Self {
        match &cause {
            sqlx::Error::Database(database)
                if database.is_unique_violation() || database.is_foreign_key_violation() =>
            {
                RecordsError::Conflict(database.message().to_owned())
            }
            sqlx::Error::ColumnDecode { .. }
            | sqlx::Error::ColumnNotFound(_)
            | sqlx::Error::Decode(_) => RecordsError::Corrupt(cause.to_string()),
            _ => RecordsError::Unavailable(cause.to_string()),
        }
    }
}

/// The open records.
#[derive(Clone, Debug)]
pub struct Records {
    pool: AnyPool,
    /// SQLite takes its write lock at the start, so that a transaction never
    /// finds at its end that another one was faster.
    begin: &'static str,
}

impl Records {
    /// Opens the records and brings their layout up to date, one replica at a time.
    ///
    /// # Errors
    /// Every [`RecordsError`] but `Conflict`.
    pub async fn open(place: &Place) -> Result<Self, RecordsError> {
        install_default_drivers();
        let options = AnyPoolOptions::new().acquire_timeout(ACQUIRE);
        let records = match place {
            Place::File(path) => {
                let url = format!("sqlite://{}?mode=rwc", path.display());
                let pool = options
                    .max_connections(4)
                    .after_connect(|connection, _| {
                        Box::pin(async move {
                            for pragma in [
                                "PRAGMA busy_timeout = 5000",
                                "PRAGMA journal_mode = WAL",
                                "PRAGMA synchronous = FULL",
                                "PRAGMA foreign_keys = ON",
                            ] {
                                connection.execute(pragma).await?;
                            }
                            Ok(())
                        })
                    })
                    .connect(&url)
                    .await?;
                Records {
                    pool,
                    begin: "BEGIN IMMEDIATE",
                }
            }
            Place::Postgres(url) => {
                let pool = options
                    .max_connections(CONNECTIONS)
                    .after_connect(|connection, _| {
                        Box::pin(async move {
                            let idle =
                                format!("SET idle_in_transaction_session_timeout = {IDLE_MS}");
                            connection.execute(AssertSqlSafe(idle)).await?;
                            Ok(())
                        })
                    })
                    .connect(url)
                    .await?;
                Records {
                    pool,
                    begin: "BEGIN",
                }
            }
        };
        let migrations = MIGRATIONS
            .into_iter()
            .map(|(version, name, sql)| {
                Migration::new(
                    version,
                    name.into(),
                    MigrationType::Simple,
                    sql.into_sql_str(),
                    false,
                )
            })
            .collect();
        Migrator::with_migrations(migrations)
            .run(&records.pool)
            .await
            .map_err(|cause| RecordsError::Layout(cause.to_string()))?;
        Ok(records)
    }

    /// For single statements.
    #[must_use]
    pub fn pool(&self) -> &AnyPool {
        &self.pool
    }

    /// Begins a transaction that writes. Dropped without a commit, it never was.
    ///
    /// # Errors
    /// No connection in time.
    pub async fn begin(&self) -> Result<Transaction<'static, Any>, RecordsError> {
        Ok(self.pool.begin_with(self.begin).await?)
    }

    /// Whether the records answer now.
    pub async fn answer(&self) -> bool {
        self.pool.execute("SELECT 1").await.is_ok()
    }
}

#[cfg(test)]
mod tests;

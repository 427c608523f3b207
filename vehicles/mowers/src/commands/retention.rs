//! Forgetting old records: exported first, by one replica at a time. Stops and
//! drive sessions are kept longer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, AssertSqlSafe, Column as _, Row as _};
use thiserror::Error;
use tokio::io::AsyncWriteExt as _;

use super::store::placeholders;
use crate::contract::CommandKind;
use crate::records::{Records, RecordsError};
use crate::service::Fleet;
use crate::service::settings::Settings;

#[cfg(test)]
mod tests;

/// Between two looks.
const EVERY: Duration = Duration::from_secs(3_600);

/// Rows of one transaction, so that none holds the records for long.
const BATCH: i64 = 1_000;

/// Names the lock of Postgres among those of an installation.
pub(super) const LOCK: i64 = 0x6d6f_7765_7273;

/// How long records are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Commands and bulks.
    pub commands: Duration,
    /// Stops and drive sessions.
    pub safety: Duration,
    /// What is forgotten is appended to this file first, one JSON object a line.
    pub export: Option<PathBuf>,
}

impl Settings {
    /// How long records are kept, as configured.
    #[must_use]
    pub fn retention(&self) -> Retention {
        Retention {
            commands: self.command_retention,
            safety: self.safety_retention,
            export: self.export.clone(),
        }
    }
}

/// Why nothing was forgotten.
#[derive(Debug, Error)]
pub enum RetentionError {
    /// The records.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The export cannot be written.
    #[error("the export `{0}`: {1}")]
    Export(PathBuf, std::io::Error),
}

impl From<sqlx::Error> for RetentionError {
    fn from(error: sqlx::Error) -> Self {
        Self::Records(error.into())
    }
}

/// Rows of one table that are too old.
struct Old {
    table: &'static str,
    /// Takes the time before which a row is too old.
    condition: String,
    before: Timestamp,
}

/// Forgets what is too old, every hour, for as long as the service lives.
pub async fn run(fleet: &Arc<Fleet>) {
    loop {
        match purge(&fleet.records, &fleet.settings.retention(), fleet.now()).await {
            Ok(0) => {}
            Ok(count) => {
                fleet.control.counters.purged.add_many(count);
                tracing::info!(count, "old records were forgotten");
            }
            Err(error) => tracing::error!("old records are not forgotten: {error}"),
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Forgets what is too old at `now`; how many rows. Nothing, when another
/// replica is at it.
///
/// A line may be exported twice, when the process ends between export and
/// commit; none is forgotten without having been exported. A row that cannot be
/// read is not, and stays.
///
/// # Errors
/// [`RetentionError`]; what was not exported is still there.
pub async fn purge(
    records: &Records,
    retention: &Retention,
    now: Timestamp,
) -> Result<u64, RetentionError> {
    let stop = CommandKind::EmergencyStop.as_str();
    let ago = |kept: Duration| {
        let kept = SignedDuration::try_from(kept).unwrap_or(SignedDuration::MAX);
        now.saturating_sub(kept).unwrap_or(Timestamp::MIN)
    };
    let (commands, safety) = (ago(retention.commands), ago(retention.safety));
    let of = |table, condition: &str, before| Old {
        table,
        condition: condition.to_owned(),
        before,
    };
    let all = [
        of(
            "commands",
            &format!("issued_ms < $1 AND kind <> '{stop}'"),
            commands,
        ),
        of(
            "commands",
            &format!("issued_ms < $1 AND kind = '{stop}'"),
            safety,
        ),
        of(
            "bulks",
            &format!("issued_ms < $1 AND kind <> '{stop}'"),
            commands,
        ),
        of(
            "bulks",
            &format!("issued_ms < $1 AND kind = '{stop}'"),
            safety,
        ),
        of("drive_sessions", "opened_ms < $1", safety),
    ];
    let mut count = 0;
    for old in all {
        loop {
            let forgotten = batch(records, &old, retention.export.as_deref()).await?;
            count += forgotten;
            if forgotten == 0 {
                break;
            }
        }
    }
    Ok(count)
}

/// Exports and deletes one batch.
async fn batch(records: &Records, old: &Old, export: Option<&Path>) -> Result<u64, RetentionError> {
    let mut change = records.begin().await?;
    // Ended at once in any case: a lock that lingered would keep the next batch out.
    if !alone(&mut change).await? {
        change.rollback().await?;
        return Ok(0);
    }
    let Old {
        table, condition, ..
    } = old;
    let sql = format!("SELECT * FROM {table} WHERE {condition} LIMIT $2");
    let rows = sqlx::query(AssertSqlSafe(sql))
        .bind(old.before.as_millisecond())
        .bind(BATCH)
        .fetch_all(&mut *change)
        .await?;
    if rows.is_empty() {
        change.rollback().await?;
        return Ok(0);
    }
    let readable = rows.iter().filter_map(|row| match read(row, table) {
        Ok(read) => Some(read),
        Err(error) => {
            tracing::error!(
                table,
                "alarm: a record cannot be exported and is kept: {error}"
            );
            None
        }
    });
    let (ids, lines): (Vec<String>, Vec<Value>) = readable.unzip();
    if ids.is_empty() {
        change.rollback().await?;
        return Ok(0);
    }
    if let Some(path) = export {
        write(path, &lines).await?;
    }
    let sql = format!(
        "DELETE FROM {table} WHERE id IN {}",
        placeholders(1, ids.len())
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for id in ids {
        query = query.bind(id);
    }
    let deleted = query.execute(&mut *change).await?.rows_affected();
    change.commit().await?;
    Ok(deleted)
}

/// Whether no other replica is at it: an advisory lock of Postgres until the
/// transaction's end. SQLite has one writer anyway.
async fn alone(connection: &mut AnyConnection) -> Result<bool, RecordsError> {
    if connection.backend_name() != "PostgreSQL" {
        return Ok(true);
    }
    let locked: bool = sqlx::query_scalar("SELECT pg_try_advisory_xact_lock($1)")
        .bind(LOCK)
        .fetch_one(&mut *connection)
        .await?;
    Ok(locked)
}

async fn write(path: &Path, lines: &[Value]) -> Result<(), RetentionError> {
    let failed = |error| RetentionError::Export(path.to_owned(), error);
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend(line.to_string().into_bytes());
        bytes.push(b'\n');
    }
    let file = tokio::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .await;
    let mut file = file.map_err(failed)?;
    file.write_all(&bytes).await.map_err(failed)?;
    file.sync_data().await.map_err(failed)
}

/// The id of a row and its line: texts and numbers, as they stand.
fn read(row: &AnyRow, table: &str) -> Result<(String, Value), sqlx::Error> {
    let mut object = Map::new();
    for column in row.columns() {
        let name = column.name();
        let text = row.try_get::<Option<String>, _>(name).map(Value::from);
        let value = text.or_else(|_| row.try_get::<Option<i64>, _>(name).map(Value::from))?;
        object.insert(name.to_owned(), value);
    }
    let id = row.try_get("id")?;
    Ok((id, json!({ "table": table, "row": object })))
}

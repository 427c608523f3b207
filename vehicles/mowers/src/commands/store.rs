//! The table of commands: writing, finding and listing.

use jiff::Timestamp;
use sqlx::any::AnyArguments;
use sqlx::query::Query;
use sqlx::{Any, AnyConnection, AssertSqlSafe};
use uuid::Uuid;

use super::record::Record;
use crate::records::{Records, RecordsError};

mod list;
mod row;

#[cfg(test)]
mod tests;

pub use list::{Filter, Mowers, Place, list};
pub(crate) use row::{json, parse, signed, time, unsigned, uuid};

/// The columns, in the order they are bound.
const COLUMNS: &str = "id, mower_id, account_id, kind, command, issued_by, issued_ms, expires_ms, \
     correlation_id, bulk_id, plan_id, area_clear, hierarchy_rev, decision_id, bundle, stop_epoch, calm_epoch, \
     status, rank, reason, result_ms, late_status, late_reason, late_ms";

/// How many there are.
const WIDTH: usize = 24;

/// Rows of one statement: SQLite takes 32,766 parameters, Postgres 65,535.
const CHUNK: usize = 500;

/// Writes records; whoever is there already stays as it is. How many are new.
///
/// # Errors
/// [`RecordsError`]; then the transaction must not be committed.
pub async fn insert(
    connection: &mut AnyConnection,
    records: &[Record],
) -> Result<u64, RecordsError> {
    let mut written = 0;
    for chunk in records.chunks(CHUNK) {
        let rows = placeholders(chunk.len(), WIDTH);
        let sql =
            format!("INSERT INTO commands ({COLUMNS}) VALUES {rows} ON CONFLICT (id) DO NOTHING");
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for record in chunk {
            query = bind(query, record)?;
        }
        written += query.execute(&mut *connection).await?.rows_affected();
    }
    Ok(written)
}

/// The record of a command.
///
/// # Errors
/// [`RecordsError`].
pub async fn find(records: &Records, id: Uuid) -> Result<Option<Record>, RecordsError> {
    let sql = format!("SELECT {COLUMNS} FROM commands WHERE id = $1");
    let found = sqlx::query(AssertSqlSafe(sql))
        .bind(id.to_string())
        .fetch_optional(records.pool())
        .await?;
    found.as_ref().map(row::read).transpose()
}

/// The records of a bulk, in the order of their ids.
///
/// # Errors
/// [`RecordsError`].
pub async fn of_bulk(records: &Records, bulk: Uuid) -> Result<Vec<Record>, RecordsError> {
    let sql = format!("SELECT {COLUMNS} FROM commands WHERE bulk_id = $1 ORDER BY id");
    let found = sqlx::query(AssertSqlSafe(sql))
        .bind(bulk.to_string())
        .fetch_all(records.pool())
        .await?;
    found.iter().map(row::read).collect()
}

/// `($1, $2), ($3, $4), ..`
pub(crate) fn placeholders(rows: usize, width: usize) -> String {
    let row = |row: usize| {
        let columns: Vec<String> = (1..=width)
            .map(|column| format!("${}", row * width + column))
            .collect();
        format!("({})", columns.join(", "))
    };
    let rows: Vec<String> = (0..rows).map(row).collect();
    rows.join(", ")
}

fn bind<'q>(
    query: Query<'q, Any, AnyArguments>,
    record: &Record,
) -> Result<Query<'q, Any, AnyArguments>, RecordsError> {
    let envelope = &record.envelope;
    let outcome = &record.outcome;
    let late = outcome.late.as_ref();
    Ok(query
        .bind(envelope.command_id.to_string())
        .bind(envelope.mower_id.to_string())
        .bind(envelope.account_id.clone())
        .bind(envelope.command.kind().as_str())
        .bind(row::json(&envelope.command)?)
        .bind(row::json(&envelope.issued_by)?)
        .bind(envelope.issued_at.as_millisecond())
        .bind(envelope.expires_at.as_millisecond())
        .bind(envelope.correlation_id.to_string())
        .bind(record.bulk_id.map(|id| id.to_string()))
        .bind(record.plan_id.map(|id| id.to_string()))
        .bind(record.area_clear.map(|value| value.as_str()))
        .bind(row::signed(record.decided.hierarchy_rev))
        .bind(record.decided.decision.map(|id| id.to_string()))
        .bind(record.decided.bundle.clone())
        .bind(row::signed(envelope.stop_epoch))
        .bind(row::signed(envelope.calm_epoch))
        .bind(outcome.status.as_str())
        .bind(i64::from(outcome.status.rank()))
        .bind(outcome.reason.clone())
        .bind(outcome.result_at.map(Timestamp::as_millisecond))
        .bind(late.map(|late| late.status.as_str()))
        .bind(late.and_then(|late| late.reason.clone()))
        .bind(late.map(|late| late.at.as_millisecond())))
}

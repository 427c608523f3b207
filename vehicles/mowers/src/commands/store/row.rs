//! How a record stands in its row.

use jiff::Timestamp;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::any::AnyRow;
use uuid::Uuid;

use crate::commands::record::{AreaClear, Decided, Late, Outcome, Record};
use crate::contract::{Command, Envelope, Priority, Status};
use crate::records::RecordsError;

/// Reads one row.
pub(super) fn read(row: &AnyRow) -> Result<Record, RecordsError> {
    let command: Command = parse(row, "command")?;
    let envelope = Envelope {
        command_id: uuid(row, "id")?,
        mower_id: uuid(row, "mower_id")?,
        account_id: row.try_get("account_id")?,
        issued_by: parse(row, "issued_by")?,
        issued_at: time(row.try_get("issued_ms")?)?,
        expires_at: time(row.try_get("expires_ms")?)?,
        priority: Priority::of(command.kind()),
        correlation_id: uuid(row, "correlation_id")?,
        stop_epoch: unsigned(row.try_get("stop_epoch")?)?,
        calm_epoch: unsigned(row.try_get("calm_epoch")?)?,
        command,
    };
    Ok(Record {
        envelope,
        bulk_id: uuid_if(row, "bulk_id")?,
        plan_id: uuid_if(row, "plan_id")?,
        area_clear: named_if(row, "area_clear", AreaClear::named)?,
        decided: Decided {
            hierarchy_rev: unsigned(row.try_get("hierarchy_rev")?)?,
            decision: uuid_if(row, "decision_id")?,
            bundle: row.try_get("bundle")?,
        },
        outcome: outcome(row)?,
    })
}

fn outcome(row: &AnyRow) -> Result<Outcome, RecordsError> {
    let status = named_if(row, "status", Status::named)?;
    let late = named_if(row, "late_status", Status::named)?;
    let late_at = time_if(row, "late_ms")?;
    let late = match (late, late_at) {
        (Some(status), Some(at)) => Some(Late {
            status,
            reason: row.try_get("late_reason")?,
            at,
        }),
        _ => None,
    };
    Ok(Outcome {
        status: status.ok_or_else(|| corrupt("status", "none"))?,
        reason: row.try_get("reason")?,
        result_at: time_if(row, "result_ms")?,
        late,
    })
}

/// The id in a column.
pub(crate) fn uuid(row: &AnyRow, column: &str) -> Result<Uuid, RecordsError> {
    let text: String = row.try_get(column)?;
    Uuid::parse_str(&text).map_err(|_| corrupt(column, &text))
}

fn uuid_if(row: &AnyRow, column: &str) -> Result<Option<Uuid>, RecordsError> {
    named_if(row, column, |text| Uuid::parse_str(text).ok())
}

fn named_if<T>(
    row: &AnyRow,
    column: &str,
    named: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, RecordsError> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| named(&text).ok_or_else(|| corrupt(column, &text)))
        .transpose()
}

fn time_if(row: &AnyRow, column: &str) -> Result<Option<Timestamp>, RecordsError> {
    let milliseconds: Option<i64> = row.try_get(column)?;
    milliseconds.map(time).transpose()
}

/// The value in a column of JSON.
pub(crate) fn parse<T: DeserializeOwned>(row: &AnyRow, column: &str) -> Result<T, RecordsError> {
    let text: String = row.try_get(column)?;
    serde_json::from_str(&text).map_err(|error| corrupt(column, &error.to_string()))
}

/// The JSON text of a value.
pub(crate) fn json(value: &impl Serialize) -> Result<String, RecordsError> {
    serde_json::to_string(value).map_err(|error| corrupt("json", &error.to_string()))
}

/// The time a number of milliseconds is.
pub(crate) fn time(milliseconds: i64) -> Result<Timestamp, RecordsError> {
    Timestamp::from_millisecond(milliseconds)
        .map_err(|_| corrupt("time", &milliseconds.to_string()))
}

/// A count.
pub(crate) fn unsigned(value: i64) -> Result<u64, RecordsError> {
    u64::try_from(value).map_err(|_| corrupt("count", &value.to_string()))
}

/// Counts and epochs never reach the end of an `i64`.
pub(crate) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn corrupt(column: &str, what: &str) -> RecordsError {
    RecordsError::Corrupt(format!("`{column}`: {what}"))
}

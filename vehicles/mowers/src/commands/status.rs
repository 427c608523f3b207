//! How far a command came. It only goes forward: one conditional update that
//! needs no read first, so results may come twice, late and in any order.

use sqlx::{AnyConnection, Row as _};

use super::record::{Outcome, reason};
use super::store;
use crate::contract::CommandResult;
use crate::records::{Records, RecordsError};

#[cfg(test)]
mod tests;

/// What a result changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The record went forward.
    Forward,
    /// It said nothing new.
    Same,
    /// It is a second, different final: kept beside the first, which stays.
    Conflict,
    /// There is no such command.
    Unknown,
    /// The command is for another mower or account: only the gateway that holds
    /// a mower may speak for it.
    Foreign,
}

/// Writes results, all in one transaction: the new status of a command stands
/// only when its rank is greater than that of the old one. What became of each,
/// in the order of the results.
///
/// # Errors
/// [`RecordsError`]; then none is written, and they are delivered again.
pub async fn advance(
    records: &Records,
    results: &[CommandResult],
) -> Result<Vec<Moved>, RecordsError> {
    let mut moved = vec![Moved::Unknown; results.len()];
    // INVARIANT: rows are locked in the order of their ids, so that replicas
    // which write results of the same commands never wait for each other.
    let mut ordered: Vec<_> = results.iter().zip(&mut moved).collect();
    ordered.sort_by_key(|(result, _)| result.command_id);
    let mut transaction = records.begin().await?;
    for (result, moved) in ordered {
        *moved = step(&mut transaction, result).await?;
    }
    transaction.commit().await?;
    Ok(moved)
}

async fn step(records: &mut AnyConnection, result: &CommandResult) -> Result<Moved, RecordsError> {
    loop {
        if forward(records, result).await? {
            return Ok(Moved::Forward);
        }
        if result.status.is_final() && note_late(records, result).await? {
            return Ok(Moved::Conflict);
        }
        match explain(records, result).await? {
            Why::Nothing(moved) => return Ok(moved),
            // A stop is published before it is on record: its row came in between. It is there
            // now, and only goes forward, so this ends.
            Why::Behind => {}
        }
    }
}

async fn forward(
    records: &mut AnyConnection,
    result: &CommandResult,
) -> Result<bool, RecordsError> {
    let forward = sqlx::query(
        "UPDATE commands SET status = $1, rank = $2, reason = $3, result_ms = $4
         WHERE id = $5 AND mower_id = $6 AND account_id = $7 AND rank < $8",
    )
    .bind(result.status.as_str())
    .bind(i64::from(result.status.rank()))
    .bind(result.reason.as_deref().map(reason))
    .bind(result.at.as_millisecond())
    .bind(result.command_id.to_string())
    .bind(result.mower_id.to_string())
    .bind(result.account_id.clone())
    .bind(i64::from(result.status.rank()))
    .execute(records)
    .await?;
    Ok(forward.rows_affected() == 1)
}

/// Keeps a second, different final, once.
async fn note_late(
    records: &mut AnyConnection,
    result: &CommandResult,
) -> Result<bool, RecordsError> {
    let late = sqlx::query(
        "UPDATE commands SET late_status = $1, late_reason = $2, late_ms = $3
         WHERE id = $4 AND mower_id = $5 AND account_id = $6
           AND rank = $7 AND status <> $8 AND late_status IS NULL",
    )
    .bind(result.status.as_str())
    .bind(result.reason.as_deref().map(reason))
    .bind(result.at.as_millisecond())
    .bind(result.command_id.to_string())
    .bind(result.mower_id.to_string())
    .bind(result.account_id.clone())
    .bind(i64::from(result.status.rank()))
    .bind(result.status.as_str())
    .execute(records)
    .await?;
    Ok(late.rows_affected() == 1)
}

/// Why a result changed nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// There is nothing to change.
    Nothing(Moved),
    /// There is: the record is behind the result.
    Behind,
}

async fn explain(records: &mut AnyConnection, result: &CommandResult) -> Result<Why, RecordsError> {
    let row = sqlx::query("SELECT mower_id, account_id, rank FROM commands WHERE id = $1")
        .bind(result.command_id.to_string())
        .fetch_optional(records)
        .await?;
    let Some(row) = row else {
        return Ok(Why::Nothing(Moved::Unknown));
    };
    let account: String = row.try_get("account_id")?;
    let rank: i64 = row.try_get("rank")?;
    let ours = store::uuid(&row, "mower_id")? == result.mower_id && account == result.account_id;
    Ok(match ours {
        false => Why::Nothing(Moved::Foreign),
        true if rank < i64::from(result.status.rank()) => Why::Behind,
        true => Why::Nothing(Moved::Same),
    })
}

/// What the service itself knows of commands it did not hand on: written only
/// while nothing else was heard. How many it changed.
///
/// # Errors
/// [`RecordsError`]; then they stay as they are, and become overdue.
pub async fn close(
    records: &Records,
    ids: &[uuid::Uuid],
    outcome: &Outcome,
) -> Result<u64, RecordsError> {
    let mut changed = 0;
    let mut transaction = records.begin().await?;
    for id in ids {
        let done = sqlx::query(
            "UPDATE commands SET status = $1, rank = $2, reason = $3, result_ms = $4
             WHERE id = $5 AND rank < $6",
        )
        .bind(outcome.status.as_str())
        .bind(i64::from(outcome.status.rank()))
        .bind(outcome.reason.as_deref().map(reason))
        .bind(outcome.result_at.map(jiff::Timestamp::as_millisecond))
        .bind(id.to_string())
        .bind(i64::from(outcome.status.rank()))
        .execute(&mut *transaction)
        .await?;
        changed += done.rows_affected();
    }
    transaction.commit().await?;
    Ok(changed)
}

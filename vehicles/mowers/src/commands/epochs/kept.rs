//! Stop epochs and lives on record.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};
use uuid::Uuid;

use crate::commands::store::{placeholders, signed, unsigned, uuid};
use crate::records::{Records, RecordsError};

/// The row of the floor, which holds for every mower.
const FLOOR: Uuid = Uuid::nil();

/// In a statement over mowers `m`: the epoch of each on record. Another replica
/// may have raised it, or the floor of all.
pub(in crate::commands) const RECORDED: &str = "COALESCE((SELECT MAX(e.epoch) FROM stop_epochs e
    WHERE e.mower_id IN (m.id, '00000000-0000-0000-0000-000000000000')), 0)";

/// Rows of one statement.
const CHUNK: usize = 1_000;

/// What earlier lives left.
pub(super) struct Kept {
    pub(super) epochs: HashMap<Uuid, u64>,
    /// Of all mowers; above everything before it where the last life of this
    /// replica did not end in order.
    pub(super) floor: u64,
}

/// Reads what is left, and notes that a life begins.
pub(super) async fn begin(
    records: &Records,
    replica: &str,
    now: Timestamp,
) -> Result<Kept, RecordsError> {
    let mut transaction = records.begin().await?;
    let ended = sqlx::query("DELETE FROM lives WHERE replica = $1")
        .bind(replica)
        .execute(&mut *transaction)
        .await?;
    sqlx::query("INSERT INTO lives (replica, begun_ms) VALUES ($1, $2)")
        .bind(replica)
        .bind(now.as_millisecond())
        .execute(&mut *transaction)
        .await?;
    let rows = sqlx::query("SELECT mower_id, epoch FROM stop_epochs")
        .fetch_all(&mut *transaction)
        .await?;
    let epochs = rows
        .iter()
        .map(|row| Ok((uuid(row, "mower_id")?, unsigned(row.try_get("epoch")?)?)));
    let mut epochs = epochs.collect::<Result<HashMap<_, _>, RecordsError>>()?;
    let highest = epochs.values().copied().max().unwrap_or_default();
    let mut floor = epochs.remove(&FLOOR).unwrap_or_default();
    if ended.rows_affected() > 0 {
        // A clock set back must not bring the floor below what was recorded.
        floor = super::of(now).max(highest.saturating_add(1_000));
        write(&mut transaction, &[(FLOOR, floor)]).await?;
    }
    transaction.commit().await?;
    Ok(Kept { epochs, floor })
}

/// Notes that the life of a replica ends in order.
pub(super) async fn end(records: &Records, replica: &str) -> Result<(), RecordsError> {
    sqlx::query("DELETE FROM lives WHERE replica = $1")
        .bind(replica)
        .execute(records.pool())
        .await?;
    Ok(())
}

/// Raises epochs on record; none ever sinks.
pub(super) async fn raise(records: &Records, epochs: &[(Uuid, u64)]) -> Result<(), RecordsError> {
    if epochs.is_empty() {
        return Ok(());
    }
    let mut transaction = records.begin().await?;
    write(&mut transaction, epochs).await?;
    transaction.commit().await?;
    Ok(())
}

async fn write(connection: &mut AnyConnection, epochs: &[(Uuid, u64)]) -> Result<(), RecordsError> {
    for chunk in epochs.chunks(CHUNK) {
        let rows = placeholders(chunk.len(), 2);
        let sql = format!(
            "INSERT INTO stop_epochs (mower_id, epoch) VALUES {rows}
             ON CONFLICT (mower_id) DO UPDATE SET epoch = excluded.epoch
             WHERE excluded.epoch > stop_epochs.epoch"
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for (mower, epoch) in chunk {
            query = query.bind(mower.to_string()).bind(signed(*epoch));
        }
        query.execute(&mut *connection).await?;
    }
    Ok(())
}

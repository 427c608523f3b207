//! Stop epochs and lives on record.

use std::collections::HashMap;

use jiff::Timestamp;
use sqlx::{AnyConnection, AssertSqlSafe, Row as _};
use uuid::Uuid;

use crate::commands::store::{placeholders, signed, unsigned, uuid};
use crate::records::{Records, RecordsError};

/// Rows of one statement.
const CHUNK: usize = 1_000;

/// What earlier lives left.
pub(super) struct Kept {
    pub(super) epochs: HashMap<Uuid, u64>,
    /// The last life of this replica did not end in order.
    pub(super) broken_off: bool,
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
    transaction.commit().await?;
    let epochs = rows
        .iter()
        .map(|row| Ok((uuid(row, "mower_id")?, unsigned(row.try_get("epoch")?)?)));
    Ok(Kept {
        epochs: epochs.collect::<Result<_, RecordsError>>()?,
        broken_off: ended.rows_affected() > 0,
    })
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
        query.execute(&mut *transaction).await?;
    }
    transaction.commit().await?;
    Ok(())
}

/// The epoch of a mower on record, inside of a transaction: another replica may
/// have raised it.
pub(in crate::commands) async fn read(
    connection: &mut AnyConnection,
    mower: Uuid,
) -> Result<u64, RecordsError> {
    let epoch: Option<i64> =
        sqlx::query_scalar("SELECT epoch FROM stop_epochs WHERE mower_id = $1")
            .bind(mower.to_string())
            .fetch_optional(&mut *connection)
            .await?;
    epoch.map_or(Ok(0), unsigned)
}

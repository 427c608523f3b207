//! How often each mower was calmed: the calm epoch.
//!
//! A command that pauses a mower or sends it home raises the epoch in the
//! transaction that records it, and carries the new one; a movement carries the
//! one it found. So the order of the two is that of their commits, over all
//! replicas and whatever their clocks say. A movement with a lower epoch than
//! the last calming command was asked before it: it is not sent where it waits
//! here, and the mower's gateway refuses it.

use std::collections::HashMap;

use sqlx::{AnyConnection, AssertSqlSafe, Row as _};
use uuid::Uuid;

use super::store::{placeholders, unsigned, uuid};
use crate::records::{Records, RecordsError};

/// Mowers of one statement.
const CHUNK: usize = 1_000;

/// The epochs on record of mowers; those that were never calmed are missing.
///
/// # Errors
/// [`RecordsError`].
pub async fn epochs(
    records: &Records,
    mowers: &[Uuid],
) -> Result<HashMap<Uuid, u64>, RecordsError> {
    let mut epochs = HashMap::new();
    for chunk in mowers.chunks(CHUNK) {
        let ids = placeholders(1, chunk.len());
        let sql = format!("SELECT mower_id, epoch FROM calm_epochs WHERE mower_id IN {ids}");
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for mower in chunk {
            query = query.bind(mower.to_string());
        }
        for row in query.fetch_all(records.pool()).await? {
            epochs.insert(uuid(&row, "mower_id")?, unsigned(row.try_get("epoch")?)?);
        }
    }
    Ok(epochs)
}

/// Raises the epoch of each of these mowers; the new ones.
///
/// # Errors
/// [`RecordsError`]; then the transaction must not be committed.
pub(super) async fn raise(
    change: &mut AnyConnection,
    mowers: &[Uuid],
) -> Result<HashMap<Uuid, u64>, RecordsError> {
    // INVARIANT: rows are locked in the order of their ids, so that two commands
    // to many never wait for each other.
    let mut mowers = mowers.to_vec();
    mowers.sort_unstable();
    mowers.dedup();
    let mut raised = HashMap::with_capacity(mowers.len());
    for chunk in mowers.chunks(CHUNK) {
        let rows: Vec<String> = (1..=chunk.len()).map(|n| format!("(${n}, 1)")).collect();
        let sql = format!(
            "INSERT INTO calm_epochs (mower_id, epoch) VALUES {}
             ON CONFLICT (mower_id) DO UPDATE SET epoch = calm_epochs.epoch + 1
             RETURNING mower_id, epoch",
            rows.join(", ")
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for mower in chunk {
            query = query.bind(mower.to_string());
        }
        for row in query.fetch_all(&mut *change).await? {
            let epoch = unsigned(row.try_get("epoch")?)?;
            raised.insert(uuid(&row, "mower_id")?, epoch);
        }
    }
    Ok(raised)
}

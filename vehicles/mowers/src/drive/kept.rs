//! Drive sessions on record: who drove which mower, and when.

use jiff::Timestamp;
use sqlx::{AnyConnection, Row as _};
use uuid::Uuid;

use super::sessions::{Ended, Session};
use crate::commands::store::{json, signed, time, unsigned, uuid};
use crate::records::{Records, RecordsError};

/// Writes an open session.
pub(super) async fn insert(
    connection: &mut AnyConnection,
    session: &Session,
) -> Result<(), RecordsError> {
    sqlx::query(
        "INSERT INTO drive_sessions (id, mower_id, account_id, holder, opened_ms, frames)
         VALUES ($1, $2, $3, $4, $5, $6)",
    )
    .bind(session.id.to_string())
    .bind(session.mower.to_string())
    .bind(session.account.clone())
    .bind(json(&session.holder)?)
    .bind(session.opened_at.as_millisecond())
    .bind(signed(session.frames))
    .execute(&mut *connection)
    .await?;
    Ok(())
}

/// The session of this id.
pub(super) async fn find(records: &Records, id: Uuid) -> Result<Option<Session>, RecordsError> {
    let row = sqlx::query(
        "SELECT mower_id, account_id, holder, opened_ms, ended_ms, ended_by, frames
         FROM drive_sessions WHERE id = $1",
    )
    .bind(id.to_string())
    .fetch_optional(records.pool())
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let holder: String = row.try_get("holder")?;
    let holder = serde_json::from_str(&holder)
        .map_err(|error| RecordsError::Corrupt(format!("drive session {id}: {error}")))?;
    let opened_at = time(row.try_get("opened_ms")?)?;
    let ended_ms: Option<i64> = row.try_get("ended_ms")?;
    let by: Option<String> = row.try_get("ended_by")?;
    let ended = match ended_ms {
        Some(at) => Some(Ended {
            at: time(at)?,
            by: by.unwrap_or_default(),
        }),
        None => None,
    };
    Ok(Some(Session {
        id,
        mower: uuid(&row, "mower_id")?,
        account: row.try_get("account_id")?,
        holder,
        opened_at,
        last_at: opened_at,
        frames: unsigned(row.try_get("frames")?)?,
        sequence: None,
        ended,
    }))
}

/// Notes how a session ended; the device gateway's count of frames replaces a
/// lower one.
pub(super) async fn end(
    records: &Records,
    id: Uuid,
    ended: &Ended,
    frames: u64,
) -> Result<(), RecordsError> {
    sqlx::query(
        "UPDATE drive_sessions SET ended_ms = COALESCE(ended_ms, $1),
             ended_by = COALESCE(ended_by, $2),
             frames = CASE WHEN frames < $3 THEN $4 ELSE frames END
         WHERE id = $5",
    )
    .bind(ended.at.as_millisecond())
    .bind(ended.by.clone())
    .bind(signed(frames))
    .bind(signed(frames))
    .bind(id.to_string())
    .execute(records.pool())
    .await?;
    Ok(())
}

/// The device gateway has opened `id`, so no earlier session of the mower is
/// open any more, whoever did not say so.
pub(super) async fn replace(
    records: &Records,
    mower: Uuid,
    id: Uuid,
    now: Timestamp,
) -> Result<(), RecordsError> {
    sqlx::query(
        "UPDATE drive_sessions SET ended_ms = $1, ended_by = 'lost'
         WHERE mower_id = $2 AND id <> $3 AND ended_ms IS NULL AND opened_ms <= $4",
    )
    .bind(now.as_millisecond())
    .bind(mower.to_string())
    .bind(id.to_string())
    .bind(now.as_millisecond())
    .execute(records.pool())
    .await?;
    Ok(())
}

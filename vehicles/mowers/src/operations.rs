//! What was asked, durable before it happens and never done twice.
//!
//! The gateway names each write with an operation id. A write that runs in one transaction begins
//! and finishes its operation in it; one that sends something begins it before, so that a crash in
//! between shows. An operation never seen is tombstoned when somebody asks for it: it is refused
//! for ever, however late it comes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use sqlx::{Any, Executor, Row as _};
use uuid::Uuid;

use crate::records::{Records, RecordsError};

#[cfg(test)]
mod tests;

/// Whether something happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Certainly nothing.
    None,
    /// Nobody knows.
    Maybe,
    /// It did.
    Done,
}

impl Effect {
    /// The name on the wire and in the records.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Maybe => "maybe",
            Self::Done => "done",
        }
    }

    fn named(name: &str) -> Option<Self> {
        [Self::None, Self::Maybe, Self::Done]
            .into_iter()
            .find(|effect| effect.as_str() == name)
    }
}

/// How a request was answered, byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// JSON; empty for 204.
    pub body: String,
    /// The `Location`, where there is one.
    pub location: Option<String>,
}

/// How an operation stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Begun and not finished: by a process at it now, or by one that died.
    Started,
    /// Finished, with what it did and how it was answered.
    Done(Effect, Answer),
    /// Refused for ever.
    Tombstoned,
}

/// An operation on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What it is: the name of its surface row. Empty for one that was tombstoned unseen.
    pub kind: String,
    /// How it stands.
    pub standing: Standing,
}

/// What an attempt to begin came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It is noted, and this caller alone goes on.
    Fresh,
    /// It was there before.
    Existing(Operation),
}

/// Notes that an operation begins, in the transaction `change`: it counts once that is committed.
/// A second one with the same id waits for the end of the first one's transaction.
///
/// # Errors
/// [`RecordsError`].
pub async fn begin(
    change: &mut sqlx::AnyConnection,
    id: Uuid,
    kind: &str,
    now: Timestamp,
) -> Result<Begun, RecordsError> {
    let inserted = sqlx::query(
        "INSERT INTO operations (id, kind, state, begun_ms) VALUES ($1, $2, 'started', $3)
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(id.to_string())
    .bind(kind)
    .bind(now.as_millisecond())
    .execute(&mut *change)
    .await?
    .rows_affected();
    if inserted == 1 {
        return Ok(Begun::Fresh);
    }
    find(&mut *change, id)
        .await?
        .map(Begun::Existing)
        .ok_or_else(|| RecordsError::Corrupt(format!("operation {id} is there and not there")))
}

/// Notes how a begun operation ended. What is finished already stays as it is.
///
/// # Errors
/// [`RecordsError`].
pub async fn finish(
    change: impl Executor<'_, Database = Any>,
    id: Uuid,
    effect: Effect,
    answer: &Answer,
    now: Timestamp,
) -> Result<(), RecordsError> {
    sqlx::query(
        "UPDATE operations
         SET state = 'done', effect = $1, status = $2, body = $3, location = $4, ended_ms = $5
         WHERE id = $6 AND state = 'started'",
    )
    .bind(effect.as_str())
    .bind(i64::from(answer.status))
    .bind(answer.body.as_str())
    .bind(answer.location.as_deref())
    .bind(now.as_millisecond())
    .bind(id.to_string())
    .execute(change)
    .await?;
    Ok(())
}

/// An operation on record.
///
/// # Errors
/// [`RecordsError`].
pub async fn find(
    records: impl Executor<'_, Database = Any>,
    id: Uuid,
) -> Result<Option<Operation>, RecordsError> {
    sqlx::query("SELECT kind, state, effect, status, body, location FROM operations WHERE id = $1")
        .bind(id.to_string())
        .fetch_optional(records)
        .await?
        .map(|row| read(&row))
        .transpose()
}

/// How an operation stands; one never seen is tombstoned by this very call.
///
/// # Errors
/// [`RecordsError`].
pub async fn settle(
    records: &Records,
    id: Uuid,
    now: Timestamp,
) -> Result<Operation, RecordsError> {
    let mut change = records.begin().await?;
    sqlx::query(
        "INSERT INTO operations (id, kind, state, effect, begun_ms, ended_ms)
         VALUES ($1, '', 'tombstoned', 'none', $2, $2)
         ON CONFLICT (id) DO NOTHING",
    )
    .bind(id.to_string())
    .bind(now.as_millisecond())
    .execute(&mut *change)
    .await?;
    let found = find(&mut *change, id).await?;
    change.commit().await?;
    found.ok_or_else(|| RecordsError::Corrupt(format!("operation {id} is there and not there")))
}

/// Forgets operations that ended before `until`. A grant lives two minutes, so the packet of an
/// operation older than that is refused by its grant. How many there were.
///
/// # Errors
/// [`RecordsError`].
pub async fn forget(records: &Records, until: Timestamp) -> Result<u64, RecordsError> {
    let forgotten = sqlx::query("DELETE FROM operations WHERE ended_ms < $1")
        .bind(until.as_millisecond())
        .execute(records.pool())
        .await?;
    Ok(forgotten.rows_affected())
}

fn read(row: &AnyRow) -> Result<Operation, RecordsError> {
    let corrupt = |what: &str| RecordsError::Corrupt(format!("an operation with {what}"));
    let state: String = row.try_get("state")?;
    let standing = match state.as_str() {
        "started" => Standing::Started,
        "tombstoned" => Standing::Tombstoned,
        "done" => {
            let effect: String = row.try_get("effect")?;
            let status: i64 = row.try_get("status")?;
            Standing::Done(
                Effect::named(&effect).ok_or_else(|| corrupt("an unknown effect"))?,
                Answer {
                    status: u16::try_from(status).map_err(|_| corrupt("an unknown status"))?,
                    body: row.try_get("body")?,
                    location: row.try_get("location")?,
                },
            )
        }
        _ => return Err(corrupt("an unknown state")),
    };
    Ok(Operation {
        kind: row.try_get("kind")?,
        standing,
    })
}

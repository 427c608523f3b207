//! Where an operation stands, and how that is kept in a row.

use jiff::Timestamp;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;
use uuid::Uuid;

use crate::contract::Mission;
use crate::database::DatabaseError;

/// Whether the swarm may have acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Nothing was sent, or the swarm refused it.
    None,
    /// Sent, and nobody knows.
    Maybe,
    /// It happened.
    Done,
}

/// An answer, kept to be given again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// JSON.
    pub body: String,
    /// The `Location` header.
    pub location: Option<String>,
}

/// Where an operation stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Begun by this process, which is still at it.
    Running,
    /// Begun, and not known to have ended.
    Unsettled,
    /// Over, with what it did and how it was answered.
    Done(Effect, Answer),
    /// Did not happen and never will; the refusal it was answered with, if any.
    Tombstoned(Option<Answer>),
}

/// An operation on record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The digest of its request.
    pub digest: Option<String>,
    /// Where it stands.
    pub standing: Standing,
}

impl Effect {
    /// The name JSON and the file use.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Maybe => "maybe",
            Self::Done => "done",
        }
    }
}

pub(super) fn record(row: &SqliteRow) -> Result<Record, DatabaseError> {
    let state: String = row.try_get("state")?;
    let status: Option<i64> = row.try_get("status")?;
    let body: Option<String> = row.try_get("body")?;
    let location = row.try_get("location")?;
    let answer = match (status.map(u16::try_from), body) {
        (Some(Ok(status)), Some(body)) => Some(Answer {
            status,
            body,
            location,
        }),
        _ => None,
    };
    let standing = match (state.as_str(), answer) {
        ("started", _) => Standing::Unsettled,
        ("done", Some(answer)) => Standing::Done(effect(row)?, answer),
        ("tombstoned", answer) => Standing::Tombstoned(answer),
        (other, _) => return Err(DatabaseError::Corrupt(format!("operation state `{other}`"))),
    };
    let digest = row.try_get("digest")?;
    Ok(Record { digest, standing })
}

pub(super) fn mission(text: &str) -> Result<Mission, DatabaseError> {
    serde_json::from_str(text).map_err(|error| DatabaseError::Corrupt(format!("mission: {error}")))
}

pub(super) fn text(mission: &Mission) -> Result<String, DatabaseError> {
    serde_json::to_string(mission)
        .map_err(|error| DatabaseError::Corrupt(format!("mission: {error}")))
}

pub(super) fn id(text: &str) -> Result<Uuid, DatabaseError> {
    Uuid::parse_str(text).map_err(|error| DatabaseError::Corrupt(format!("id: {error}")))
}

pub(super) fn timestamp(milliseconds: i64) -> Result<Timestamp, DatabaseError> {
    Timestamp::from_millisecond(milliseconds)
        .map_err(|error| DatabaseError::Corrupt(format!("time: {error}")))
}

pub(super) fn unsigned(value: i64) -> Result<u64, DatabaseError> {
    u64::try_from(value).map_err(|_| DatabaseError::Corrupt(format!("count {value}")))
}

/// Counts grow by one; none reaches the end of an `i64`.
pub(super) fn signed(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn effect(row: &SqliteRow) -> Result<Effect, DatabaseError> {
    let name: String = row.try_get("effect")?;
    let all = [Effect::None, Effect::Maybe, Effect::Done];
    let found = all.into_iter().find(|effect| effect.as_str() == name);
    found.ok_or_else(|| DatabaseError::Corrupt(format!("effect `{name}`")))
}

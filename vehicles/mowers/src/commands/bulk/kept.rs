//! What was asked of many at once, on record.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sqlx::{AnyConnection, Row as _};
use uuid::Uuid;

use crate::commands::store::{time, uuid};
use crate::contract::CommandKind;
use crate::hierarchy::roster::Container;
use crate::records::{Records, RecordsError};

/// Whose mowers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", content = "id", rename_all = "snake_case")]
pub enum Target {
    /// All of an account.
    Account(String),
    /// All of a site.
    Site(Uuid),
    /// All of a group.
    Group(Uuid),
}

/// A command to many.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Head {
    /// Its id.
    pub bulk_id: Uuid,
    /// Of which account.
    pub account_id: String,
    /// The command.
    pub kind: CommandKind,
    /// Whose mowers.
    pub target: Target,
    /// When.
    pub issued_at: Timestamp,
    /// When the last of its commands ends.
    pub expires_at: Timestamp,
}

impl Target {
    /// The same for the roster.
    #[must_use]
    pub fn container(&self) -> Container<'_> {
        match self {
            Self::Account(account) => Container::Account(account),
            Self::Site(site) => Container::Site(*site),
            Self::Group(group) => Container::Group(*group),
        }
    }

    /// Its id in the registry.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Account(account) => account.clone(),
            Self::Site(id) | Self::Group(id) => id.to_string(),
        }
    }

    const fn kind(&self) -> &'static str {
        match self {
            Self::Account(_) => "account",
            Self::Site(_) => "site",
            Self::Group(_) => "group",
        }
    }

    fn read(kind: &str, id: &str) -> Option<Self> {
        match kind {
            "account" => Some(Self::Account(id.to_owned())),
            "site" => Uuid::parse_str(id).ok().map(Self::Site),
            "group" => Uuid::parse_str(id).ok().map(Self::Group),
            _ => None,
        }
    }
}

/// Writes one; whoever is there already stays as it is.
///
/// # Errors
/// [`RecordsError`].
pub async fn insert(connection: &mut AnyConnection, head: &Head) -> Result<(), RecordsError> {
    sqlx::query(
        "INSERT INTO bulks (id, account_id, kind, target_type, target_id, issued_ms, expires_ms)
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (id) DO NOTHING",
    )
    .bind(head.bulk_id.to_string())
    .bind(head.account_id.clone())
    .bind(head.kind.as_str())
    .bind(head.target.kind())
    .bind(head.target.id())
    .bind(head.issued_at.as_millisecond())
    .bind(head.expires_at.as_millisecond())
    .execute(&mut *connection)
    .await?;
    Ok(())
}

/// The bulk of this id.
///
/// # Errors
/// [`RecordsError`].
pub async fn find(records: &Records, id: Uuid) -> Result<Option<Head>, RecordsError> {
    let row = sqlx::query(
        "SELECT id, account_id, kind, target_type, target_id, issued_ms, expires_ms
         FROM bulks WHERE id = $1",
    )
    .bind(id.to_string())
    .fetch_optional(records.pool())
    .await?;
    let Some(row) = row else {
        return Ok(None);
    };
    let kind: String = row.try_get("kind")?;
    let target_type: String = row.try_get("target_type")?;
    let target_id: String = row.try_get("target_id")?;
    let corrupt = |what: &str| RecordsError::Corrupt(format!("bulk {id}: `{what}`"));
    Ok(Some(Head {
        bulk_id: uuid(&row, "id")?,
        account_id: row.try_get("account_id")?,
        kind: CommandKind::named(&kind).ok_or_else(|| corrupt(&kind))?,
        target: Target::read(&target_type, &target_id).ok_or_else(|| corrupt(&target_type))?,
        issued_at: time(row.try_get("issued_ms")?)?,
        expires_at: time(row.try_get("expires_ms")?)?,
    }))
}

//! Reads the rows of the hierarchy.

use std::collections::HashMap;

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use sqlx::any::AnyRow;
use sqlx::{AnyConnection, Row as _};
use uuid::Uuid;

use super::model::{Account, Group, Mower, Site};
use super::roster::{ConnectionKind, Reach};
use crate::records::RecordsError;

/// The columns of each table, once; what follows says which rows.
macro_rules! sites {
    ($rest:literal) => {
        concat!(
            "SELECT id, account_id, name, address, time_zone, latitude, longitude, quiet_hours,
             is_default, rev, created_ms FROM sites ",
            $rest
        )
    };
}
macro_rules! groups {
    ($rest:literal) => {
        concat!(
            "SELECT id, account_id, site_id, name, rev, created_ms FROM mower_groups ",
            $rest
        )
    };
}
macro_rules! mowers {
    ($rest:literal) => {
        concat!(
            "SELECT m.id, m.account_id, m.site_id, m.name, m.vendor, m.model, m.serial,
             m.connection_kind, m.connection_options, m.quarantined, m.hierarchy_rev, m.created_ms
             FROM mowers m ",
            $rest
        )
    };
}

/// Rows after an id, so many.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// Only what comes after this one.
    pub after: Option<Uuid>,
    /// At most so many.
    pub most: usize,
}

impl Span {
    /// Everything.
    pub const ALL: Self = Self {
        after: None,
        most: usize::MAX,
    };

    fn after(self) -> String {
        self.after.map(|id| id.to_string()).unwrap_or_default()
    }

    fn most(self) -> i64 {
        i64::try_from(self.most).unwrap_or(i64::MAX)
    }
}

/// An account.
///
/// # Errors
/// [`RecordsError`].
pub async fn account(
    records: &mut AnyConnection,
    id: &str,
) -> Result<Option<Account>, RecordsError> {
    let row = sqlx::query(
        "SELECT id, name, features, time_zone, suspended, hierarchy_rev, rev FROM accounts
         WHERE id = $1",
    )
    .bind(id)
    .fetch_optional(records)
    .await?;
    row.map(|row| {
        Ok(Account {
            id: row.try_get("id")?,
            name: row.try_get("name")?,
            features: parsed(&row, "features")?,
            time_zone: row.try_get("time_zone")?,
            suspended: yes(&row, "suspended")?,
            hierarchy_rev: unsigned(&row, "hierarchy_rev")?,
            rev: unsigned(&row, "rev")?,
        })
    })
    .transpose()
}

/// The ids of all accounts.
///
/// # Errors
/// [`RecordsError`].
pub async fn accounts(records: &mut AnyConnection) -> Result<Vec<String>, RecordsError> {
    let rows = sqlx::query("SELECT id FROM accounts ORDER BY id")
        .fetch_all(records)
        .await?;
    rows.iter().map(|row| Ok(row.try_get("id")?)).collect()
}

/// A site.
///
/// # Errors
/// [`RecordsError`].
pub async fn site(records: &mut AnyConnection, id: Uuid) -> Result<Option<Site>, RecordsError> {
    let row = sqlx::query(sites!("WHERE id = $1"))
        .bind(id.to_string())
        .fetch_optional(records)
        .await?;
    row.as_ref().map(read_site).transpose()
}

/// The default site of an account.
///
/// # Errors
/// [`RecordsError`].
pub async fn default_site(
    records: &mut AnyConnection,
    account: &str,
) -> Result<Option<Site>, RecordsError> {
    let row = sqlx::query(sites!("WHERE account_id = $1 AND is_default = 1"))
        .bind(account)
        .fetch_optional(records)
        .await?;
    row.as_ref().map(read_site).transpose()
}

/// The sites of an account, by id.
///
/// # Errors
/// [`RecordsError`].
pub async fn sites(
    records: &mut AnyConnection,
    account: &str,
    span: Span,
) -> Result<Vec<Site>, RecordsError> {
    let rows = sqlx::query(sites!(
        "WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3"
    ))
    .bind(account)
    .bind(span.after())
    .bind(span.most())
    .fetch_all(records)
    .await?;
    rows.iter().map(read_site).collect()
}

/// A group.
///
/// # Errors
/// [`RecordsError`].
pub async fn group(records: &mut AnyConnection, id: Uuid) -> Result<Option<Group>, RecordsError> {
    let row = sqlx::query(groups!("WHERE id = $1"))
        .bind(id.to_string())
        .fetch_optional(records)
        .await?;
    row.as_ref().map(read_group).transpose()
}

/// The groups of an account, by id.
///
/// # Errors
/// [`RecordsError`].
pub async fn groups(
    records: &mut AnyConnection,
    account: &str,
    span: Span,
) -> Result<Vec<Group>, RecordsError> {
    let rows = sqlx::query(groups!(
        "WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT $3"
    ))
    .bind(account)
    .bind(span.after())
    .bind(span.most())
    .fetch_all(records)
    .await?;
    rows.iter().map(read_group).collect()
}

/// The groups that lie in a site, by id.
///
/// # Errors
/// [`RecordsError`].
pub async fn groups_of_site(
    records: &mut AnyConnection,
    site: Uuid,
) -> Result<Vec<Group>, RecordsError> {
    let rows = sqlx::query(groups!("WHERE site_id = $1 ORDER BY id"))
        .bind(site.to_string())
        .fetch_all(records)
        .await?;
    rows.iter().map(read_group).collect()
}

/// A mower.
///
/// # Errors
/// [`RecordsError`].
pub async fn mower(records: &mut AnyConnection, id: Uuid) -> Result<Option<Mower>, RecordsError> {
    let row = sqlx::query(mowers!("WHERE m.id = $1"))
        .bind(id.to_string())
        .fetch_optional(&mut *records)
        .await?;
    match row {
        Some(row) => Ok(with_groups(records, vec![row]).await?.pop()),
        None => Ok(None),
    }
}

/// Whose mowers.
#[derive(Clone, Copy, Debug)]
pub enum Whose<'a> {
    /// Everybody's.
    All,
    /// Those of an account.
    Account(&'a str),
    /// Those of a site, in groups or not.
    Site(Uuid),
    /// Those of a group.
    Group(Uuid),
}

/// Mowers, by id.
///
/// # Errors
/// [`RecordsError`].
pub async fn mowers(
    records: &mut AnyConnection,
    whose: Whose<'_>,
    span: Span,
) -> Result<Vec<Mower>, RecordsError> {
    let text = match whose {
        Whose::All => mowers!("WHERE m.id > $1 ORDER BY m.id LIMIT $2"),
        Whose::Account(_) => {
            mowers!("WHERE m.id > $1 AND m.account_id = $3 ORDER BY m.id LIMIT $2")
        }
        Whose::Site(_) => mowers!("WHERE m.id > $1 AND m.site_id = $3 ORDER BY m.id LIMIT $2"),
        Whose::Group(_) => mowers!(
            "JOIN group_members g ON g.mower_id = m.id
             WHERE m.id > $1 AND g.group_id = $3 ORDER BY m.id LIMIT $2"
        ),
    };
    let query = sqlx::query(text).bind(span.after()).bind(span.most());
    let query = match whose {
        Whose::All => query,
        Whose::Account(account) => query.bind(account.to_owned()),
        Whose::Site(id) | Whose::Group(id) => query.bind(id.to_string()),
    };
    let rows = query.fetch_all(&mut *records).await?;
    with_groups(records, rows).await
}

/// Mowers from their rows, which come by id, with the groups they are in.
async fn with_groups(
    records: &mut AnyConnection,
    rows: Vec<AnyRow>,
) -> Result<Vec<Mower>, RecordsError> {
    let mut mowers = rows.iter().map(read_mower).collect::<Result<Vec<_>, _>>()?;
    let (Some(first), Some(last)) = (mowers.first(), mowers.last()) else {
        return Ok(mowers);
    };
    let pairs = sqlx::query(
        "SELECT mower_id, group_id FROM group_members WHERE mower_id >= $1 AND mower_id <= $2
         ORDER BY mower_id, group_id",
    )
    .bind(first.id.to_string())
    .bind(last.id.to_string())
    .fetch_all(records)
    .await?;
    let mut groups: HashMap<Uuid, Vec<Uuid>> = HashMap::new();
    for pair in &pairs {
        let mower = id(pair, "mower_id")?;
        groups.entry(mower).or_default().push(id(pair, "group_id")?);
    }
    for mower in &mut mowers {
        mower.group_ids = groups.remove(&mower.id).unwrap_or_default();
    }
    Ok(mowers)
}

fn read_site(row: &AnyRow) -> Result<Site, RecordsError> {
    Ok(Site {
        id: id(row, "id")?,
        account_id: row.try_get("account_id")?,
        name: row.try_get("name")?,
        address: row.try_get("address")?,
        time_zone: row.try_get("time_zone")?,
        latitude: row.try_get("latitude")?,
        longitude: row.try_get("longitude")?,
        quiet_hours: parsed(row, "quiet_hours")?,
        is_default: yes(row, "is_default")?,
        rev: unsigned(row, "rev")?,
        created_at: timestamp(row, "created_ms")?,
    })
}

fn read_group(row: &AnyRow) -> Result<Group, RecordsError> {
    let site: Option<String> = row.try_get("site_id")?;
    Ok(Group {
        id: id(row, "id")?,
        account_id: row.try_get("account_id")?,
        name: row.try_get("name")?,
        site_id: site
            .map(|text| Uuid::try_parse(&text).map_err(|_| corrupt("site_id")))
            .transpose()?,
        rev: unsigned(row, "rev")?,
        created_at: timestamp(row, "created_ms")?,
    })
}

fn read_mower(row: &AnyRow) -> Result<Mower, RecordsError> {
    let kind: String = row.try_get("connection_kind")?;
    Ok(Mower {
        id: id(row, "id")?,
        account_id: row.try_get("account_id")?,
        name: row.try_get("name")?,
        vendor: row.try_get("vendor")?,
        model: row.try_get("model")?,
        serial: row.try_get("serial")?,
        connection: Reach {
            kind: ConnectionKind::named(&kind).ok_or_else(|| corrupt("connection_kind"))?,
            options: parsed(row, "connection_options")?,
        },
        site_id: id(row, "site_id")?,
        group_ids: Vec::new(),
        quarantined: yes(row, "quarantined")?,
        hierarchy_rev: unsigned(row, "hierarchy_rev")?,
        created_at: timestamp(row, "created_ms")?,
    })
}

fn corrupt(column: &str) -> RecordsError {
    RecordsError::Corrupt(format!("`{column}` is not what was written"))
}

pub(super) fn id(row: &AnyRow, column: &str) -> Result<Uuid, RecordsError> {
    let text: String = row.try_get(column)?;
    Uuid::try_parse(&text).map_err(|_| corrupt(column))
}

pub(super) fn unsigned(row: &AnyRow, column: &str) -> Result<u64, RecordsError> {
    let value: i64 = row.try_get(column)?;
    u64::try_from(value).map_err(|_| corrupt(column))
}

fn yes(row: &AnyRow, column: &str) -> Result<bool, RecordsError> {
    let value: i64 = row.try_get(column)?;
    Ok(value != 0)
}

fn timestamp(row: &AnyRow, column: &str) -> Result<Timestamp, RecordsError> {
    let value: i64 = row.try_get(column)?;
    Timestamp::from_millisecond(value).map_err(|_| corrupt(column))
}

pub(super) fn parsed<T: DeserializeOwned>(row: &AnyRow, column: &str) -> Result<T, RecordsError> {
    let text: String = row.try_get(column)?;
    serde_json::from_str(&text).map_err(|_| corrupt(column))
}

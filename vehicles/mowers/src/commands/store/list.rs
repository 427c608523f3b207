//! Lists of commands, newest first.

use jiff::Timestamp;
use sqlx::AssertSqlSafe;
use uuid::Uuid;

use super::{COLUMNS, row};
use crate::commands::record::Record;
use crate::contract::Status;
use crate::records::{Records, RecordsError};

/// Which commands a list shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Of this mower only.
    pub mower: Option<Uuid>,
    /// Of this bulk only.
    pub bulk: Option<Uuid>,
    /// In this status only.
    pub status: Option<Status>,
    /// Issued at or after.
    pub since: Option<Timestamp>,
    /// After this place in the list.
    pub after: Option<Place>,
    /// Of which mowers at all.
    pub mowers: Mowers,
}

/// The mowers a caller may see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mowers {
    /// All of the account.
    #[default]
    All,
    /// These.
    These(Vec<Uuid>),
}

/// A place in a list: newest first, and by id in the same instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Milliseconds since the epoch.
    pub issued_ms: i64,
    /// The command.
    pub id: Uuid,
}

/// A value of a condition.
enum Bound {
    Text(String),
    Number(i64),
}

/// The conditions of a statement and their values.
struct Conditions {
    sql: String,
    bound: Vec<Bound>,
}

impl Conditions {
    /// Adds one; `{}` stands for its value.
    fn add(&mut self, condition: &str, value: Bound) {
        self.bound.push(value);
        let place = format!("${}", self.bound.len());
        self.sql.push_str(&condition.replace("{}", &place));
    }

    /// Adds that a column holds one of these ids.
    fn any_of(&mut self, column: &str, ids: &[Uuid]) {
        let mut before = format!(" AND {column} IN (");
        for id in ids {
            self.add(&format!("{before}{{}}"), Bound::Text(id.to_string()));
            ", ".clone_into(&mut before);
        }
        self.sql.push(')');
    }
}

/// The next commands of an account, newest first.
///
/// # Errors
/// [`RecordsError`].
pub async fn list(
    records: &Records,
    account: &str,
    filter: &Filter,
    limit: usize,
) -> Result<Vec<Record>, RecordsError> {
    let mut conditions = Conditions {
        sql: format!("SELECT {COLUMNS} FROM commands"),
        bound: Vec::new(),
    };
    conditions.add(" WHERE account_id = {}", Bound::Text(account.to_owned()));
    if let Some(mower) = filter.mower {
        conditions.add(" AND mower_id = {}", Bound::Text(mower.to_string()));
    }
    if let Mowers::These(mowers) = &filter.mowers {
        if mowers.is_empty() {
            return Ok(Vec::new());
        }
        conditions.any_of("mower_id", mowers);
    }
    if let Some(bulk) = filter.bulk {
        conditions.add(" AND bulk_id = {}", Bound::Text(bulk.to_string()));
    }
    if let Some(status) = filter.status {
        conditions.add(" AND status = {}", Bound::Text(status.as_str().to_owned()));
    }
    if let Some(since) = filter.since {
        conditions.add(
            " AND issued_ms >= {}",
            Bound::Number(since.as_millisecond()),
        );
    }
    if let Some(place) = filter.after {
        conditions.add(" AND (issued_ms < {}", Bound::Number(place.issued_ms));
        conditions.add(" OR (issued_ms = {}", Bound::Number(place.issued_ms));
        conditions.add(" AND id < {}))", Bound::Text(place.id.to_string()));
    }
    let limit = row::signed(u64::try_from(limit).unwrap_or(u64::MAX));
    conditions.add(
        " ORDER BY issued_ms DESC, id DESC LIMIT {}",
        Bound::Number(limit),
    );
    let mut query = sqlx::query(AssertSqlSafe(conditions.sql));
    for value in conditions.bound {
        query = match value {
            Bound::Text(text) => query.bind(text),
            Bound::Number(number) => query.bind(number),
        };
    }
    let found = query.fetch_all(records.pool()).await?;
    found.iter().map(row::read).collect()
}

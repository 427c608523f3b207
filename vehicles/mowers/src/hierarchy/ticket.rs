//! The rows of a change: its announcement, the lock of its account, and the revision that it
//! stamps on what it touched.

use jiff::Timestamp;
use sqlx::{AnyConnection, Row as _};
use uuid::Uuid;

use super::model::Node;
use crate::records::RecordsError;
use crate::service::Fleet;

/// The announcement of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) id: Uuid,
    pub(super) account: String,
    pub(super) created: Vec<Node>,
}

/// Announces a change.
pub(super) async fn announce(
    fleet: &Fleet,
    ticket: &Ticket,
    now: Timestamp,
) -> Result<(), RecordsError> {
    let created = ticket.created.iter().map(|node| (node.word(), node.id()));
    let created: Vec<(&str, String)> = created.collect();
    let created = serde_json::to_string(&created)
        .map_err(|error| RecordsError::Corrupt(error.to_string()))?;
    sqlx::query("INSERT INTO changes (id, account_id, created, begun_ms) VALUES ($1, $2, $3, $4)")
        .bind(ticket.id.to_string())
        .bind(ticket.account.as_str())
        .bind(created)
        .bind(now.as_millisecond())
        .execute(fleet.records.pool())
        .await?;
    Ok(())
}

/// Nothing was told to the gateway: the announcement is void. One that stays is put right like a
/// crash, which changes nothing.
pub(super) async fn withdraw(fleet: &Fleet, ticket: &Ticket) {
    let deleted = sqlx::query("DELETE FROM changes WHERE id = $1")
        .bind(ticket.id.to_string())
        .execute(fleet.records.pool())
        .await;
    if let Err(error) = deleted {
        tracing::warn!("an announcement could not be withdrawn: {error}");
    }
}

/// Takes the announcement of a change away, under the lock; whether it was there.
pub(super) async fn take_ticket(
    records: &mut AnyConnection,
    id: Uuid,
) -> Result<bool, RecordsError> {
    let deleted = sqlx::query("DELETE FROM changes WHERE id = $1")
        .bind(id.to_string())
        .execute(records)
        .await?;
    Ok(deleted.rows_affected() == 1)
}

/// Takes the lock of an account by raising its revision; the new one, or none without an account.
pub(super) async fn lock(
    records: &mut AnyConnection,
    account: &str,
) -> Result<Option<u64>, RecordsError> {
    sqlx::query("UPDATE accounts SET hierarchy_rev = hierarchy_rev + 1 WHERE id = $1")
        .bind(account)
        .execute(&mut *records)
        .await?;
    let row = sqlx::query("SELECT hierarchy_rev FROM accounts WHERE id = $1")
        .bind(account)
        .fetch_optional(records)
        .await?;
    row.map(|row| {
        let value: i64 = row.try_get("hierarchy_rev")?;
        u64::try_from(value).map_err(|_| RecordsError::Corrupt("a negative revision".to_owned()))
    })
    .transpose()
}

/// Raises the revision of an account, under the lock.
pub(super) async fn raise(
    records: &mut AnyConnection,
    account: &str,
    revision: u64,
) -> Result<(), RecordsError> {
    sqlx::query("UPDATE accounts SET hierarchy_rev = $1 WHERE id = $2")
        .bind(signed(revision))
        .bind(account)
        .execute(records)
        .await?;
    Ok(())
}

/// Gives a node its new revision; one that is gone is noted as removed.
pub(super) async fn stamp(
    records: &mut AnyConnection,
    account: &str,
    node: &Node,
    revision: u64,
    now: Timestamp,
) -> Result<(), RecordsError> {
    let text = match node {
        Node::Account(_) => "UPDATE accounts SET rev = $1, changed_ms = $2 WHERE id = $3",
        Node::Site(_) => "UPDATE sites SET rev = $1, changed_ms = $2 WHERE id = $3",
        Node::Group(_) => "UPDATE mower_groups SET rev = $1, changed_ms = $2 WHERE id = $3",
        Node::Mower(_) => "UPDATE mowers SET hierarchy_rev = $1, changed_ms = $2 WHERE id = $3",
    };
    let stamped = sqlx::query(text)
        .bind(signed(revision))
        .bind(now.as_millisecond())
        .bind(node.id())
        .execute(&mut *records)
        .await?;
    if stamped.rows_affected() == 1 {
        return Ok(());
    }
    sqlx::query(
        "INSERT INTO removed (id, kind, account_id, rev, changed_ms) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (id) DO UPDATE SET rev = excluded.rev, changed_ms = excluded.changed_ms",
    )
    .bind(node.id())
    .bind(node.word())
    .bind(account)
    .bind(signed(revision))
    .bind(now.as_millisecond())
    .execute(records)
    .await?;
    Ok(())
}

fn signed(revision: u64) -> i64 {
    i64::try_from(revision).unwrap_or(i64::MAX)
}

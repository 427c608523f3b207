//! Puts right what the gateway knows, from the rows: after a change that broke off, and whenever
//! the registry may have lost its content.

use jiff::Timestamp;
use sqlx::{AnyConnection, Row as _};
use thiserror::Error;
use uuid::Uuid;

use super::feed::feed;
use super::model::Node;
use super::ticket::{Ticket, lock, raise, stamp, take_ticket};
use super::{events, objects, rows};
use crate::gateway_link::{LinkError, Object};
use crate::records::RecordsError;
use crate::service::Fleet;

/// How often a repair goes on from a later revision that the registry knows.
const CATCH_UPS: usize = 3;

/// What became of a change whose end nobody saw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It was committed: nothing to repair.
    WasCommitted,
    /// It never will be; the gateway knows what the rows say.
    Repaired,
}

/// Why something is not put right yet. The next reconciliation tries again.
#[derive(Debug, Error)]
pub(super) enum RepairError {
    #[error(transparent)]
    Records(#[from] RecordsError),
    #[error(transparent)]
    Gateway(#[from] LinkError),
}

impl From<sqlx::Error> for RepairError {
    fn from(error: sqlx::Error) -> Self {
        Self::Records(error.into())
    }
}

/// Settles a change whose end nobody saw. `suspects` are the nodes it may have told of; without
/// them, all of its account.
///
/// INVARIANT: under the lock of the account, an announcement that is there belongs to a change that
/// is not committed, and taking it away keeps that change from ever going on.
pub(super) async fn settle(
    fleet: &Fleet,
    ticket: &Ticket,
    suspects: Option<&[Node]>,
) -> Result<Outcome, RepairError> {
    let mut records = fleet.records.begin().await?;
    let revision = lock(&mut records, &ticket.account).await?;
    if !take_ticket(&mut records, ticket.id).await? {
        return Ok(Outcome::WasCommitted);
    }
    let nodes = match suspects {
        Some(nodes) => nodes.to_vec(),
        None => {
            let known = objects::of_whole_account(&mut records, &ticket.account).await?;
            let known = known.into_iter().map(|(node, _)| node);
            let mut nodes: Vec<Node> = known.collect();
            let new = ticket.created.iter();
            nodes.extend(
                new.filter(|node| !nodes.contains(node))
                    .cloned()
                    .collect::<Vec<_>>(),
            );
            nodes
        }
    };
    let now = fleet.now();
    let revised = agree(fleet, &mut records, &ticket.account, revision, &nodes, now).await?;
    records.commit().await?;
    if revised {
        fleet.outbox.wake();
    }
    Ok(Outcome::Repaired)
}

/// Makes the gateway know all of an account as the rows have it; whether rows had to be raised
/// above what the registry knew.
pub(super) async fn whole_account(fleet: &Fleet, account: &str) -> Result<bool, RepairError> {
    let mut connection = fleet.records.pool().acquire().await?;
    let known = objects::of_whole_account(&mut connection, account).await?;
    drop(connection);
    let told: Vec<Object> = known.iter().map(|(_, object)| object.clone()).collect();
    match feed(&fleet.gateway, &told).await {
        Ok(()) => return Ok(false),
        Err(LinkError::Stale { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    // Somebody changed something meanwhile, or the registry is ahead of the rows: look again
    // under the lock.
    let mut records = fleet.records.begin().await?;
    let revision = lock(&mut records, account).await?;
    let nodes: Vec<Node> = known.into_iter().map(|(node, _)| node).collect();
    let revised = agree(fleet, &mut records, account, revision, &nodes, fleet.now()).await?;
    if revised {
        records.commit().await?;
        fleet.outbox.wake();
    }
    Ok(revised)
}

/// Tells the gateway what the rows say of these nodes, and raises those rows that the registry is
/// ahead of. Under the lock of the account, where there is one.
async fn agree(
    fleet: &Fleet,
    records: &mut AnyConnection,
    account: &str,
    revision: Option<u64>,
    nodes: &[Node],
    now: Timestamp,
) -> Result<bool, RepairError> {
    let locked = revision.is_some();
    let mut revision = revision.unwrap_or_default();
    let mut raised: Vec<Node> = Vec::new();
    for node in nodes {
        for attempt in 0..=CATCH_UPS {
            let object = objects::object(records, node, revision).await?;
            match fleet.gateway.feed(&object).await {
                Ok(_) => break,
                Err(LinkError::Stale { current }) if attempt < CATCH_UPS => {
                    revision = revision.max(current).saturating_add(1);
                    if locked {
                        raise(records, account, revision).await?;
                        stamp(records, account, node, revision, now).await?;
                    }
                    if !raised.contains(node) {
                        raised.push(node.clone());
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    for node in &raised {
        let Node::Mower(id) = node else { continue };
        let mower = rows::mower(records, *id).await?;
        let member = mower.map(|mower| mower.member());
        let Some(member) = member else { continue };
        let event = events::of_mower(
            *id,
            account,
            member.hierarchy_rev,
            Some(&member),
            false,
            now,
        );
        events::note(records, &event, now).await?;
    }
    Ok(!raised.is_empty())
}

/// The changes that were announced before `until` and are not committed.
pub(super) async fn announced(
    fleet: &Fleet,
    until: Timestamp,
) -> Result<Vec<Ticket>, RecordsError> {
    let rows = sqlx::query(
        "SELECT id, account_id, created FROM changes WHERE begun_ms <= $1 ORDER BY begun_ms, id",
    )
    .bind(until.as_millisecond())
    .fetch_all(fleet.records.pool())
    .await?;
    let tickets = rows.iter().map(|row| {
        let id: String = row.try_get("id")?;
        let created: Vec<(String, String)> = rows::parsed(row, "created")?;
        let created = created.iter().filter_map(|(word, id)| Node::read(word, id));
        Ok(Ticket {
            id: Uuid::try_parse(&id)
                .map_err(|_| RecordsError::Corrupt(format!("change `{id}`")))?,
            account: row.try_get("account_id")?,
            created: created.collect(),
        })
    });
    tickets.collect()
}

//! One change of the hierarchy: announced, written, told to the gateway, committed, in this order.
//!
//! The row of the account is the lock: changes of one account come one after the other, on both
//! databases. The announcement is a row that the change itself deletes, so it is there exactly as
//! long as the change is not committed; whoever finds it under the lock knows that the change will
//! never be, and puts right what the gateway may have heard of it (see [`super::repair`]).

use std::sync::Arc;

use futures_util::future::join_all;
use jiff::Timestamp;
use sqlx::{Any, AnyConnection, Row as _, Transaction};
use uuid::Uuid;

use super::model::{Node, SCOPE};
use super::reply::Reply;
use super::roster::Member;
use super::{events, objects, repair, rows};
use crate::crash::CrashPoint;
use crate::gateway_link::{GatewayLink, LinkError, Object};
use crate::operations::{self, Answer, Effect};
use crate::records::RecordsError;
use crate::service::Fleet;
use crate::service::problem::Problem;
use crate::service::settle::repeated;

/// How often a change goes on from a later revision that the registry knows.
const CATCH_UPS: usize = 3;

/// How many mowers are told to the gateway at once.
const AT_ONCE: usize = 16;

/// Which change is asked for.
#[derive(Clone, Debug)]
pub(super) struct Ask {
    /// The operation and the name of its row; none for what the service does by itself.
    pub(super) operation: Option<(Uuid, &'static str)>,
    /// The account that changes.
    pub(super) account: String,
    /// What the change may create, with ids made beforehand.
    pub(super) created: Vec<Node>,
    /// Whether an account that nobody told of is made, with a plan that includes nothing.
    pub(super) make_account: bool,
}

/// The announcement of a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ticket {
    pub(super) id: Uuid,
    pub(super) account: String,
    pub(super) created: Vec<Node>,
}

/// A change under way. It holds the lock of its account.
pub(super) struct Change {
    fleet: Arc<Fleet>,
    ticket: Ticket,
    operation: Option<(Uuid, &'static str)>,
    records: Transaction<'static, Any>,
    revision: u64,
    touched: Vec<Node>,
    now: Timestamp,
}

/// What an attempt to begin came to.
pub(super) enum Begun {
    /// The change is under way; it must be concluded.
    Fresh(Box<Change>),
    /// It was made before, and answered like this.
    Repeated(Answer),
}

impl Change {
    /// Announces a change and takes the lock of its account.
    ///
    /// # Errors
    /// A [`Problem`]; nothing was changed. [`Problem::NotFound`] when there is no such account.
    pub(super) async fn begin(fleet: &Arc<Fleet>, ask: Ask) -> Result<Begun, Problem> {
        let ticket = Ticket {
            id: Uuid::now_v7(),
            account: ask.account,
            created: ask.created,
        };
        let now = fleet.now();
        announce(fleet, &ticket, now).await?;
        fleet.crash.reached(CrashPoint::ChangeAnnounced).await;
        let begun = Self::open(fleet, &ticket, ask.operation, ask.make_account, now).await;
        match begun {
            Ok(Begun::Fresh(change)) => Ok(Begun::Fresh(change)),
            other => {
                withdraw(fleet, &ticket).await;
                other
            }
        }
    }

    async fn open(
        fleet: &Arc<Fleet>,
        ticket: &Ticket,
        operation: Option<(Uuid, &'static str)>,
        make_account: bool,
        now: Timestamp,
    ) -> Result<Begun, Problem> {
        let mut records = fleet.records.begin().await?;
        let mut touched = Vec::new();
        let mut revision = lock(&mut records, &ticket.account).await?;
        if revision.is_none() && make_account {
            if super::accounts::insert_unknown(&mut records, &ticket.account, now).await? {
                touched.push(Node::Account(ticket.account.clone()));
            }
            revision = lock(&mut records, &ticket.account).await?;
        }
        let revision = revision.ok_or(Problem::NotFound)?;
        if !take_ticket(&mut records, ticket.id).await? {
            // Somebody took this change for one that broke off.
            return Err(Problem::RecordsUnavailable);
        }
        if let Some((id, kind)) = operation {
            let begun = operations::begin(&mut records, id, kind, now).await?;
            if let Some(answer) = repeated(begun, kind)? {
                return Ok(Begun::Repeated(answer));
            }
        }
        Ok(Begun::Fresh(Box::new(Self {
            fleet: Arc::clone(fleet),
            ticket: ticket.clone(),
            operation,
            records,
            revision,
            touched,
            now,
        })))
    }

    /// The rows, to be read and written.
    pub(super) fn records(&mut self) -> &mut AnyConnection {
        &mut self.records
    }

    /// The account that changes.
    #[must_use]
    pub(super) fn account(&self) -> &str {
        &self.ticket.account
    }

    /// When the change is made.
    #[must_use]
    pub(super) fn now(&self) -> Timestamp {
        self.now
    }

    /// The quotas.
    #[must_use]
    pub(super) fn limits(&self) -> crate::service::settings::Limits {
        self.fleet.settings.limits
    }

    /// This node is another one now, or is new, or gone: the gateway must hear of it. What holds
    /// others is named before them.
    pub(super) fn touch(&mut self, node: Node) {
        if !self.touched.contains(&node) {
            self.touched.push(node);
        }
    }

    /// Ends the change: makes it, or withdraws it because of a problem.
    ///
    /// # Errors
    /// The [`Problem`], nothing half applied. With [`Problem::CommitUnclear`] it was made wholly or
    /// not at all.
    pub(super) async fn conclude(self, outcome: Result<Reply, Problem>) -> Result<Answer, Problem> {
        let (fleet, ticket) = (Arc::clone(&self.fleet), self.ticket.clone());
        match outcome {
            Ok(reply) => self.make(reply).await,
            Err(problem) => {
                // Rolled back first: the announcement stands again, and is withdrawn.
                if let Err(error) = self.records.rollback().await {
                    tracing::warn!("a change could not be rolled back in order: {error}");
                }
                withdraw(&fleet, &ticket).await;
                Err(problem)
            }
        }
    }

    async fn make(mut self, reply: Reply) -> Result<Answer, Problem> {
        let fleet = Arc::clone(&self.fleet);
        fleet.crash.reached(CrashPoint::ChangeWritten).await;
        let told = self.tell(&reply).await;
        let (ticket, touched) = (self.ticket, self.touched);
        let (answer, mowers) = match told {
            Ok(told) => told,
            Err((problem, heard)) => {
                if let Err(error) = self.records.rollback().await {
                    tracing::warn!("a change could not be rolled back in order: {error}");
                }
                match heard {
                    true => undo(&fleet, &ticket, &touched).await,
                    false => withdraw(&fleet, &ticket).await,
                }
                return Err(problem);
            }
        };
        fleet.crash.reached(CrashPoint::ChangeFed).await;
        if let Err(error) = self.records.commit().await {
            tracing::warn!("a commit broke off: {error}");
            match repair::settle(&fleet, &ticket, Some(&touched)).await {
                Ok(repair::Outcome::WasCommitted) => {}
                Ok(repair::Outcome::Repaired) => return Err(Problem::RecordsUnavailable),
                Err(error) => {
                    tracing::warn!("whether it was committed is not known yet: {error}");
                    return Err(Problem::CommitUnclear);
                }
            }
        }
        fleet.crash.reached(CrashPoint::ChangeCommitted).await;
        for (id, member) in mowers {
            match member {
                Some(member) => fleet.roster.put(member),
                None => fleet.roster.remove(id, self.revision),
            }
        }
        fleet.outbox.wake();
        Ok(answer)
    }

    /// Stamps the rows with the revision, tells the gateway, and notes the answer and the events.
    /// On failure also whether the gateway may have heard of it.
    async fn tell(
        &mut self,
        reply: &Reply,
    ) -> Result<(Answer, Vec<(Uuid, Option<Member>)>), (Problem, bool)> {
        let after = |error: RecordsError| (Problem::from(error), true);
        for attempt in 0..=CATCH_UPS {
            let told = self
                .stamped()
                .await
                .map_err(|error| (error.into(), attempt > 0))?;
            match feed(&self.fleet.gateway, &told).await {
                Ok(()) => break,
                Err(LinkError::Stale { current }) if attempt < CATCH_UPS => {
                    tracing::warn!(
                        current,
                        "the registry is ahead of the records; going on above"
                    );
                    self.raise(current).await.map_err(after)?;
                }
                Err(error) => return Err((Problem::RegistryUnavailable(error.to_string()), true)),
            }
        }
        let mut mowers = Vec::new();
        for node in &self.touched {
            let Node::Mower(id) = node else { continue };
            let mower = rows::mower(&mut self.records, *id).await.map_err(after)?;
            let member = mower.map(|mower| mower.member());
            let event = events::of_mower(
                *id,
                &self.ticket.account,
                self.revision,
                member.as_ref(),
                self.ticket.created.contains(node),
                self.now,
            );
            events::note(&mut self.records, &event, self.now)
                .await
                .map_err(after)?;
            mowers.push((*id, member));
        }
        let answer = reply
            .answer(&mut self.records)
            .await
            .map_err(|problem| (problem, true))?;
        if let Some((id, _)) = self.operation {
            operations::finish(&mut *self.records, id, Effect::Done, &answer, self.now)
                .await
                .map_err(after)?;
        }
        Ok((answer, mowers))
    }

    async fn stamped(&mut self) -> Result<Vec<Object>, RecordsError> {
        let mut told = Vec::with_capacity(self.touched.len());
        for node in &self.touched {
            let account = &self.ticket.account;
            stamp(&mut self.records, account, node, self.revision, self.now).await?;
            told.push(objects::object(&mut self.records, node, self.revision).await?);
        }
        Ok(told)
    }

    async fn raise(&mut self, above: u64) -> Result<(), RecordsError> {
        self.revision = self.revision.max(above).saturating_add(1);
        raise(&mut self.records, &self.ticket.account, self.revision).await
    }
}

/// A change that the gateway may have heard of is not made: what the gateway knows is put right
/// now, or, where that fails, by the next reconciliation.
async fn undo(fleet: &Fleet, ticket: &Ticket, touched: &[Node]) {
    if let Err(error) = repair::settle(fleet, ticket, Some(touched)).await {
        tracing::warn!(
            account = ticket.account,
            "a change that was rolled back is not yet undone at the gateway: {error}"
        );
    }
}

async fn announce(fleet: &Fleet, ticket: &Ticket, now: Timestamp) -> Result<(), RecordsError> {
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
async fn withdraw(fleet: &Fleet, ticket: &Ticket) {
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

/// Tells the gateway of these objects: first what holds others, then mowers, several at once. What
/// is gone comes last, and the other way round.
///
/// # Errors
/// The first failure. Of stale ones all are tried, and the highest revision is told.
pub(super) async fn feed<'a>(
    gateway: &GatewayLink,
    objects: &'a [Object],
) -> Result<(), LinkError> {
    let (there, gone): (Vec<&Object>, Vec<&Object>) =
        objects.iter().partition(|object| object.state.is_some());
    let apart = |some: Vec<&'a Object>| -> (Vec<&'a Object>, Vec<&'a Object>) {
        some.into_iter().partition(|object| object.kind == SCOPE)
    };
    let ((scopes, mowers), (left, gone)) = (apart(there), apart(gone));
    let mut highest = None;
    for object in scopes {
        highest = highest.max(stale(gateway.feed(object).await)?);
    }
    for some in mowers.chunks(AT_ONCE).chain(gone.chunks(AT_ONCE)) {
        let telling: Vec<_> = some.iter().map(|object| gateway.feed(object)).collect();
        for told in join_all(telling).await {
            highest = highest.max(stale(told)?);
        }
    }
    for object in left {
        highest = highest.max(stale(gateway.feed(object).await)?);
    }
    match highest {
        Some(current) => Err(LinkError::Stale { current }),
        None => Ok(()),
    }
}

/// The revision that a refusal names, where it is one of an old revision.
fn stale(told: Result<u64, LinkError>) -> Result<Option<u64>, LinkError> {
    match told {
        Ok(_) => Ok(None),
        Err(LinkError::Stale { current }) => Ok(Some(current)),
        Err(error) => Err(error),
    }
}

fn signed(revision: u64) -> i64 {
    i64::try_from(revision).unwrap_or(i64::MAX)
}

//! One change of the hierarchy: announced, written, told to the gateway, committed, in this order.
//!
//! The row of the account is the lock: changes of one account come one after the other, on both
//! databases. The announcement is a row that the change itself deletes, so it is there exactly as
//! long as the change is not committed; whoever finds it under the lock knows that the change will
//! never be, and puts right what the gateway may have heard of it (see [`super::repair`]).

use std::sync::Arc;

use jiff::Timestamp;
use sqlx::{Any, AnyConnection, Transaction};
use uuid::Uuid;

use super::feed::feed;
use super::model::Node;
use super::reply::Reply;
use super::roster::Member;
use super::ticket::{Ticket, announce, lock, raise, stamp, take_ticket, withdraw};
use super::{events, objects, repair, rows};
use crate::crash::CrashPoint;
use crate::gateway_link::{LinkError, Object};
use crate::operations::{self, Answer, Effect};
use crate::records::RecordsError;
use crate::service::Fleet;
use crate::service::problem::Problem;
use crate::service::settle::repeated;

/// How often a change goes on from a later revision that the registry knows.
const CATCH_UPS: usize = 3;

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

/// Why a change is not begun.
pub(super) enum Unbegun {
    /// It was made before, and answered like this.
    Repeated(Answer),
    /// It cannot be made now.
    Problem(Problem),
}

impl<E: Into<Problem>> From<E> for Unbegun {
    fn from(error: E) -> Self {
        Self::Problem(error.into())
    }
}

impl Change {
    /// Announces a change and takes the lock of its account; it must be concluded.
    ///
    /// # Errors
    /// [`Unbegun`]; nothing was changed. [`Problem::NotFound`] when there is no such account.
    pub(super) async fn begin(fleet: &Arc<Fleet>, ask: Ask) -> Result<Box<Self>, Unbegun> {
        let ticket = Ticket {
            id: Uuid::now_v7(),
            account: ask.account,
            created: ask.created,
        };
        let now = fleet.now();
        announce(fleet, &ticket, now).await?;
        fleet.crash.reached(CrashPoint::ChangeAnnounced).await;
        let begun = Self::open(fleet, &ticket, ask.operation, ask.make_account, now).await;
        if begun.is_err() {
            withdraw(fleet, &ticket).await;
        }
        begun
    }

    async fn open(
        fleet: &Arc<Fleet>,
        ticket: &Ticket,
        operation: Option<(Uuid, &'static str)>,
        make_account: bool,
        now: Timestamp,
    ) -> Result<Box<Self>, Unbegun> {
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
            return Err(Problem::RecordsUnavailable.into());
        }
        if let Some((id, kind)) = operation {
            let begun = operations::begin(&mut records, id, kind, now).await?;
            if let Some(answer) = repeated(begun, kind)? {
                return Err(Unbegun::Repeated(answer));
            }
        }
        Ok(Box::new(Self {
            fleet: Arc::clone(fleet),
            ticket: ticket.clone(),
            operation,
            records,
            revision,
            touched,
            now,
        }))
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
                // Which gateway and why is for the log: callers learn no addresses.
                Err(error) => {
                    tracing::warn!("the registry did not take a change: {error}");
                    return Err((Problem::RegistryUnavailable, true));
                }
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

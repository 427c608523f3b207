//! Every minute, and at the start: what broke off is put right, and what was lost is told again.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokio::time::MissedTickBehavior;

use super::model::Node;
use super::objects;
use super::repair::{self, RepairError};
use super::roster::Member;
use super::rows::{self, Span, Whose};
use crate::operations;
use crate::records::RecordsError;
use crate::service::Fleet;

/// Between two reconciliations.
const EVERY: Duration = Duration::from_secs(60);

/// Between two attempts to begin, while the records or the gateway are not there.
const AGAIN: Duration = Duration::from_secs(1);

/// A change that was announced so long ago has broken off, or will find that it is taken for it.
const BROKEN_OFF: SignedDuration = SignedDuration::from_secs(10);

/// How long operations are remembered. A grant lives two minutes and the gateway settles within
/// minutes; a day leaves room for a gateway that was down.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);

/// What the reconciliation knows of the registry from the last time.
#[derive(Debug, Default)]
pub struct Reconciler {
    /// The number of each account's own object in the registry's log. Another one for the same
    /// revision means that the registry has lost its content.
    sequences: HashMap<String, (u64, u64)>,
}

/// Reconciles for ever.
pub async fn run(fleet: Arc<Fleet>) {
    let mut reconciler = Reconciler::default();
    while let Err(error) = begin(&fleet, &mut reconciler).await {
        tracing::warn!("the gateway and the roster do not know the hierarchy yet: {error}");
        tokio::time::sleep(AGAIN).await;
    }
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    loop {
        ticks.tick().await;
        let until = fleet.now() - BROKEN_OFF;
        if let Err(error) = reconciler.pass(&fleet, until).await {
            tracing::warn!("the reconciliation did not end: {error}");
        }
        let forgotten = operations::forget(&fleet.records, fleet.now() - REMEMBERED).await;
        if let Err(error) = forgotten {
            tracing::warn!("ended operations are not forgotten: {error}");
        }
    }
}

async fn begin(fleet: &Fleet, reconciler: &mut Reconciler) -> Result<(), RepairError> {
    load_roster(fleet).await?;
    // Whatever this service announced in an earlier life has broken off; a change that another
    // replica is making finds that it was taken for it, and is asked for again.
    reconciler.pass(fleet, fleet.now()).await
}

impl Reconciler {
    /// One reconciliation: the roster is read anew, changes announced until `until` are settled,
    /// and accounts that the registry has lost are told again.
    ///
    /// # Errors
    /// The first failure; the next pass goes on.
    pub(super) async fn pass(
        &mut self,
        fleet: &Fleet,
        until: Timestamp,
    ) -> Result<(), RepairError> {
        load_roster(fleet).await?;
        for ticket in repair::announced(fleet, until).await? {
            let outcome = repair::settle(fleet, &ticket, None).await?;
            tracing::info!(
                account = ticket.account,
                ?outcome,
                "a change that broke off is settled"
            );
        }
        let mut records = fleet.records.pool().acquire().await?;
        let accounts = rows::accounts(&mut records).await?;
        drop(records);
        for account in accounts {
            self.look_after(fleet, &account).await?;
        }
        // What another replica left behind, and what a repair noted.
        fleet.outbox.wake();
        Ok(())
    }

    /// Tells the gateway of the account itself. When the registry does not count it as the repeat
    /// that it is, it has lost what it knew, and is told all.
    async fn look_after(&mut self, fleet: &Fleet, account: &str) -> Result<(), RepairError> {
        let mut records = fleet.records.pool().acquire().await?;
        let object = objects::object(&mut records, &Node::Account(account.to_owned()), 0).await?;
        drop(records);
        if object.state.is_none() {
            return Ok(());
        }
        let known = self.sequences.get(account);
        if let Ok(sequence) = fleet.gateway.feed(&object).await
            && known == Some(&(object.revision, sequence))
        {
            return Ok(());
        }
        let revised = repair::whole_account(fleet, account).await?;
        if revised {
            tracing::warn!(
                account,
                "the registry was ahead of the records; they are above it now"
            );
        }
        let mut records = fleet.records.pool().acquire().await?;
        let object = objects::object(&mut records, &Node::Account(account.to_owned()), 0).await?;
        drop(records);
        let sequence = fleet.gateway.feed(&object).await?;
        self.sequences
            .insert(account.to_owned(), (object.revision, sequence));
        Ok(())
    }
}

/// Reads the roster from the records.
///
/// # Errors
/// [`RecordsError`]; the roster stays as it is.
pub async fn load_roster(fleet: &Fleet) -> Result<(), RecordsError> {
    let mark = fleet.roster.mark();
    let mut records = fleet.records.pool().acquire().await?;
    let mowers = rows::mowers(&mut records, Whose::All, Span::ALL).await?;
    let members: Vec<Member> = mowers.iter().map(|mower| mower.member()).collect();
    fleet.roster.load(mark, members);
    Ok(())
}

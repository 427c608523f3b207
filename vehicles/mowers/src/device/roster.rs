//! The fleet service's side of the conversation: which mowers there are, and
//! who holds them.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use interlock_guard::Clock;
use uuid::Uuid;

use super::held::lock;
use super::leases::Leases;
use super::shared::answer;
use super::wire::{LeaseRequest, ListAnswer, ListRequest, MowerEntry};
use crate::bus::{Asked, Bus, BusError, subject};

/// Mowers on one page of the list.
const PAGE: usize = 200;

/// Where the mowers are written down.
#[async_trait]
pub trait Roster: Send + Sync {
    /// All mowers of all accounts, in any order; none when they cannot be read,
    /// which is answered with silence.
    async fn mowers(&self) -> Option<Vec<MowerEntry>>;

    /// Sets the calm epochs of one page, which [`Roster::mowers`] leaves at zero:
    /// only the records know them. Where they cannot be read they stay as they
    /// are, since a mower must be held to be stopped.
    async fn calmed(&self, page: &mut [MowerEntry]);
}

/// Answers `fleet.mowers.list` and `fleet.leases` until the bus is lost.
///
/// One process must do this for a bus: the table is in its memory. A second one
/// would give the same mowers, by the same rule, but not the same numbers.
///
/// # Errors
/// The bus is not there.
pub async fn serve(
    bus: Arc<dyn Bus>,
    roster: Arc<dyn Roster>,
    leases: Leases,
    clock: Arc<dyn Clock>,
) -> Result<(), BusError> {
    let mut lists = bus.listen(subject::MOWERS_LIST).await?;
    let mut asks = bus.listen(subject::LEASES).await?;
    let leases = Mutex::new(leases);
    loop {
        tokio::select! {
            asked = lists.next() => list(&*roster, asked?).await,
            asked = asks.next() => lease(&*roster, &leases, &*clock, asked?).await,
        }
    }
}

async fn list(roster: &dyn Roster, asked: Asked) {
    let Some(request) = read::<ListRequest>(&asked.payload) else {
        return;
    };
    let Some(mut mowers) = roster.mowers().await else {
        return;
    };
    mowers.sort_by_key(|entry| entry.mower_id);
    mowers.retain(|entry| request.after.is_none_or(|after| entry.mower_id > after));
    let more = mowers.len() > PAGE;
    mowers.truncate(PAGE);
    roster.calmed(&mut mowers).await;
    let next = mowers.last().map(|last| last.mower_id).filter(|_| more);
    answer(asked.reply, &ListAnswer { mowers, next }).await;
}

async fn lease(roster: &dyn Roster, leases: &Mutex<Leases>, clock: &dyn Clock, asked: Asked) {
    let Some(request) = read::<LeaseRequest>(&asked.payload) else {
        return;
    };
    let Some(mowers) = roster.mowers().await else {
        return;
    };
    let ids: Vec<Uuid> = mowers.iter().map(|entry| entry.mower_id).collect();
    let leased = lock(leases).answer(&request, &ids, clock.now());
    answer(asked.reply, &leased).await;
}

fn read<T: serde::de::DeserializeOwned>(payload: &Bytes) -> Option<T> {
    serde_json::from_slice(payload)
        .inspect_err(|cause| tracing::warn!(%cause, "a shard's request cannot be read"))
        .ok()
}

//! When each mower was stopped last: the stop epoch.
//!
//! The epoch of a stop is its time in milliseconds, or one more than the epoch
//! before where the clock did not advance. So it always rises, also over
//! replicas that have not heard of each other's stops yet, and one number says
//! both how far a fence is behind and which motion was asked too early.
//!
//! Memory comes first; the records follow, because a stop waits for no disk.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::records::{Records, RecordsError};

mod kept;

#[cfg(test)]
mod tests;

pub(super) use kept::RECORDED;

/// How long the records have for a new attempt after one that failed.
const AGAIN: Duration = Duration::from_millis(200);

/// The stop epochs of all mowers.
#[derive(Debug)]
pub struct StopEpochs {
    memory: Mutex<Memory>,
    raised: Notify,
    replica: String,
}

#[derive(Debug, Default)]
struct Memory {
    /// No epoch is lower: an earlier life that broke off may have stopped
    /// mowers without having recorded it. It is on record, since the device
    /// gateways hear of it: whoever comes later must not fall below it.
    floor: u64,
    epochs: HashMap<Uuid, u64>,
    unrecorded: HashSet<Uuid>,
}

impl StopEpochs {
    /// Goes on from what is on record, and notes that a life of `replica` begins.
    ///
    /// SAFETY-STOP: after a life that broke off every epoch is now or later, so
    /// that motion asked or previewed before is refused.
    ///
    /// # Errors
    /// [`RecordsError`].
    pub async fn open(
        records: &Records,
        replica: &str,
        now: Timestamp,
    ) -> Result<Self, RecordsError> {
        let kept = kept::begin(records, replica, now).await?;
        Ok(Self {
            memory: Mutex::new(Memory {
                floor: kept.floor,
                epochs: kept.epochs,
                unrecorded: HashSet::new(),
            }),
            raised: Notify::new(),
            replica: replica.to_owned(),
        })
    }

    /// The present epoch of a mower.
    #[must_use]
    pub fn current(&self, mower: Uuid) -> u64 {
        self.lock().current(mower)
    }

    /// Counts one stop of each of these mowers, and returns their new epochs in
    /// the same order. Waits for nothing.
    pub fn raise(&self, mowers: &[Uuid], now: Timestamp) -> Vec<u64> {
        let mut memory = self.lock();
        let mut raised = Vec::with_capacity(mowers.len());
        for &mower in mowers {
            let epoch = memory.current(mower).saturating_add(1).max(of(now));
            memory.epochs.insert(mower, epoch);
            memory.unrecorded.insert(mower);
            raised.push(epoch);
        }
        drop(memory);
        self.raised.notify_one();
        raised
    }

    /// Takes over what another replica says of a mower.
    pub fn learn(&self, mower: Uuid, epoch: u64) {
        let mut memory = self.lock();
        if epoch > memory.current(mower) {
            memory.epochs.insert(mower, epoch);
        }
    }

    /// Whether motion asked at `asked_at` was asked before the mower's last
    /// stop, or in the same instant.
    #[must_use]
    pub fn stopped_since(&self, mower: Uuid, asked_at: Timestamp) -> bool {
        of(asked_at) <= self.current(mower)
    }

    /// Writes down what rises, soon after it rose. Runs for ever.
    pub async fn keep(&self, records: &Records) {
        loop {
            self.raised.notified().await;
            while let Err(error) = self.record(records).await {
                tracing::warn!("stop epochs are not recorded yet: {error}");
                tokio::time::sleep(AGAIN).await;
            }
        }
    }

    /// Ends this life in order.
    ///
    /// # Errors
    /// [`RecordsError`]; then the next life takes this one for broken off.
    pub async fn close(&self, records: &Records) -> Result<(), RecordsError> {
        self.record(records).await?;
        kept::end(records, &self.replica).await
    }

    /// Writes down what is not on record yet.
    ///
    /// # Errors
    /// [`RecordsError`]; then it is still not on record.
    pub async fn record(&self, records: &Records) -> Result<(), RecordsError> {
        let mut open: Vec<(Uuid, u64)> = {
            let memory = self.lock();
            let unrecorded = memory.unrecorded.iter();
            unrecorded.map(|id| (*id, memory.current(*id))).collect()
        };
        // INVARIANT: rows are locked in the order of their ids, so that two replicas
        // that write down the same stop never wait for each other.
        open.sort_unstable();
        kept::raise(records, &open).await?;
        let mut memory = self.lock();
        for (mower, epoch) in open {
            if memory.current(mower) == epoch {
                memory.unrecorded.remove(&mower);
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    fn current(&self, mower: Uuid) -> u64 {
        let epoch = self.epochs.get(&mower).copied().unwrap_or_default();
        epoch.max(self.floor)
    }
}

/// The epoch of a stop at this time.
fn of(at: Timestamp) -> u64 {
    u64::try_from(at.as_millisecond()).unwrap_or_default()
}

//! Remembers which grants were used, each for exactly as long as it could be used again.

use std::collections::{BTreeMap, HashSet};

use thiserror::Error;
use uuid::Uuid;

#[cfg(test)]
mod tests;

/// The ids of used grants, bounded, forgotten only once expired.
#[derive(Debug)]
pub(crate) struct ReplayMemory {
    capacity: usize,
    seen: HashSet<Uuid>,
    /// Ids by the second after which they may be forgotten.
    by_expiry: BTreeMap<i64, Vec<Uuid>>,
    /// The latest second ever seen: a clock set back does not revive what was forgotten.
    latest: i64,
}

impl ReplayMemory {
    /// Room for `capacity` grants that have not expired.
    pub(crate) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            seen: HashSet::new(),
            by_expiry: BTreeMap::new(),
            latest: i64::MIN,
        }
    }

    /// Spends a grant that could be replayed until the end of second `until`, at second `now`.
    ///
    /// # Errors
    /// [`ReplayError`]. When there is no room the new grant is refused: forgetting an old one
    /// early would let it be replayed.
    pub(crate) fn spend(&mut self, jti: Uuid, until: i64, now: i64) -> Result<(), ReplayError> {
        self.latest = self.latest.max(now);
        self.forget_expired();
        if until < self.latest || self.seen.contains(&jti) {
            return Err(ReplayError::Replayed);
        }
        if self.seen.len() >= self.capacity {
            return Err(ReplayError::Full);
        }
        self.seen.insert(jti);
        self.by_expiry.entry(until).or_default().push(jti);
        Ok(())
    }

    fn forget_expired(&mut self) {
        while let Some(entry) = self.by_expiry.first_entry() {
            if *entry.key() >= self.latest {
                return;
            }
            for jti in entry.remove() {
                self.seen.remove(&jti);
            }
        }
    }
}

/// Why a grant cannot be spent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum ReplayError {
    /// It was spent before.
    #[error("the grant was used before")]
    Replayed,
    /// There is no room to remember it.
    #[error("the memory of used grants is full")]
    Full,
}

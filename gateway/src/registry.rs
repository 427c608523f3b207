//! The PIP: which objects exist and which scopes they lie in, in memory.
//!
//! Readers take no lock: a decision, a stop above all, never waits for a
//! writer. Objects stand in many small sorted shards, each replaced whole by
//! one pointer swap, so a change copies a few dozen entries and a lookup is a
//! binary search. Scopes (accounts, sites, groups) are objects too; where an
//! object lies is found by walking up.

mod attributes;
mod object;
mod quiet_hours;
mod resolve;
mod shards;
mod snapshot;
mod sync;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use interlock_surface::ResourceType;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};
use tokio::sync::watch;

pub use attributes::AttributeError;
pub use object::{Known, Object, Place};
pub use resolve::Resolved;
pub use snapshot::{SnapshotError, load, save};
pub use sync::{Follower, follow};

use crate::store::Heartbeat;
use attributes::Attributes;
use shards::Shards;

/// The object type whose objects are themselves scopes.
pub const SCOPE_TYPE: &str = "Scope";

/// Whether objects of this type come from services. The gateway itself and its
/// plans are known without.
pub fn is_fed(kind: ResourceType) -> bool {
    !matches!(kind, ResourceType::Gateway | ResourceType::Plan)
}

/// Checks the attributes of an object that is to be registered.
///
/// # Errors
/// [`AttributeError`] names the one that policies could not judge by.
pub fn check_attributes(kind: &str, attributes: &Map<String, Value>) -> Result<(), AttributeError> {
    Attributes::parse(kind, attributes).map(drop)
}

/// Objects, scopes and heartbeats in memory, with a generation.
pub struct Registry {
    objects: Shards,
    heartbeats: ArcSwap<HashMap<String, Heartbeat>>,
    generation: AtomicU64,
    /// Counts what was taken over, from wherever it came, and wakes who waits.
    changes: watch::Sender<u64>,
    /// Serializes writers only.
    writer: Mutex<()>,
}

impl Default for Registry {
    fn default() -> Self {
        Registry {
            objects: Shards::new(),
            heartbeats: ArcSwap::default(),
            generation: AtomicU64::new(0),
            changes: watch::Sender::default(),
            writer: Mutex::new(()),
        }
    }
}

impl Registry {
    /// What is known of an object, tombstones included.
    pub fn known(&self, kind: &str, id: &str) -> Option<Known> {
        self.objects.get(kind, id)
    }

    /// Waits until the object is known in this revision or a newer one, a
    /// tombstone included. For how long is up to the caller.
    pub async fn reaches(&self, kind: &str, id: &str, revision: u64) {
        let mut changes = self.changes.subscribe();
        loop {
            changes.mark_unchanged();
            let known = self.known(kind, id);
            if known.is_some_and(|object| object.revision >= revision) {
                return;
            }
            // Fails only once the registry is gone, and this borrows it.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// Takes a change over if its revision is newer than what is known, and
    /// answers whether it was.
    pub fn apply(&self, object: &Object) -> bool {
        let _writing = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.objects.apply(object) {
            return false;
        }
        self.changes.send_modify(|changes| *changes += 1);
        true
    }

    /// Records a service's sign of life.
    pub fn heard(&self, beat: Heartbeat) {
        let _writing = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        let mut beats = HashMap::clone(&self.heartbeats.load());
        let newer = beats
            .get(&beat.owner)
            .is_none_or(|known| known.at <= beat.at);
        if newer {
            beats.insert(beat.owner.clone(), beat);
            self.heartbeats.store(Arc::new(beats));
        }
    }

    /// The owners heard of and their last heartbeats.
    pub fn heartbeats(&self) -> Arc<HashMap<String, Heartbeat>> {
        self.heartbeats.load_full()
    }

    /// How long ago `owner` was last heard; `None` if never.
    pub fn age(&self, owner: &str, now: Timestamp) -> Option<SignedDuration> {
        let beats = self.heartbeats.load();
        beats.get(owner).map(|beat| now.duration_since(beat.at))
    }

    /// How many changes were taken over since the start: the snapshot on disk
    /// is old when this has moved.
    pub fn changes(&self) -> u64 {
        *self.changes.borrow()
    }

    /// The store's sequence number up to which this memory has followed.
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }

    /// Notes up to which change of the store this memory has followed.
    pub fn followed(&self, generation: u64) {
        self.generation.store(generation, Ordering::Release);
    }

    /// Every object, tombstones included, in no order.
    pub fn all(&self) -> Vec<Object> {
        self.objects.all()
    }

    /// The accounts of a service: its scopes with nothing above them.
    pub fn accounts(&self, owner: &str) -> Vec<String> {
        self.objects.accounts(owner)
    }

    /// Number of objects, tombstones included.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    #[cfg(test)]
    fn places(&self) -> usize {
        self.objects.places()
    }

    /// Whether nothing was ever registered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

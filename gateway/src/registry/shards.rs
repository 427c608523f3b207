//! The object table: sorted shards behind one atomic pointer each.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;

use super::SCOPE_TYPE;
use super::object::{Known, Object, Place};

/// At 100,000 objects a shard holds about two dozen.
const SHARDS: usize = 4096;

/// 32 bytes and the text of the id; everything else is shared.
#[derive(Clone)]
struct Entry {
    id: Box<str>,
    place: Arc<Place>,
    /// The lowest bit marks a tombstone; the rest is the revision.
    state: u64,
}

pub(super) struct Shards {
    shards: Box<[ArcSwap<Vec<Entry>>]>,
    hasher: RandomState,
    /// Places seen so far. Only ever touched by writers.
    places: Mutex<HashSet<Arc<Place>>>,
}

impl Shards {
    pub(super) fn new() -> Self {
        Shards {
            shards: (0..SHARDS).map(|_| ArcSwap::default()).collect(),
            hasher: RandomState::new(),
            places: Mutex::default(),
        }
    }

    pub(super) fn get(&self, kind: &str, id: &str) -> Option<Known> {
        let shard = self.shard(kind, id)?.load();
        let at = position(&shard, kind, id).ok()?;
        shard.get(at).map(Entry::known)
    }

    /// Takes `object` over if it is new or newer. The caller serializes calls.
    pub(super) fn apply(&self, object: &Object) -> bool {
        let Some(shard) = self.shard(&object.kind, &object.id) else {
            return false;
        };
        let mut entries = Vec::clone(&shard.load());
        match position(&entries, &object.kind, &object.id) {
            Ok(at) => match entries.get_mut(at) {
                Some(known) if known.revision() < object.revision => {
                    *known = self.entry(&inherited(object, known));
                }
                _ => return false,
            },
            Err(at) => entries.insert(at, self.entry(object)),
        }
        entries.shrink_to_fit();
        shard.store(Arc::new(entries));
        true
    }

    pub(super) fn all(&self) -> Vec<Object> {
        let shards = self.shards.iter().map(ArcSwap::load_full);
        shards
            .flat_map(|shard| shard.iter().map(Entry::object).collect::<Vec<_>>())
            .collect()
    }

    pub(super) fn accounts(&self, owner: &str) -> Vec<String> {
        let account = |entry: &Entry| {
            let place = &entry.place;
            let tops = place.kind == SCOPE_TYPE && place.parents.is_empty();
            (tops && place.owner == owner && !entry.deleted()).then(|| entry.id.to_string())
        };
        let shards = self.shards.iter().map(ArcSwap::load);
        shards
            .flat_map(|shard| shard.iter().filter_map(account).collect::<Vec<_>>())
            .collect()
    }

    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.load().len()).sum()
    }

    #[cfg(test)]
    pub(super) fn places(&self) -> usize {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        places.len()
    }

    fn shard(&self, kind: &str, id: &str) -> Option<&ArcSwap<Vec<Entry>>> {
        let hash = self.hasher.hash_one((kind, id));
        self.shards.get(hash as usize % SHARDS)
    }

    fn entry(&self, object: &Object) -> Entry {
        Entry {
            id: object.id.as_str().into(),
            place: self.place(object),
            state: object.revision << 1 | u64::from(object.deleted),
        }
    }

    fn place(&self, object: &Object) -> Arc<Place> {
        let place = Arc::new(Place::of(object));
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = places.get(&place) {
            return Arc::clone(known);
        }
        // Places that nobody is at any more are dropped before the set grows.
        if places.len() == places.capacity() {
            places.retain(|known| Arc::strong_count(known) > 1);
            let left = places.len();
            places.reserve(left);
        }
        places.insert(Arc::clone(&place));
        place
    }
}

impl Entry {
    fn revision(&self) -> u64 {
        self.state >> 1
    }

    fn deleted(&self) -> bool {
        self.state & 1 == 1
    }

    fn known(&self) -> Known {
        Known {
            place: Arc::clone(&self.place),
            revision: self.revision(),
            deleted: self.deleted(),
        }
    }

    fn object(&self) -> Object {
        Object {
            kind: self.place.kind.clone(),
            id: self.id.to_string(),
            owner: self.place.owner.clone(),
            revision: self.revision(),
            parents: self.place.parents.clone(),
            attributes: self.place.attributes.clone(),
            deleted: self.deleted(),
        }
    }
}

/// A change that does not name its owner is the known owner's: the log of the
/// store tells a deletion without it.
fn inherited(object: &Object, known: &Entry) -> Object {
    let mut object = object.clone();
    if object.owner.is_empty() {
        object.owner.clone_from(&known.place.owner);
    }
    object
}

fn position(entries: &[Entry], kind: &str, id: &str) -> Result<usize, usize> {
    entries.binary_search_by(|entry| (entry.place.kind.as_str(), &*entry.id).cmp(&(kind, id)))
}

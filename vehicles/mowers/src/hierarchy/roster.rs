//! Which mower is where, in memory, so that a stop finds its mowers while the records are down.
//!
//! Writers hold the lock for one insertion, never across anything that waits; what is read from
//! the records is made into a new index outside it. So a reader never waits for I/O.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, PoisonError, RwLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

#[cfg(test)]
mod tests;

/// Through what a mower is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionKind {
    /// The simulator of the shard that holds it.
    Simulated,
    /// The vendor's cloud.
    Cloud,
    /// A Bluetooth bridge on the site.
    BleBridge,
    /// The local network.
    Local,
}

impl ConnectionKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Simulated, Self::Cloud, Self::BleBridge, Self::Local];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Simulated => "simulated",
            Self::Cloud => "cloud",
            Self::BleBridge => "ble_bridge",
            Self::Local => "local",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// How a mower is reached; never with a secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reach {
    /// Through what.
    pub kind: ConnectionKind,
    /// What that way needs to know.
    #[serde(default)]
    pub options: Map<String, Value>,
}

/// One mower, as the roster, the events and the device gateways know it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Member {
    /// Which mower.
    pub mower_id: Uuid,
    /// Its account.
    pub account_id: String,
    /// Its site.
    pub site_id: Uuid,
    /// Its groups, in order.
    pub group_ids: Vec<Uuid>,
    /// Rises with every change of its place.
    pub hierarchy_rev: u64,
    /// Who made it.
    pub vendor: String,
    /// Which model.
    pub model: String,
    /// How it is reached.
    pub connection: Reach,
    /// Nothing but stops and sight.
    pub quarantined: bool,
}

/// The roster.
#[derive(Debug, Default)]
pub struct Roster(RwLock<Index>);

#[derive(Debug, Default)]
struct Index {
    loaded: bool,
    /// Counts changes, to tell what came in while the records were read.
    tick: u64,
    members: HashMap<Uuid, Entry>,
    accounts: HashMap<String, BTreeSet<Uuid>>,
    /// What is gone, so that a late word does not bring it back.
    removed: HashMap<Uuid, Removed>,
}

#[derive(Debug)]
struct Entry {
    tick: u64,
    member: Arc<Member>,
}

#[derive(Clone, Copy, Debug)]
struct Removed {
    tick: u64,
    revision: u64,
}

/// A moment in the life of the roster.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

/// Mowers to be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Container<'a> {
    /// All of an account.
    Account(&'a str),
    /// All of a site, in groups or not.
    Site(Uuid),
    /// All of a group.
    Group(Uuid),
}

impl Roster {
    /// One mower.
    #[must_use]
    pub fn find(&self, mower: Uuid) -> Option<Arc<Member>> {
        self.read(|index| index.find(mower))
    }

    /// The mowers of a container, by id; none for one that nobody knows.
    #[must_use]
    pub fn members(&self, of: Container<'_>) -> Vec<Arc<Member>> {
        let mut found = self.read(|index| match of {
            Container::Account(account) => {
                let ids = index.accounts.get(account).into_iter().flatten();
                ids.filter_map(|id| index.find(*id)).collect()
            }
            Container::Site(site) => index.of(|member| member.site_id == site),
            Container::Group(group) => index.of(|member| member.group_ids.contains(&group)),
        });
        found.sort_by_key(|member| member.mower_id);
        found
    }

    /// Every mower, by id.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<Member>> {
        let mut found = self.read(|index| index.of(|_| true));
        found.sort_by_key(|member| member.mower_id);
        found
    }

    /// Whether it was ever read from the records.
    #[must_use]
    pub fn is_loaded(&self) -> bool {
        self.read(|index| index.loaded)
    }

    /// Takes over a mower, unless something newer is known of it.
    pub fn put(&self, member: Member) {
        self.write(|index| index.put(Arc::new(member)));
    }

    /// Forgets a mower that was deleted at this revision.
    pub fn remove(&self, mower: Uuid, revision: u64) {
        self.write(|index| {
            index.tick += 1;
            let tick = index.tick;
            let known = index.removed.get(&mower).map(|known| known.revision);
            let revision = known.unwrap_or_default().max(revision);
            index.removed.insert(mower, Removed { tick, revision });
            let present = index.members.get(&mower);
            if present.is_some_and(|entry| entry.member.hierarchy_rev <= revision) {
                index.take(mower);
            }
        });
    }

    /// This moment: taken before the records are read for [`Roster::load`].
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark(self.read(|index| index.tick))
    }

    /// Takes over the whole of the records, as read after `mark`. What came in since the mark
    /// may be newer than the records that were read, so it stays where it is.
    pub fn load(&self, mark: Mark, members: Vec<Member>) {
        let mut fresh = Index {
            loaded: true,
            ..Index::default()
        };
        for member in members {
            fresh.put(Arc::new(member));
        }
        self.write(|index| {
            fresh.tick = fresh.tick.max(index.tick);
            for (id, gone) in &index.removed {
                if gone.tick > mark.0 {
                    fresh.take(*id);
                    fresh.removed.insert(*id, *gone);
                }
            }
            for entry in index.members.values() {
                if entry.tick > mark.0 {
                    fresh.put(Arc::clone(&entry.member));
                }
            }
            *index = fresh;
        });
    }

    fn read<T>(&self, look: impl FnOnce(&Index) -> T) -> T {
        // A panic elsewhere leaves the index readable: each change is one insertion.
        look(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, change: impl FnOnce(&mut Index)) {
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Index {
    fn find(&self, id: Uuid) -> Option<Arc<Member>> {
        self.members.get(&id).map(|entry| Arc::clone(&entry.member))
    }

    fn of(&self, wanted: impl Fn(&Member) -> bool) -> Vec<Arc<Member>> {
        let members = self.members.values().map(|entry| &entry.member);
        members.filter(|member| wanted(member)).cloned().collect()
    }

    fn put(&mut self, member: Arc<Member>) {
        let (id, revision) = (member.mower_id, member.hierarchy_rev);
        let known = self.members.get(&id);
        let gone = self.removed.get(&id);
        if known.is_some_and(|known| known.member.hierarchy_rev > revision)
            || gone.is_some_and(|gone| gone.revision >= revision)
        {
            return;
        }
        self.tick += 1;
        let tick = self.tick;
        self.accounts
            .entry(member.account_id.clone())
            .or_default()
            .insert(id);
        self.members.insert(id, Entry { tick, member });
    }

    fn take(&mut self, id: Uuid) {
        let Some(entry) = self.members.remove(&id) else {
            return;
        };
        if let Some(account) = self.accounts.get_mut(&entry.member.account_id) {
            account.remove(&id);
        }
    }
}

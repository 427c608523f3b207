//! Which shard holds which mower: the fleet service's side of the lease.
//!
//! The rule:
//! 1. A shard asks every few seconds, naming what it holds; that is also its
//!    heartbeat. It lives for one lease after it asked.
//! 2. The wanted holder of a mower is the living shard with the highest hash of
//!    (shard, mower), so that every replica of the service wants the same and a
//!    shard that comes or goes moves only its share.
//! 3. A mower is free when nobody held it, when its lease and a margin are over,
//!    or when its holder has asked without naming it. Only a free mower gets a
//!    new holder, with a higher number (the fence).
//! 4. A holder that is no longer wanted is not named in its answer; it lets go
//!    at once, and the next asking frees the mower.
//! 5. A new process of the same shard gets a higher number at once; the older
//!    one gets nothing any more, and is refused by the mower's side. Processes
//!    are told apart by an id that rises with time (RFC 9562, version 7).
//! 6. A shard counts its lease from when it sent the request, the service from
//!    when it answers, and adds a margin: the shard always ends first.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::config::{HEARTBEAT, asking};
use super::wire::{Hold, LeaseAnswer, LeaseRequest};

/// Added to a lease before somebody else gets the mower.
const MARGIN: SignedDuration = SignedDuration::from_secs(1);

/// How long after its holder's last word a mower has another one at the latest,
/// where a shard is left: when the lease and the margin are over, and the shard
/// asks next.
#[must_use]
pub fn followed_within(lease: Duration) -> Duration {
    lease + MARGIN.unsigned_abs() + asking(lease, HEARTBEAT)
}

/// What is known of one mower's holder. Rows may be kept anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The shard.
    pub shard: String,
    /// Its process.
    pub instance: Uuid,
    /// The number.
    pub fence: u64,
    /// Since when shards of this name have held it.
    pub since: Timestamp,
    /// The end of the lease.
    pub until: Timestamp,
    /// Whether the holder has named it with this number: it knows.
    pub known: bool,
    /// Nobody holds it; the row keeps the number and the last shard's name.
    pub free: bool,
}

/// The leases of all mowers.
#[derive(Clone, Debug)]
pub struct Leases {
    rows: HashMap<Uuid, Row>,
    /// Living shards and until when they live.
    shards: HashMap<String, Timestamp>,
    lease: SignedDuration,
    /// Before that an unknown mower may still be held by somebody.
    free_from: Timestamp,
}

impl Leases {
    /// An empty table. `free_from` is now when no shard can be left from before
    /// (one process), else one lease later.
    #[must_use]
    pub fn new(lease: SignedDuration, free_from: Timestamp) -> Self {
        Leases {
            rows: HashMap::new(),
            shards: HashMap::new(),
            lease,
            free_from,
        }
    }

    /// Answers one request for the mowers that exist.
    pub fn answer(&mut self, ask: &LeaseRequest, mowers: &[Uuid], now: Timestamp) -> LeaseAnswer {
        self.shards.retain(|_, until| *until > now);
        if ask.leaving {
            self.shards.remove(&ask.shard);
        } else {
            let until = later(now, self.lease);
            self.shards.insert(ask.shard.clone(), until);
        }
        let named: HashMap<Uuid, Hold> = ask.holds.iter().map(|it| (it.mower_id, *it)).collect();
        let mut holds = Vec::new();
        for mower in mowers {
            let named = named.get(mower).copied();
            self.hear(ask, *mower, named, now);
            if let Some(hold) = self.grant(ask, *mower, named, now) {
                holds.push(hold);
            }
        }
        LeaseAnswer {
            now,
            lease_ms: u64::try_from(self.lease.as_millis()).unwrap_or(0),
            holds,
        }
    }

    /// Takes in what the shard says of a mower that it holds or does not.
    fn hear(&mut self, ask: &LeaseRequest, mower: Uuid, named: Option<Hold>, now: Timestamp) {
        match (self.rows.get_mut(&mower), named) {
            // The table is younger than the lease: what a shard holds, it holds.
            (None, Some(hold)) => {
                self.rows.insert(
                    mower,
                    Row {
                        shard: ask.shard.clone(),
                        instance: ask.instance,
                        fence: hold.fence,
                        since: hold.since,
                        until: later(now, self.lease),
                        known: true,
                        free: false,
                    },
                );
            }
            // It knows of its lease and does not name it: it let go.
            (Some(row), None) if row.instance == ask.instance && (row.known || ask.leaving) => {
                row.free = true;
            }
            (Some(row), _) if later(row.until, MARGIN) <= now => row.free = true,
            _ => {}
        }
    }

    fn grant(
        &mut self,
        ask: &LeaseRequest,
        mower: Uuid,
        named: Option<Hold>,
        now: Timestamp,
    ) -> Option<Hold> {
        let wanted = self.wanted(mower).is_some_and(|shard| shard == ask.shard);
        let until = later(now, self.lease);
        let row = self.rows.get_mut(&mower);
        let row = match row {
            None if !wanted || now < self.free_from => return None,
            None => self.rows.entry(mower).or_insert(Row {
                shard: ask.shard.clone(),
                instance: ask.instance,
                fence: number(now),
                since: now,
                until,
                known: false,
                free: false,
            }),
            Some(row) if row.free || row.shard == ask.shard => {
                let older = row.shard == ask.shard && ask.instance < row.instance;
                if !wanted || older {
                    return None;
                }
                if row.shard != ask.shard {
                    row.since = now;
                }
                if row.free || row.instance != ask.instance {
                    row.fence = number(now).max(row.fence.saturating_add(1));
                    row.known = false;
                }
                row.shard.clone_from(&ask.shard);
                row.instance = ask.instance;
                row.until = until;
                row.free = false;
                row
            }
            Some(_) => return None,
        };
        row.known = named.is_some_and(|hold| hold.fence == row.fence);
        Some(Hold {
            mower_id: mower,
            fence: row.fence,
            since: row.since,
        })
    }

    fn wanted(&self, mower: Uuid) -> Option<&str> {
        self.shards
            .keys()
            .max_by_key(|shard| {
                let mut hash = Sha256::new();
                hash.update(shard.as_bytes());
                hash.update(mower.as_bytes());
                hash.finalize()
            })
            .map(String::as_str)
    }
}

/// A first number that is higher than any given out before a restart that
/// forgot the table: milliseconds since the epoch.
fn number(now: Timestamp) -> u64 {
    u64::try_from(now.as_millisecond()).unwrap_or(0)
}

fn later(time: Timestamp, by: SignedDuration) -> Timestamp {
    time.saturating_add(by).unwrap_or(time)
}

#[cfg(test)]
mod tests;

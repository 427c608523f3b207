//! The missions in memory: what flies, what flew, and the one slot for what flies next.
//!
//! A stop finds its mission here and waits for no disk; the disk follows ([`Missions::changed`]).

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::Notify;
use uuid::Uuid;

use crate::contract::state::SwarmState;
use crate::contract::{Mission, MissionStatus};

#[cfg(test)]
mod tests;

/// What the swarm is taken up with, as far as this service has asked for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing.
    Free,
    /// A start is being made; whether it flies is not known yet.
    Starting(Uuid),
    /// A mission flies.
    Active(Uuid),
}

/// What is known of a start that is on record as begun and nothing more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsettled {
    /// Nothing was sent; only the record of that is missing.
    NotSent,
    /// The swarm took it; only the record of that is missing.
    Flown,
    /// It may have been sent, on this connection or an earlier one.
    SentBy(u64),
}

/// Why there is no room for another start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// This very start is being made, flies, or is not settled yet.
    Itself,
    /// Another mission is being started or flies.
    By(Uuid),
    /// The outcome of an earlier start is not known.
    Unsettled,
}

/// A mission this service has asked for.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// Being started, or not settled: it may fly or not.
    Unclear(Mission),
    /// The swarm took it.
    Taken(Mission),
}

/// The missions of one swarm.
#[derive(Debug)]
pub struct Missions {
    book: Mutex<Book>,
    keep: usize,
    changed: Notify,
}

#[derive(Debug)]
struct Book {
    missions: BTreeMap<Uuid, Mission>,
    /// Ids, oldest first.
    order: VecDeque<Uuid>,
    slot: Slot,
    /// Begun and not known to fly: the one that holds the slot, and those nobody is at.
    begun: BTreeMap<Uuid, Begun>,
    /// The swarm has shown the active mission, so that not showing it means it ended.
    shown: bool,
    /// The connection on which the active mission was started; reports over a later one know it.
    sent_on: u64,
    /// Ended in memory and not on disk yet.
    unrecorded: Vec<Uuid>,
    /// The last stop that the swarm acknowledged: earlier starts have ended.
    acknowledged_stop: u64,
}

/// A start whose outcome is not known.
#[derive(Debug)]
struct Begun {
    mission: Mission,
    /// The stop epoch it was asked at.
    asked_at: u64,
    /// What is known of it; none: somebody is at it.
    left: Option<Unsettled>,
}

impl Missions {
    /// Goes on from `known`, oldest first, and keeps the last `keep`. Of the `begun` ones nobody
    /// knows whether the last life sent them.
    #[must_use]
    pub fn new(known: Vec<Mission>, begun: Vec<Mission>, keep: usize) -> Self {
        let active = known.iter().rev().find(|mission| is_active(mission));
        let mut book = Book {
            slot: active.map_or(Slot::Free, |mission| Slot::Active(mission.id)),
            order: known.iter().map(|mission| mission.id).collect(),
            missions: BTreeMap::new(),
            begun: BTreeMap::new(),
            shown: false,
            // In an earlier life, so every connection of this one is later.
            sent_on: 0,
            unrecorded: Vec::new(),
            acknowledged_stop: 0,
        };
        book.missions
            .extend(known.into_iter().map(|mission| (mission.id, mission)));
        book.begun.extend(begun.into_iter().map(|mission| {
            let begun = Begun {
                mission,
                // Every stop of this life is later.
                asked_at: 0,
                left: Some(Unsettled::SentBy(0)),
            };
            (begun.mission.id, begun)
        }));
        Self {
            book: Mutex::new(book),
            keep,
            changed: Notify::new(),
        }
    }

    /// The mission with this id, whatever is known of it.
    #[must_use]
    pub fn find(&self, id: Uuid) -> Option<Found> {
        let book = self.lock();
        let taken = book.missions.get(&id).cloned().map(Found::Taken);
        let unclear = || book.begun.get(&id).map(|begun| begun.mission.clone());
        taken.or_else(|| unclear().map(Found::Unclear))
    }

    /// What the swarm is taken up with.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.lock().slot
    }

    /// Takes the slot for the start of `mission`, asked at stop epoch `asked_at`, in one step with
    /// finding it free.
    ///
    /// # Errors
    /// What is in the way.
    pub fn reserve(&self, mission: Mission, asked_at: u64) -> Result<(), Taken> {
        let mut book = self.lock();
        let id = mission.id;
        match book.slot {
            _ if book.begun.contains_key(&id) => return Err(Taken::Itself),
            Slot::Starting(other) | Slot::Active(other) => {
                let itself = other == id;
                return Err(if itself {
                    Taken::Itself
                } else {
                    Taken::By(other)
                });
            }
            Slot::Free if !book.begun.is_empty() => return Err(Taken::Unsettled),
            Slot::Free => {}
        }
        book.slot = Slot::Starting(id);
        let begun = Begun {
            mission,
            asked_at,
            left: None,
        };
        book.begun.insert(id, begun);
        Ok(())
    }

    /// Nobody is at the start of `id` any more, and this is what is known of it.
    pub fn leave(&self, id: Uuid, known: Unsettled) {
        if let Some(begun) = self.lock().begun.get_mut(&id) {
            begun.left = Some(known);
        }
    }

    /// The start of `id` is over: its slot is given back unless it flies, and it is forgotten
    /// unless it was left unsettled.
    pub fn release(&self, id: Uuid) {
        let mut book = self.lock();
        if book.slot == Slot::Starting(id) {
            book.slot = Slot::Free;
        }
        if book
            .begun
            .get(&id)
            .is_some_and(|begun| begun.left.is_none())
        {
            book.begun.remove(&id);
        }
    }

    /// The starts that nobody is at and whose outcome is not on record.
    #[must_use]
    pub fn unsettled(&self) -> Vec<(Mission, Unsettled)> {
        let book = self.lock();
        let left = book.begun.values();
        left.filter_map(|begun| Some((begun.mission.clone(), begun.left?)))
            .collect()
    }

    /// A start is settled: on record as flown, or as never flown.
    pub fn settled(&self, id: Uuid, flown: bool, now: Timestamp) {
        let mut book = self.lock();
        if flown && !book.missions.contains_key(&id) {
            self.fly(&mut book, id, 0, now);
        }
        book.begun.remove(&id);
    }

    /// The swarm took the mission `id`, which was sent on the connection `sent_on` or an earlier
    /// one.
    pub fn flies(&self, id: Uuid, sent_on: u64, now: Timestamp) {
        let mut book = self.lock();
        self.fly(&mut book, id, sent_on, now);
    }

    fn fly(&self, book: &mut Book, id: Uuid, sent_on: u64, now: Timestamp) {
        let Some(begun) = book.begun.get(&id) else {
            return;
        };
        let asked_at = begun.asked_at;
        if book.missions.insert(id, begun.mission.clone()).is_none() {
            book.order.push_back(id);
        }
        book.slot = Slot::Active(id);
        book.shown = false;
        book.sent_on = sent_on;
        if asked_at < book.acknowledged_stop {
            book.end(id, MissionStatus::Aborted, now);
            self.changed.notify_one();
        }
        while book.order.len() > self.keep {
            let Some(oldest) = book.order.pop_front() else {
                break;
            };
            book.missions.remove(&oldest);
        }
    }

    /// The swarm acknowledged the stop `epoch`: whatever flew was ended by it.
    pub fn stopped(&self, epoch: u64, now: Timestamp) {
        let mut book = self.lock();
        book.acknowledged_stop = book.acknowledged_stop.max(epoch);
        if let Slot::Active(id) = book.slot {
            book.end(id, MissionStatus::Aborted, now);
            self.changed.notify_one();
        }
    }

    /// Compares the books with a report of the swarm.
    pub fn observe(&self, state: &SwarmState, now: Timestamp) {
        let mut book = self.lock();
        let Slot::Active(id) = book.slot else {
            return;
        };
        match state.mission {
            Some(reported) if reported.id == id && reported.complete => {
                book.end(id, MissionStatus::Completed, now);
            }
            Some(reported) if reported.id == id => {
                book.shown = true;
                return;
            }
            // A report from before the start was heard does not know it yet.
            _ if !book.shown && state.connection <= book.sent_on => return,
            _ => book.end(id, MissionStatus::Aborted, now),
        }
        self.changed.notify_one();
    }

    /// Waits until missions have ended that are not on disk.
    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    /// The missions that ended and are not on disk.
    #[must_use]
    pub fn unrecorded(&self) -> Vec<Mission> {
        let book = self.lock();
        let ids = book.unrecorded.iter();
        ids.filter_map(|id| book.missions.get(id).cloned())
            .collect()
    }

    /// These are on disk now.
    pub fn mark_recorded(&self, missions: &[Mission]) {
        let mut book = self.lock();
        let recorded = |id: &Uuid| missions.iter().any(|mission| mission.id == *id);
        book.unrecorded.retain(|id| !recorded(id));
    }

    fn lock(&self) -> MutexGuard<'_, Book> {
        // Every change below is complete before anything in it could panic.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Book {
    fn end(&mut self, id: Uuid, status: MissionStatus, now: Timestamp) {
        if self.slot == Slot::Active(id) {
            self.slot = Slot::Free;
        }
        if let Some(mission) = self.missions.get_mut(&id)
            && is_active(mission)
        {
            mission.status = status;
            mission.ended_at_utc = Some(now);
            self.unrecorded.push(id);
        }
    }
}

fn is_active(mission: &Mission) -> bool {
    mission.status == MissionStatus::Active
}

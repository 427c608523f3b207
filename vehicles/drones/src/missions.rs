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

impl Slot {
    /// The mission in the slot.
    #[must_use]
    pub fn mission(self) -> Option<Uuid> {
        match self {
            Self::Free => None,
            Self::Starting(id) | Self::Active(id) => Some(id),
        }
    }
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
    /// The swarm has shown the active mission, so that not showing it means it ended.
    shown: bool,
    /// The connection on which the active mission was started; reports over a later one know it.
    sent_on: u64,
    /// Ended in memory and not on disk yet.
    unrecorded: Vec<Uuid>,
    /// The last stop that the swarm acknowledged: earlier starts have ended.
    acknowledged_stop: u64,
}

impl Missions {
    /// Goes on from `known`, oldest first, and keeps the last `keep`.
    #[must_use]
    pub fn new(known: Vec<Mission>, keep: usize) -> Self {
        let active = known.iter().rev().find(|mission| is_active(mission));
        let mut book = Book {
            slot: active.map_or(Slot::Free, |mission| Slot::Active(mission.id)),
            order: known.iter().map(|mission| mission.id).collect(),
            missions: BTreeMap::new(),
            shown: false,
            // In an earlier life, so every connection of this one is later.
            sent_on: 0,
            unrecorded: Vec::new(),
            acknowledged_stop: 0,
        };
        book.missions
            .extend(known.into_iter().map(|mission| (mission.id, mission)));
        Self {
            book: Mutex::new(book),
            keep,
            changed: Notify::new(),
        }
    }

    /// The mission with this id.
    #[must_use]
    pub fn get(&self, id: Uuid) -> Option<Mission> {
        self.lock().missions.get(&id).cloned()
    }

    /// What the swarm is taken up with.
    #[must_use]
    pub fn slot(&self) -> Slot {
        self.lock().slot
    }

    /// Takes the slot for a start, in one step with finding it free.
    ///
    /// # Errors
    /// What holds it.
    pub fn reserve(&self, id: Uuid) -> Result<(), Slot> {
        let mut book = self.lock();
        if book.slot != Slot::Free {
            return Err(book.slot);
        }
        book.slot = Slot::Starting(id);
        Ok(())
    }

    /// The start of `id` did not happen.
    pub fn release(&self, id: Uuid) {
        let mut book = self.lock();
        if book.slot == Slot::Starting(id) {
            book.slot = Slot::Free;
        }
    }

    /// The swarm took `mission`, which was sent at stop epoch `sent_at` on the connection
    /// `sent_on` or an earlier one.
    pub fn insert(&self, mission: Mission, sent_at: u64, sent_on: u64, now: Timestamp) {
        let mut book = self.lock();
        let id = mission.id;
        if book.missions.insert(id, mission).is_none() {
            book.order.push_back(id);
        }
        book.slot = Slot::Active(id);
        book.shown = false;
        book.sent_on = sent_on;
        if sent_at < book.acknowledged_stop {
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

//! A mower that this shard holds, and what its tasks share.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;
use uuid::Uuid;

use super::drive::Session;
use super::preview::Previewing;
use super::stops::Active;
use super::wire::{ConnectionSpec, MowerEntry};
use crate::connection::Connection;
use crate::contract::Envelope;

/// The right to move a mower.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Lease {
    pub(crate) fence: u64,
    pub(crate) since: Timestamp,
    pub(crate) until: Instant,
}

/// A held mower.
pub(crate) struct Held {
    pub(crate) mower_id: Uuid,
    pub(crate) account_id: String,
    pub(crate) spec: ConnectionSpec,
    pub(crate) connection: Arc<dyn Connection>,
    lease: Mutex<Lease>,
    pub(crate) queue: Queue,
    /// Held while a command goes out, so that a stop knows whether one did.
    pub(crate) wire: tokio::sync::Mutex<()>,
    /// Changes with each stop and when the mower is let go of; each change
    /// cancels the running step.
    pub(crate) stopped: watch::Sender<u64>,
    /// The highest calm epoch that came: movements with a lower one are over.
    pub(crate) calmed: watch::Sender<u64>,
    /// The mower plans one path at a time.
    pub(crate) planning: tokio::sync::Mutex<()>,
    /// The preview under way; dropped, it ends.
    pub(crate) previewing: Mutex<Option<Previewing>>,
    /// Who drives.
    pub(crate) driving: Mutex<Option<Session>>,
    /// Something about driving changed.
    pub(crate) drive_changed: Notify,
    /// The vendor spoke of a command of this mower. A stop waits for this and not
    /// for the ledger, which changes with every command of every mower.
    pub(crate) heard: Notify,
    /// Stops under way.
    pub(crate) stops: Mutex<HashMap<Uuid, Arc<Active>>>,
    /// Set once, when the mower is let go of.
    pub(crate) released: watch::Sender<bool>,
}

impl Held {
    pub(crate) fn new(entry: &MowerEntry, connection: Arc<dyn Connection>, lease: Lease) -> Self {
        Held {
            mower_id: entry.mower_id,
            account_id: entry.account_id.clone(),
            spec: entry.connection.clone(),
            connection,
            lease: Mutex::new(lease),
            queue: Queue::default(),
            wire: tokio::sync::Mutex::new(()),
            stopped: watch::Sender::new(0),
            calmed: watch::Sender::new(0),
            planning: tokio::sync::Mutex::new(()),
            previewing: Mutex::new(None),
            driving: Mutex::new(None),
            drive_changed: Notify::new(),
            heard: Notify::new(),
            stops: Mutex::new(HashMap::new()),
            released: watch::Sender::new(false),
        }
    }

    pub(crate) fn lease(&self) -> Lease {
        *lock(&self.lease)
    }

    pub(crate) fn renew(&self, lease: Lease) {
        *lock(&self.lease) = lease;
    }

    /// Lets go: the running step is cancelled, nothing is acted on any more.
    pub(crate) fn let_go(&self) {
        self.released.send_replace(true);
        self.cancel();
    }

    /// A calming command came: what was asked before it must not undo it.
    pub(crate) fn calm(&self, epoch: u64) {
        self.calmed.send_if_modified(|highest| {
            let higher = epoch > *highest;
            *highest = epoch.max(*highest);
            higher
        });
    }

    /// Cancels the running step.
    pub(crate) fn cancel(&self) {
        self.stopped
            .send_modify(|count| *count = count.wrapping_add(1));
    }

    /// The number to move with, as long as the lease holds.
    pub(crate) fn fence(&self) -> Option<u64> {
        let lease = self.lease();
        (Instant::now() < lease.until && !*self.released.borrow()).then_some(lease.fence)
    }

    /// One vendor account shares one budget.
    pub(crate) fn vendor_account(&self) -> String {
        let named = self.spec.options.get("vendor_account");
        match named.and_then(serde_json::Value::as_str) {
            Some(name) => format!("{} {} {name}", self.account_id, self.spec.kind),
            None => format!("{} {}", self.account_id, self.spec.kind),
        }
    }
}

/// Locks what cannot be left half changed.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The commands that wait for a mower: calming ones first, then first come,
/// first served.
#[derive(Default)]
pub(crate) struct Queue {
    waiting: Mutex<VecDeque<Envelope>>,
    pub(crate) changed: Notify,
}

impl Queue {
    /// Adds a command, unless there are as many as `room`. There is always room
    /// for a calming one: the stream bounds them.
    pub(crate) fn push(&self, envelope: Envelope, room: usize) -> bool {
        let mut waiting = lock(&self.waiting);
        if envelope.command.kind().calms() {
            let calming = waiting.iter().take_while(|it| it.command.kind().calms());
            let behind = calming.count();
            waiting.insert(behind, envelope);
        } else if waiting.len() < room {
            waiting.push_back(envelope);
        } else {
            return false;
        }
        drop(waiting);
        self.changed.notify_one();
        true
    }

    pub(crate) fn pop(&self) -> Option<Envelope> {
        lock(&self.waiting).pop_front()
    }

    /// How many wait.
    pub(crate) fn len(&self) -> usize {
        lock(&self.waiting).len()
    }

    /// Takes all.
    pub(crate) fn drain(&self) -> Vec<Envelope> {
        lock(&self.waiting).drain(..).collect()
    }

    /// Whether the next one calms the mower; it does not wait for the vendor's
    /// word on the one before.
    pub(crate) fn calming_next(&self) -> bool {
        lock(&self.waiting)
            .front()
            .is_some_and(|envelope| envelope.command.kind().calms())
    }
}

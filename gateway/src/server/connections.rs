//! Who is connected, and who makes room when the server is full.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::server::{Admission, ServerLimits};

/// Marks a connection that is inside a request.
const BUSY: u64 = u64::MAX;

/// Every open connection of one listener.
pub(super) struct Connections {
    max: usize,
    reserved: usize,
    begun: Instant,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    next: u64,
    open: HashMap<u64, Arc<State>>,
}

struct State {
    /// Since when it waits for a request head, in microseconds since the
    /// listener began; or [`BUSY`].
    waiting_since: AtomicU64,
    evicted: Notify,
}

/// One connection's place; given back when dropped.
pub(super) struct Place {
    connections: Arc<Connections>,
    id: u64,
    state: Arc<State>,
    pub(super) admission: Admission,
}

/// Held while a connection is inside a request.
pub(super) struct InRequest {
    connections: Arc<Connections>,
    state: Arc<State>,
}

impl Connections {
    pub(super) fn new(limits: &ServerLimits) -> Arc<Self> {
        Arc::new(Self {
            max: limits.max_connections,
            reserved: limits.reserved_connections,
            begun: Instant::now(),
            table: Mutex::default(),
        })
    }

    /// A place for a new connection: a free one, else that of the connection
    /// that has waited longest for a head, else one in the reserve.
    pub(super) fn admit(self: &Arc<Self>) -> Option<Place> {
        let mut table = self.table();
        let mut admission = Admission::Normal;
        if table.open.len() >= self.max {
            let longest = table
                .open
                .iter()
                .map(|(id, state)| (state.waiting_since.load(Ordering::Relaxed), *id))
                .filter(|(since, _)| *since != BUSY)
                .min();
            let evicted = longest.and_then(|(_, id)| table.open.remove(&id));
            match evicted {
                Some(state) => state.evicted.notify_one(),
                None if table.open.len() < self.max.saturating_add(self.reserved) => {
                    admission = Admission::StopsOnly;
                }
                None => return None,
            }
        }
        let id = table.next;
        table.next = table.next.wrapping_add(1);
        let state = Arc::new(State {
            waiting_since: AtomicU64::new(self.now()),
            evicted: Notify::new(),
        });
        table.open.insert(id, Arc::clone(&state));
        Some(Place {
            connections: Arc::clone(self),
            id,
            state,
            admission,
        })
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_micros()).unwrap_or(BUSY - 1)
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Marks the connection as busy until the guard is dropped.
    pub(super) fn begin_request(&self) -> InRequest {
        self.state.waiting_since.store(BUSY, Ordering::Relaxed);
        InRequest {
            connections: Arc::clone(&self.connections),
            state: Arc::clone(&self.state),
        }
    }

    /// Whether it waits for a request head.
    pub(super) fn is_waiting(&self) -> bool {
        self.state.waiting_since.load(Ordering::Relaxed) != BUSY
    }

    /// Returns when the place was given to somebody else.
    pub(super) async fn evicted(&self) {
        self.state.evicted.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.table().open.remove(&self.id);
    }
}

impl Drop for InRequest {
    fn drop(&mut self) {
        let now = self.connections.now();
        self.state.waiting_since.store(now, Ordering::Relaxed);
    }
}

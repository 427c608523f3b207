//! The writer thread: groups what waits, appends, syncs once for the group.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use arc_swap::ArcSwap;
use tokio::sync::{OwnedSemaphorePermit, oneshot};

use crate::audit::chain::Entry;
use crate::audit::journal::Journal;
use crate::audit::queue::Queue;
use crate::audit::record::Record;
use crate::audit::{AuditError, AuditSettings, Meters, Shared};
use crate::clock::Clock;
use crate::telemetry::names;

/// How long appended records wait for a sync of their own, and how long the
/// writer waits before it tries a failing file again.
const PATIENCE: Duration = Duration::from_millis(200);

/// A record on its way to the file.
pub(super) struct Waiting {
    pub(super) record: Box<Record>,
    pub(super) fate: Fate,
    /// Its place among those that may wait, given back with it.
    pub(super) _place: OwnedSemaphorePermit,
}

/// What becomes of a record when the file cannot be written.
pub(super) enum Fate {
    /// Somebody waits for the durable append, and is told.
    Require(oneshot::Sender<bool>),
    /// It is kept and tried again.
    Spool,
    /// It is dropped and counted.
    Drop,
}

pub(super) struct Writer {
    journal: Journal,
    clock: Arc<dyn Clock>,
    queue: Arc<Queue>,
    shared: Arc<Shared>,
    /// Kept while the file cannot be written, in order.
    spool: Vec<Waiting>,
    /// Appended, but not yet synced.
    unsynced: bool,
}

impl Writer {
    pub(super) fn open(
        settings: &AuditSettings,
        clock: Arc<dyn Clock>,
        queue: Arc<Queue>,
    ) -> Result<(Self, Arc<Shared>), AuditError> {
        let journal = Journal::open(settings, clock.now())?;
        let shared = Arc::new(Shared {
            head: ArcSwap::from_pointee(journal.head()),
            failing: AtomicBool::new(false),
            dropped: AtomicU64::new(0),
            meters: Meters {
                written: metrics::counter!(names::AUDIT_RECORDS, "fate" => "written"),
                dropped: metrics::counter!(names::AUDIT_RECORDS, "fate" => "dropped"),
                failing: metrics::gauge!(names::AUDIT_FAILING),
            },
        });
        let writer = Self {
            journal,
            clock,
            queue,
            shared: Arc::clone(&shared),
            spool: Vec::new(),
            unsynced: false,
        };
        Ok((writer, shared))
    }

    /// Runs until the log is closed or everybody who could write is gone.
    pub(super) fn run(mut self) {
        loop {
            let pressed = self.unsynced || self.shared.failing.load(Ordering::Relaxed);
            let group = self.queue.take(pressed.then_some(PATIENCE));
            let idle = group.records.is_empty();
            let mut records = std::mem::take(&mut self.spool);
            records.extend(group.records);
            let written = self.append(records, idle || group.last, group.closing.is_some());
            if let Some(ack) = group.closing {
                // Whoever asked may be gone; the file is closed all the same.
                let _ = ack.send(written);
                return;
            }
            if group.last {
                return;
            }
        }
    }

    /// Appends a group. Syncs when somebody waits for it, or when told to.
    fn append(&mut self, group: Vec<Waiting>, sync: bool, end: bool) -> bool {
        let now = self.clock.now();
        let dropped = self.shared.dropped.swap(0, Ordering::Relaxed);
        let mut entries = Vec::with_capacity(group.len() + 2);
        if dropped > 0 {
            entries.push(Entry::Gap { at: now, dropped });
        }
        entries.extend(group.iter().map(|waiting| Entry::Record(&waiting.record)));
        if end {
            entries.push(Entry::End { at: now });
        }
        let required = |waiting: &Waiting| matches!(waiting.fate, Fate::Require(_));
        let sync = sync || end || group.iter().any(required);
        let result = self.journal.append(&entries, now, sync);
        let written = result.is_ok();
        self.shared
            .meters
            .failing
            .set(if written { 0.0 } else { 1.0 });
        match result {
            Ok(()) => {
                self.unsynced = !sync && (self.unsynced || !entries.is_empty());
                self.shared.meters.written.increment(entries.len() as u64);
                self.shared.head.store(Arc::new(self.journal.head()));
                if self.shared.failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("the audit log can be written again");
                }
            }
            Err(fault) => {
                self.shared.dropped.fetch_add(dropped, Ordering::Relaxed);
                if !self.shared.failing.swap(true, Ordering::Relaxed) {
                    tracing::error!(%fault, "the audit log cannot be written");
                }
            }
        }
        for waiting in group {
            self.settle(waiting, written);
        }
        written
    }

    fn settle(&mut self, waiting: Waiting, written: bool) {
        match (waiting.fate, written) {
            // A caller that stopped waiting has been told so already.
            (Fate::Require(ack), true) => _ = ack.send(true),
            (Fate::Require(ack), false) => {
                self.shared.count_dropped();
                _ = ack.send(false);
            }
            (Fate::Spool, false) => self.spool.push(Waiting {
                fate: Fate::Spool,
                ..waiting
            }),
            (Fate::Drop, false) => self.shared.count_dropped(),
            (Fate::Spool | Fate::Drop, true) => {}
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.end();
    }
}

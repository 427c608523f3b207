//! Decision records: intent before, outcome after, one hash chain per instance
//! and start.
//!
//! One writer thread appends JSON lines to a file. Whoever must not act
//! unrecorded waits for the durable append and gets a [`Recorded`]; reads never
//! wait and may be dropped, counted, and the chain says how many; stops and
//! outcomes never wait and are kept in memory while the file cannot be written.

mod chain;
mod journal;
mod queue;
mod record;
#[cfg(test)]
mod tests;
mod verify;
mod writer;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use arc_swap::ArcSwap;
use metrics::{Counter, Gauge};
use serde::Serialize;
use thiserror::Error;
use tokio::sync::{Semaphore, oneshot};

pub use record::{Kind, Principal, Record, Resource, Verdict};
pub use verify::{ChainReport, Ending, VerifyError, VerifyReport, verify};

use crate::clock::Clock;
use queue::Queue;
use writer::{Fate, Waiting, Writer};

/// Where the records go and how many may wait in memory.
#[derive(Clone, Debug)]
pub struct AuditSettings {
    /// The directory of the record files.
    pub directory: PathBuf,
    /// This gateway's name: `a-z 0-9 -`, the first part of the file names.
    pub instance: String,
    /// How long a caller waits for the durable append.
    pub timeout: Duration,
    /// Gated records in flight.
    pub max_gated: usize,
    /// Reads and refusals waiting; more are dropped and counted.
    pub max_waiting: usize,
    /// Stops and outcomes kept while the file cannot be written.
    pub max_spooled: usize,
}

impl AuditSettings {
    /// The defaults, for this directory and instance.
    pub fn new(directory: impl Into<PathBuf>, instance: impl Into<String>) -> Self {
        Self {
            directory: directory.into(),
            instance: instance.into(),
            timeout: Duration::from_secs(1),
            max_gated: 4096,
            max_waiting: 8192,
            max_spooled: 8192,
        }
    }
}

/// The end of the chain: whoever notes it elsewhere sees a cut tail later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AuditHead {
    /// This gateway's name.
    pub instance: String,
    /// Which file of the instance, counted from 1.
    pub start: u64,
    /// The last record's number, from 0.
    pub seq: u64,
    /// The last record's hash, hex.
    pub hash: String,
}

/// A record that is not where it should be.
#[derive(Debug, Error)]
pub enum AuditError {
    /// The log could not be opened.
    #[error("cannot open the audit log in `{directory}`: {cause}")]
    Open {
        /// The directory.
        directory: PathBuf,
        /// What the system said.
        cause: std::io::Error,
    },
    /// The instance name cannot be part of a file name.
    #[error("audit instance `{0}` is not usable; use 1 to 64 of a-z 0-9 -")]
    Instance(String),
    /// The append or its sync failed.
    #[error("the audit log cannot be written")]
    Failed,
    /// The append took too long.
    #[error("the audit log did not answer in time")]
    Timeout,
    /// Too many records are waiting already.
    #[error("too many audit records are waiting")]
    Full,
    /// The log was closed.
    #[error("the audit log is closed")]
    Closed,
}

/// Proof that a record was taken: step 8 of the pipeline.
#[derive(Debug)]
#[must_use]
pub struct Recorded {
    durable: bool,
}

impl Recorded {
    /// Whether the record is on disk; otherwise it waits in memory.
    pub fn is_durable(&self) -> bool {
        self.durable
    }
}

/// The audit log of this process.
pub struct Audit {
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
    timeout: Duration,
    gated: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    spooled: Arc<Semaphore>,
    shared: Arc<Shared>,
}

/// What the writer tells everybody.
struct Shared {
    head: ArcSwap<AuditHead>,
    failing: AtomicBool,
    /// Dropped and not yet told in the chain.
    dropped: AtomicU64,
    meters: Meters,
}

struct Meters {
    written: Counter,
    dropped: Counter,
    failing: Gauge,
}

impl Shared {
    fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
        self.meters.dropped.increment(1);
    }
}

impl Audit {
    /// Opens a new file in the directory, linked to the last one of this
    /// instance, and starts the writer.
    pub fn open(settings: &AuditSettings, clock: Arc<dyn Clock>) -> Result<Self, AuditError> {
        let queue = Arc::new(Queue::default());
        let (writer, shared) = Writer::open(settings, clock, Arc::clone(&queue))?;
        let thread = std::thread::Builder::new()
            .name("audit".to_owned())
            .spawn(move || writer.run())
            .map_err(|cause| AuditError::Open {
                directory: settings.directory.clone(),
                cause,
            })?;
        Ok(Self {
            queue,
            thread: Mutex::new(Some(thread)),
            timeout: settings.timeout,
            gated: Arc::new(Semaphore::new(settings.max_gated)),
            waiting: Arc::new(Semaphore::new(settings.max_waiting)),
            spooled: Arc::new(Semaphore::new(settings.max_spooled)),
            shared,
        })
    }

    /// Appends durably and waits for it: for what must not happen unrecorded.
    pub async fn require(&self, record: Record) -> Result<Recorded, AuditError> {
        let Ok(place) = Arc::clone(&self.gated).try_acquire_owned() else {
            return Err(AuditError::Full);
        };
        let (ack, appended) = oneshot::channel();
        self.queue.send(Waiting {
            record: Box::new(record),
            fate: Fate::Require(ack),
            _place: place,
        })?;
        match tokio::time::timeout(self.timeout, appended).await {
            Ok(Ok(true)) => Ok(Recorded { durable: true }),
            Ok(Ok(false)) => Err(AuditError::Failed),
            Ok(Err(_)) => Err(AuditError::Closed),
            Err(_) => Err(AuditError::Timeout),
        }
    }

    /// Appends without waiting and keeps the record while the file cannot be
    /// written: for stops, calming commands and outcomes. Past the bound it is
    /// dropped, counted and told in the chain.
    pub fn spool(&self, record: Record) -> Recorded {
        self.enqueue(&self.spooled, record, Fate::Spool);
        Recorded { durable: false }
    }

    /// Appends without waiting, if there is room and the file can be written:
    /// for reads and refusals. Dropped ones are counted and told in the chain.
    pub fn note(&self, record: Record) {
        self.enqueue(&self.waiting, record, Fate::Drop);
    }

    /// The end of the chain on disk.
    pub fn head(&self) -> Arc<AuditHead> {
        self.shared.head.load_full()
    }

    /// Whether the last append failed.
    pub fn is_failing(&self) -> bool {
        self.shared.failing.load(Ordering::Relaxed)
    }

    /// Writes what waits and the `end` record, and stops the writer. Records
    /// that come later are refused.
    pub async fn close(&self) -> Result<Arc<AuditHead>, AuditError> {
        let (ack, closed) = oneshot::channel();
        self.queue.close(ack)?;
        let clean = closed.await.map_err(|_| AuditError::Closed)?;
        let thread = self
            .thread
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        if let Some(thread) = thread {
            // It acknowledged as its last act: nothing to wait for.
            let _ = thread.join();
        }
        if clean {
            Ok(self.head())
        } else {
            Err(AuditError::Failed)
        }
    }

    fn enqueue(&self, places: &Arc<Semaphore>, record: Record, fate: Fate) {
        let record = Box::new(record);
        let sent = Arc::clone(places).try_acquire_owned().is_ok_and(|place| {
            let waiting = Waiting {
                record,
                fate,
                _place: place,
            };
            self.queue.send(waiting).is_ok()
        });
        if !sent {
            self.shared.count_dropped();
        }
    }
}

impl Drop for Audit {
    fn drop(&mut self) {
        self.queue.abandon();
    }
}

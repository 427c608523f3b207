//! What a restart of the device gateway must not forget: an append-only file of
//! JSON lines in its state folder.
//!
//! A file and not a database: the only reads are at the start, the only writes
//! are appends, and a write that must be on the disk before a mower moves is one
//! line and one sync. A line that a crash cut off at the end is dropped; damage
//! anywhere else refuses the start, because it could hide that a mower moved.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use uuid::Uuid;

use crate::contract::CommandResult;

const NAME: &str = "journal.jsonl";

/// One event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Line {
    /// A command was taken; nothing was sent.
    Taken {
        command_id: Uuid,
        mower_id: Uuid,
        account_id: String,
        /// A stop; it may have been sent from the first moment.
        stop: bool,
        at: Timestamp,
    },
    /// It is about to be sent: from here on it may have happened.
    Acting { command_id: Uuid },
    /// Its final.
    Final { result: CommandResult },
    /// The stream has the final.
    Published { command_id: Uuid },
    /// A stop was seen.
    Stopped {
        mower_id: Uuid,
        epoch: u64,
        issued_at: Timestamp,
    },
    /// A calming command was seen.
    Calmed { mower_id: Uuid, epoch: u64 },
}

/// Why the journal was not opened or written.
#[derive(Debug, Error)]
pub enum JournalError {
    /// The folder or the file.
    #[error("the journal `{path}`: {cause}")]
    File {
        /// Which.
        path: PathBuf,
        /// The system's word.
        cause: io::Error,
    },
    /// Another process works in this folder.
    #[error("the state folder `{0}` is in use by another device gateway; give each its own")]
    InUse(PathBuf),
    /// A line in the middle is unreadable.
    #[error(
        "line {line} of the journal `{path}` cannot be read ({cause}); it may say that a mower \
         moved, so repair it, or move the file away when no command of the last five minutes matters"
    )]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        cause: serde_json::Error,
    },
    /// The writing task ended.
    #[error("the journal was not written: {0}")]
    Lost(String),
}

/// The open journal.
#[derive(Clone)]
pub(crate) struct Journal {
    inner: Arc<Mutex<Inner>>,
    /// What waits for the disk: whoever has the file writes all of it with one
    /// sync. Ten thousand stops at once would else wait for ten thousand.
    waiting: Arc<Mutex<Vec<Waiting>>>,
}

/// Lines that wait for the disk.
struct Waiting {
    lines: Vec<Line>,
    sync: bool,
    written: oneshot::Sender<io::Result<()>>,
}

struct Inner {
    path: PathBuf,
    file: File,
    lines: usize,
    /// Locked until the journal is closed.
    lock: Option<File>,
}

impl Journal {
    /// Opens the journal of a folder, making both when they are missing, and
    /// reads what it holds.
    pub(crate) fn open(folder: &Path) -> Result<(Self, Vec<Line>), JournalError> {
        let path = folder.join(NAME);
        let failed = |cause| JournalError::File {
            path: path.clone(),
            cause,
        };
        fs::create_dir_all(folder).map_err(failed)?;
        let lock = File::create(folder.join("lock")).map_err(failed)?;
        lock.try_lock()
            .map_err(|_| JournalError::InUse(folder.to_owned()))?;
        let text = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(cause) => return Err(failed(cause)),
        };
        let (lines, whole) = parse(&path, &text)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(failed)?;
        if whole < text.len() {
            let length = u64::try_from(whole).unwrap_or(u64::MAX);
            file.set_len(length).map_err(failed)?;
        }
        sync_folder(folder).map_err(failed)?;
        let journal = Journal {
            inner: Arc::new(Mutex::new(Inner {
                path,
                file,
                lines: lines.len(),
                lock: Some(lock),
            })),
            waiting: Arc::default(),
        };
        Ok((journal, lines))
    }

    /// How many lines the file has.
    pub(crate) fn lines(&self) -> usize {
        lock(&self.inner).lines
    }

    /// Appends; with `sync` it is on the disk afterwards.
    pub(crate) async fn append(&self, lines: Vec<Line>, sync: bool) -> Result<(), JournalError> {
        let (written, outcome) = oneshot::channel();
        lock(&self.waiting).push(Waiting {
            lines,
            sync,
            written,
        });
        let waiting = Arc::clone(&self.waiting);
        self.off_thread(move |inner| {
            // Empty when somebody before has taken these lines along.
            inner.append_all(std::mem::take(&mut *lock(&waiting)));
            Ok(())
        })
        .await?;
        match outcome.await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(cause)) => Err(JournalError::File {
                path: lock(&self.inner).path.clone(),
                cause,
            }),
            Err(cause) => Err(JournalError::Lost(cause.to_string())),
        }
    }

    /// Replaces the file by these lines.
    pub(crate) async fn rewrite(&self, lines: Vec<Line>) -> Result<(), JournalError> {
        self.off_thread(move |inner| inner.rewrite(&lines)).await
    }

    /// Gives the folder free; nothing is written after that.
    pub(crate) async fn close(&self) -> Result<(), JournalError> {
        self.off_thread(|inner| {
            inner.lock = None;
            Ok(())
        })
        .await
    }

    async fn off_thread(
        &self,
        work: impl FnOnce(&mut Inner) -> io::Result<()> + Send + 'static,
    ) -> Result<(), JournalError> {
        let inner = Arc::clone(&self.inner);
        spawn_blocking(move || {
            let mut inner = lock(&inner);
            work(&mut inner).map_err(|cause| JournalError::File {
                path: inner.path.clone(),
                cause,
            })
        })
        .await
        .map_err(|cause| JournalError::Lost(cause.to_string()))?
    }
}

impl Inner {
    fn check_open(&self) -> io::Result<()> {
        match self.lock {
            Some(_) => Ok(()),
            None => Err(io::Error::other("it is closed")),
        }
    }

    /// Appends all that waits, in its order, and tells everybody.
    fn append_all(&mut self, waiting: Vec<Waiting>) {
        let sync = waiting.iter().any(|it| it.sync);
        let lines = waiting.iter().flat_map(|it| &it.lines);
        let written = self.append(&lines.cloned().collect::<Vec<_>>(), sync);
        for one in waiting {
            let told = match &written {
                Ok(()) => Ok(()),
                Err(cause) => Err(io::Error::new(cause.kind(), cause.to_string())),
            };
            // Whoever waits no more does not want to know.
            let _ = one.written.send(told);
        }
    }

    fn append(&mut self, lines: &[Line], sync: bool) -> io::Result<()> {
        if lines.is_empty() {
            return Ok(());
        }
        self.check_open()?;
        let length = self.file.metadata()?.len();
        let written = self
            .file
            .write_all(&encode(lines)?)
            .and_then(|()| if sync { self.file.sync_data() } else { Ok(()) });
        match written {
            Ok(()) => self.lines = self.lines.saturating_add(lines.len()),
            // Half a line must not stand before the next one.
            Err(_) => self.file.set_len(length)?,
        }
        written
    }

    fn rewrite(&mut self, lines: &[Line]) -> io::Result<()> {
        self.check_open()?;
        let fresh = self.path.with_extension("new");
        let mut file = File::create(&fresh)?;
        file.write_all(&encode(lines)?)?;
        file.sync_data()?;
        fs::rename(&fresh, &self.path)?;
        if let Some(folder) = self.path.parent() {
            sync_folder(folder)?;
        }
        self.file = OpenOptions::new().append(true).open(&self.path)?;
        self.lines = lines.len();
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn encode(lines: &[Line]) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    Ok(bytes)
}

/// The lines, and how many bytes of whole lines there are.
fn parse(path: &Path, bytes: &[u8]) -> Result<(Vec<Line>, usize), JournalError> {
    let mut lines = Vec::new();
    let mut whole = 0_usize;
    for (number, line) in bytes.split_inclusive(|byte| *byte == b'\n').enumerate() {
        if !line.ends_with(b"\n") {
            break;
        }
        lines.push(
            serde_json::from_slice(line).map_err(|cause| JournalError::Damaged {
                path: path.to_owned(),
                line: number.saturating_add(1),
                cause,
            })?,
        );
        whole = whole.saturating_add(line.len());
    }
    Ok((lines, whole))
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests;

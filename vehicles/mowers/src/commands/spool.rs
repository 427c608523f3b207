//! Stops that were sent while the records were down: appended to a file, one
//! line each, and written into the records when they are back.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use super::bulk::kept::{self, Head};
use super::record::Record;
use super::store;
use crate::records::{Records, RecordsError};

#[cfg(test)]
mod tests;

/// Why a stop was not noted.
#[derive(Debug, Error)]
pub enum SpoolError {
    /// The file cannot be used.
    #[error("the spool `{path}`: {cause}")]
    File {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// A record has no JSON form.
    #[error("a stop has no JSON form: {0}")]
    Form(#[from] serde_json::Error),
    /// The records are still down.
    #[error(transparent)]
    Records(#[from] RecordsError),
    /// The task that writes broke off.
    #[error("the writing of the spool broke off")]
    BrokeOff,
}

/// One line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// A stop of many; its commands follow.
    Many(Head),
    /// A stop.
    Stop(Box<Record>),
}

/// The file of stops that are not on record yet.
#[derive(Clone, Debug)]
pub struct Spool(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// Held while the file is written or emptied.
    file: Mutex<File>,
    /// The stops in it.
    ids: Mutex<HashSet<Uuid>>,
    /// One replay at a time.
    replaying: tokio::sync::Mutex<()>,
}

impl Spool {
    /// Opens the file, which is made when it is not there.
    ///
    /// # Errors
    /// [`SpoolError::File`].
    pub fn open(path: &Path) -> Result<Self, SpoolError> {
        let failed = |cause| SpoolError::File {
            path: path.to_owned(),
            cause,
        };
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(path)
            .map_err(failed)?;
        let content = read(path).map_err(failed)?;
        let ids = content.records.iter().map(|it| it.envelope.command_id);
        Ok(Self(Arc::new(Inner {
            path: path.to_owned(),
            file: Mutex::new(file),
            ids: Mutex::new(ids.collect()),
            replaying: tokio::sync::Mutex::new(()),
        })))
    }

    /// Whether a stop waits here for its record.
    #[must_use]
    pub fn holds(&self, command: Uuid) -> bool {
        self.0.ids().contains(&command)
    }

    /// How many stops wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.ids().len()
    }

    /// Whether nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.ids().is_empty()
    }

    /// Appends stops; they are on the disk when this returns.
    ///
    /// # Errors
    /// [`SpoolError`]; then nothing is known to be on the disk.
    pub async fn append(&self, head: Option<&Head>, records: &[Record]) -> Result<(), SpoolError> {
        // Ends what a write that broke off may have left.
        let mut lines = vec![b'\n'];
        let head = head.map(|head| Line::Many(head.clone()));
        let stops = records.iter().map(|it| Line::Stop(Box::new(it.clone())));
        for line in head.into_iter().chain(stops) {
            serde_json::to_writer(&mut lines, &line)?;
            lines.push(b'\n');
        }
        let ids: Vec<Uuid> = records.iter().map(|it| it.envelope.command_id).collect();
        let inner = Arc::clone(&self.0);
        let written = tokio::task::spawn_blocking(move || inner.write(&lines, &ids));
        written.await.map_err(|_| SpoolError::BrokeOff)?
    }

    /// Writes what waits into the records, and empties the file. The stops that
    /// waited.
    ///
    /// # Errors
    /// [`SpoolError`]; then everything still waits. A stop that is on record
    /// already is not written again.
    pub async fn replay(&self, records: &Records) -> Result<Vec<Record>, SpoolError> {
        if self.is_empty() {
            return Ok(Vec::new());
        }
        let _one_at_a_time = self.0.replaying.lock().await;
        let (content, length) = self.0.content()?;
        let mut transaction = records.begin().await?;
        for head in &content.heads {
            kept::insert(&mut transaction, head).await?;
        }
        store::insert(&mut transaction, &content.records).await?;
        transaction.commit().await.map_err(RecordsError::from)?;
        let inner = Arc::clone(&self.0);
        let emptied = tokio::task::spawn_blocking(move || {
            inner.forget(&content, length)?;
            Ok(content.records)
        });
        emptied.await.map_err(|_| SpoolError::BrokeOff)?
    }
}

impl Inner {
    fn write(&self, lines: &[u8], ids: &[Uuid]) -> Result<(), SpoolError> {
        let mut file = self.file();
        file.write_all(lines)
            .and_then(|()| file.sync_data())
            .map_err(|cause| self.failed(cause))?;
        self.ids().extend(ids);
        Ok(())
    }

    /// What the file holds, and how long it is.
    fn content(&self) -> Result<(Content, u64), SpoolError> {
        let file = self.file();
        let length = file.metadata().map_err(|cause| self.failed(cause))?.len();
        let content = read(&self.path).map_err(|cause| self.failed(cause))?;
        Ok((content, length))
    }

    /// Empties the file of what was read at `length`; what came since stays for
    /// the next time. Lines that nobody can read are kept beside it.
    fn forget(&self, content: &Content, length: u64) -> Result<(), SpoolError> {
        let file = self.file();
        let failed = |cause| self.failed(cause);
        for line in &content.unreadable {
            tracing::error!("a line of the spool is unreadable; it is kept beside the file");
            let path = self.path.with_extension("unreadable");
            let kept = OpenOptions::new().create(true).append(true).open(path);
            kept.and_then(|mut kept| writeln!(kept, "{line}"))
                .map_err(failed)?;
        }
        if file.metadata().map_err(failed)?.len() != length {
            return Ok(());
        }
        file.set_len(0)
            .and_then(|()| file.sync_data())
            .map_err(failed)?;
        let mut ids = self.ids();
        for record in &content.records {
            ids.remove(&record.envelope.command_id);
        }
        Ok(())
    }

    fn failed(&self, cause: io::Error) -> SpoolError {
        SpoolError::File {
            path: self.path.clone(),
            cause,
        }
    }

    fn file(&self) -> MutexGuard<'_, File> {
        self.file.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ids(&self) -> MutexGuard<'_, HashSet<Uuid>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a spool holds.
struct Content {
    heads: Vec<Head>,
    records: Vec<Record>,
    /// A write that broke off leaves such a line.
    unreadable: Vec<String>,
}

fn read(path: &Path) -> io::Result<Content> {
    let bytes = std::fs::read(path)?;
    let mut content = Content {
        heads: Vec::new(),
        records: Vec::new(),
        unreadable: Vec::new(),
    };
    for line in bytes
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        match serde_json::from_slice(line) {
            Ok(Line::Many(head)) => content.heads.push(head),
            Ok(Line::Stop(record)) => content.records.push(*record),
            Err(_) => {
                let line = String::from_utf8_lossy(line).into_owned();
                content.unreadable.push(line);
            }
        }
    }
    Ok(content)
}

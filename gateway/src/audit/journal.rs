//! The file: whole lines or nothing, and a new file when the old one is gone.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::Deserialize;

use crate::audit::chain::{Chain, Entry, Follows, GENESIS};
use crate::audit::{AuditError, AuditHead, AuditSettings};

/// How much of an older file's end is read to find its last line, in bytes.
const TAIL: u64 = 256 * 1024;

pub(super) struct Journal {
    directory: PathBuf,
    instance: String,
    start: u64,
    file: Option<File>,
    /// Where the last whole line ends.
    length: u64,
    /// Whether something may stand after it.
    torn: bool,
    chain: Chain,
}

/// `instance.number.jsonl`.
pub(super) fn file_name(instance: &str, start: u64) -> String {
    format!("{instance}.{start:06}.jsonl")
}

/// Reads a [`file_name`] back.
pub(super) fn parse_file_name(name: &str) -> Option<(&str, u64)> {
    let (instance, start) = name.strip_suffix(".jsonl")?.split_once('.')?;
    Some((instance, start.parse().ok()?))
}

impl Journal {
    pub(super) fn open(settings: &AuditSettings, now: Timestamp) -> Result<Self, AuditError> {
        let is_name_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let instance = settings.instance.clone();
        if instance.is_empty() || instance.len() > 64 || !instance.chars().all(is_name_char) {
            return Err(AuditError::Instance(instance));
        }
        let opened = || -> io::Result<Self> {
            fs::create_dir_all(&settings.directory)?;
            let last = last_start(&settings.directory, &instance)?;
            let follows = match last {
                0 => None,
                start => Some(Follows {
                    hash: last_hash(&settings.directory.join(file_name(&instance, start)))?,
                    start,
                }),
            };
            let mut journal = Self {
                directory: settings.directory.clone(),
                instance: instance.clone(),
                start: last,
                file: None,
                length: 0,
                torn: false,
                chain: Chain::new(),
            };
            journal.begin(follows.as_ref(), now)?;
            Ok(journal)
        };
        opened().map_err(|cause| AuditError::Open {
            directory: settings.directory.clone(),
            cause,
        })
    }

    pub(super) fn head(&self) -> AuditHead {
        AuditHead {
            instance: self.instance.clone(),
            start: self.start,
            seq: self.chain.next.saturating_sub(1),
            hash: self.chain.hash.clone(),
        }
    }

    /// Appends all entries or none. Durable if `sync`.
    pub(super) fn append(
        &mut self,
        entries: &[Entry<'_>],
        now: Timestamp,
        sync: bool,
    ) -> io::Result<()> {
        let removed = match &self.file {
            // Records written to a removed file would be read by nobody.
            Some(file) => file.metadata()?.nlink() == 0,
            None => true,
        };
        if removed {
            let follows = Follows {
                hash: self.chain.hash.clone(),
                start: self.start,
            };
            self.begin(Some(&follows), now)?;
        }
        self.write(entries, sync)
    }

    /// Begins the next file of the instance.
    fn begin(&mut self, follows: Option<&Follows>, now: Timestamp) -> io::Result<()> {
        let start = self.start.saturating_add(1);
        let path = self.directory.join(file_name(&self.instance, start));
        let mut options = OpenOptions::new();
        let file = options
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        let mut next = Self {
            directory: self.directory.clone(),
            instance: self.instance.clone(),
            start,
            file: Some(file),
            length: 0,
            torn: false,
            chain: Chain::new(),
        };
        let instance = self.instance.clone();
        let entry = Entry::Start {
            at: now,
            instance: &instance,
            start,
            follows,
        };
        next.write(&[entry], true)?;
        File::open(&self.directory)?.sync_all()?;
        *self = next;
        Ok(())
    }

    fn write(&mut self, entries: &[Entry<'_>], sync: bool) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Err(io::ErrorKind::NotFound.into());
        };
        if self.torn {
            file.set_len(self.length)?;
            file.seek(SeekFrom::Start(self.length))?;
            self.torn = false;
        }
        let mut chain = self.chain.clone();
        let mut lines = Vec::with_capacity(entries.len() * 512);
        for entry in entries {
            chain.link(entry, &mut lines)?;
        }
        let written = file.write_all(&lines).and_then(|()| match sync {
            true => file.sync_data(),
            false => Ok(()),
        });
        if written.is_err() {
            self.torn = true;
            return written;
        }
        self.length = self.length.saturating_add(lines.len() as u64);
        self.chain = chain;
        Ok(())
    }
}

/// The highest number a file of this instance has; 0 if there is none.
fn last_start(directory: &Path, instance: &str) -> io::Result<u64> {
    let mut last = 0;
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        if let Some((of, start)) = name.to_str().and_then(parse_file_name)
            && of == instance
        {
            last = last.max(start);
        }
    }
    Ok(last)
}

/// The hash of the last whole line; [`GENESIS`] if there is none.
fn last_hash(path: &Path) -> io::Result<String> {
    #[derive(Deserialize)]
    struct Linked {
        hash: String,
    }
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let whole = match tail.iter().rposition(|byte| *byte == b'\n') {
        Some(end) => tail.get(..end).unwrap_or_default(),
        None => &[],
    };
    let line = whole
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    Ok(serde_json::from_slice::<Linked>(line).map_or(GENESIS.to_owned(), |line| line.hash))
}

//! Checks record files: every line, every link, and the ends.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::audit::chain::{Follows, GENESIS};
use crate::audit::journal::parse_file_name;
use crate::identity::hex;

/// What was found sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifyReport {
    /// Every file, in order.
    pub chains: Vec<ChainReport>,
}

/// One sound file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainReport {
    /// The file.
    pub file: PathBuf,
    /// The gateway that wrote it.
    pub instance: String,
    /// Which file of the instance, counted from 1.
    pub start: u64,
    /// How many lines it has.
    pub records: u64,
    /// The last line's hash.
    pub head: String,
    /// How it ends.
    pub ending: Ending,
}

/// How a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// With an `end` record: the gateway was shut down.
    Closed,
    /// Without one: the gateway runs, was killed, or the tail was cut. Only a
    /// head noted elsewhere can tell.
    Open,
}

/// What is not as it was written.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// A file cannot be read.
    #[error("cannot read `{file}`: {cause}")]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system said.
        cause: io::Error,
    },
    /// Nothing to verify.
    #[error("no record files `*.jsonl` in `{file}`")]
    Nothing {
        /// The directory.
        file: PathBuf,
    },
    /// A line is not a record in canonical form.
    #[error("`{file}` line {line}: not a record in canonical JSON: it was changed")]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
    },
    /// The last line has no end.
    #[error("`{file}` line {line}: the line has no end: it was cut, or the writer was killed")]
    Torn {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
    },
    /// A line's hash is not its own.
    #[error("`{file}` line {line}: the hash does not match: the record was changed")]
    Changed {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
    },
    /// A line does not follow the one before.
    #[error(
        "`{file}` line {line}: it does not follow the line before: a record was removed, added or moved"
    )]
    Unlinked {
        /// The file.
        file: PathBuf,
        /// Counted from 1.
        line: u64,
    },
    /// The first line does not begin this file, or follows another head than
    /// the file before has.
    #[error("`{file}`: it does not follow {expected}: a file was cut, removed or renamed")]
    WrongStart {
        /// The file.
        file: PathBuf,
        /// What it should follow.
        expected: String,
    },
    /// The noted head is in none of the files.
    #[error("the head `{head}` is in none of the records: the tail was cut")]
    HeadMissing {
        /// The head that was noted.
        head: String,
    },
}

/// Verifies one file, or every `*.jsonl` file in a directory. A head noted
/// earlier, from the ops listener, must be one of the hashes.
pub fn verify(path: &Path, expected_head: Option<&str>) -> Result<VerifyReport, VerifyError> {
    let read = |cause| VerifyError::Read {
        file: path.to_owned(),
        cause,
    };
    let files = match fs::metadata(path).map_err(read)?.is_dir() {
        true => record_files(path).map_err(read)?,
        false => vec![path.to_owned()],
    };
    if files.is_empty() {
        return Err(VerifyError::Nothing {
            file: path.to_owned(),
        });
    }
    let mut head_found = expected_head.is_none();
    let mut chains: Vec<ChainReport> = Vec::with_capacity(files.len());
    for file in files {
        let checked = check_file(&file, expected_head)?;
        head_found |= checked.head_found;
        if let Some(before) = chains
            .last()
            .filter(|before| before.instance == checked.report.instance)
        {
            check_succession(before, &checked)?;
        }
        chains.push(checked.report);
    }
    match expected_head {
        Some(head) if !head_found => Err(VerifyError::HeadMissing {
            head: head.to_owned(),
        }),
        _ => Ok(VerifyReport { chains }),
    }
}

/// The files of a directory, by instance and number.
fn record_files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "jsonl")
        {
            let name = path.file_name().and_then(|name| name.to_str());
            let key = name
                .and_then(parse_file_name)
                .map(|(instance, start)| (instance.to_owned(), start));
            files.insert((key, path.clone()), path);
        }
    }
    Ok(files.into_values().collect())
}

struct Checked {
    report: ChainReport,
    follows: Option<Follows>,
    head_found: bool,
}

#[derive(Deserialize)]
struct Link {
    seq: u64,
    prev: String,
    hash: String,
    kind: String,
    instance: Option<String>,
    start: Option<u64>,
    follows: Option<Follows>,
}

fn check_file(file: &Path, expected_head: Option<&str>) -> Result<Checked, VerifyError> {
    let text = fs::read(file).map_err(|cause| VerifyError::Read {
        file: file.to_owned(),
        cause,
    })?;
    let mut prev = GENESIS.to_owned();
    let mut count = 0_u64;
    let mut first: Option<Link> = None;
    let mut ending = Ending::Open;
    let mut head_found = false;
    for whole in text.split_inclusive(|byte| *byte == b'\n') {
        let line = count.saturating_add(1);
        let Some((b'\n', record)) = whole.split_last().map(|(end, rest)| (*end, rest)) else {
            return Err(VerifyError::Torn {
                file: file.to_owned(),
                line,
            });
        };
        let link = check_line(file, line, record)?;
        // Nothing is written after `end`, and `start` is the first line only.
        let in_place = (link.kind == "start") == (count == 0) && ending == Ending::Open;
        if link.seq != count || link.prev != prev || !in_place {
            return Err(VerifyError::Unlinked {
                file: file.to_owned(),
                line,
            });
        }
        head_found |= expected_head == Some(link.hash.as_str());
        if link.kind == "end" {
            ending = Ending::Closed;
        }
        prev.clone_from(&link.hash);
        first.get_or_insert(link);
        count = line;
    }
    let named = file
        .file_name()
        .and_then(|name| name.to_str())
        .and_then(parse_file_name);
    let begun = first.and_then(|first| Some((first.instance?, first.start?, first.follows)));
    let (Some((instance, start, follows)), Some(named)) = (begun, named) else {
        return Err(wrong_start(file, "a `start` record of its own name"));
    };
    if named != (instance.as_str(), start) {
        return Err(wrong_start(file, "a `start` record of its own name"));
    }
    Ok(Checked {
        report: ChainReport {
            file: file.to_owned(),
            instance,
            start,
            records: count,
            head: prev,
            ending,
        },
        follows,
        head_found,
    })
}

fn check_line(file: &Path, line: u64, record: &[u8]) -> Result<Link, VerifyError> {
    let unreadable = || VerifyError::Unreadable {
        file: file.to_owned(),
        line,
    };
    let mut value: Value = serde_json::from_slice(record).map_err(|_| unreadable())?;
    let canonical = serde_json_canonicalizer::to_vec(&value).map_err(|_| unreadable())?;
    if canonical != record {
        return Err(unreadable());
    }
    let link: Link = serde_json::from_slice(record).map_err(|_| unreadable())?;
    if let Some(members) = value.as_object_mut() {
        members.remove("hash");
    }
    let hashed = serde_json_canonicalizer::to_vec(&value).map_err(|_| unreadable())?;
    if hex(&Sha256::digest(hashed)) != link.hash {
        return Err(VerifyError::Changed {
            file: file.to_owned(),
            line,
        });
    }
    Ok(link)
}

/// A file must follow the end of the file before it.
fn check_succession(before: &ChainReport, checked: &Checked) -> Result<(), VerifyError> {
    let expected = Follows {
        hash: before.head.clone(),
        start: before.start,
    };
    let numbered = checked.report.start == before.start.saturating_add(1);
    if numbered && checked.follows.as_ref() == Some(&expected) {
        return Ok(());
    }
    Err(wrong_start(
        &checked.report.file,
        &format!("`{}`", before.file.display()),
    ))
}

fn wrong_start(file: &Path, expected: &str) -> VerifyError {
    VerifyError::WrongStart {
        file: file.to_owned(),
        expected: expected.to_owned(),
    }
}

//! Watching a bundle: pure steps, so that the caller owns the clock.

use std::path::{Path, PathBuf};

use crate::bundle::Bundle;
use crate::bundle::files::Files;
use crate::diagnostics::Diagnostics;

/// What one look at the directory found.
#[derive(Debug)]
pub enum Reload {
    /// Nothing new, or something new that is still being written.
    Unchanged,
    /// Another bundle, which passed every check.
    Loaded(Bundle),
    /// Another bundle, which did not. The one in force stays.
    Refused(Diagnostics),
}

/// Looks at a bundle directory again and again.
///
/// A state is loaded once two looks in a row have read exactly the same, so
/// that a half-written one is left alone; and from the bytes that were read,
/// so that what was checked is what comes into force. A refused state is
/// reported once, until it changes.
#[derive(Debug)]
pub struct Reloader {
    directory: PathBuf,
    // What is in force, or was last refused.
    settled: Option<State>,
    // What the last look read, if it differed from that.
    seen: Option<State>,
}

/// The state of a directory as one look read it.
#[derive(Debug, PartialEq, Eq)]
enum State {
    Read(String),
    Unreadable(Diagnostics),
}

impl Reloader {
    /// Watches `directory`; `active` is the hash of the bundle in force, if
    /// one is.
    pub fn new(directory: &Path, active: Option<&str>) -> Self {
        Self {
            directory: directory.to_owned(),
            settled: active.map(|hash| State::Read(hash.to_owned())),
            seen: None,
        }
    }

    /// Looks once. Twice as often as an edit may take to come into force is
    /// often enough.
    pub fn look(&mut self) -> Reload {
        let read = Files::read(&self.directory);
        let state = match &read {
            Ok(files) => State::Read(files.hash()),
            Err(faults) => State::Unreadable(faults.clone()),
        };
        if self.settled.as_ref() == Some(&state) {
            self.seen = None;
            return Reload::Unchanged;
        }
        if self.seen.as_ref() != Some(&state) {
            self.seen = Some(state);
            return Reload::Unchanged;
        }
        self.seen = None;
        self.settled = Some(state);
        match read.and_then(|files| Bundle::from_files(&files)) {
            Ok(bundle) => Reload::Loaded(bundle),
            Err(faults) => Reload::Refused(faults),
        }
    }
}

#[cfg(test)]
mod tests;

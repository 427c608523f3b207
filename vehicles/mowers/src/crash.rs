//! Named points at which a test ends the process as `kill -9` would.
//!
//! Off unless the process is started with `INTERLOCK_MOWERS_CRASH_AT`; then a point costs one
//! comparison.

use thiserror::Error;

/// The environment variable that names the point.
pub const CRASH_VARIABLE: &str = "INTERLOCK_MOWERS_CRASH_AT";

/// One side of a transition or a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrashPoint {
    /// A change of the hierarchy is announced, nothing is written.
    ChangeAnnounced,
    /// Its rows are written and not committed; nothing is fed.
    ChangeWritten,
    /// The gateway's registry has it; the rows are not committed.
    ChangeFed,
    /// It is committed; nobody was told.
    ChangeCommitted,
    /// Its event is on the bus, and still noted as unsent.
    EventSent,
    /// A command was checked; nothing is written.
    CommandChecked,
    /// It is committed; nothing is published.
    CommandCommitted,
    /// It is published, or not; its operation is not finished.
    CommandPublished,
    /// The answer is about to leave.
    CommandAnswered,
    /// A stop has raised the epoch; nothing is published.
    StopRaised,
    /// A stop is published; it is on no record.
    StopPublished,
}

/// Every point, by the name the variable uses.
pub const CRASH_POINTS: &[(&str, CrashPoint)] = &[
    ("change-announced", CrashPoint::ChangeAnnounced),
    ("change-written", CrashPoint::ChangeWritten),
    ("change-fed", CrashPoint::ChangeFed),
    ("change-committed", CrashPoint::ChangeCommitted),
    ("event-sent", CrashPoint::EventSent),
    ("command-checked", CrashPoint::CommandChecked),
    ("command-committed", CrashPoint::CommandCommitted),
    ("command-published", CrashPoint::CommandPublished),
    ("command-answered", CrashPoint::CommandAnswered),
    ("stop-raised", CrashPoint::StopRaised),
    ("stop-published", CrashPoint::StopPublished),
];

/// Where this process is to end, if anywhere.
#[derive(Clone, Debug, Default)]
pub struct Crash {
    at: Option<CrashPoint>,
    /// A test of this crate ends a task instead of the process it shares.
    #[cfg(test)]
    hangs: Option<std::sync::Arc<tokio::sync::Notify>>,
}

impl Crash {
    /// The point of this name; none and an empty name mean nowhere.
    ///
    /// # Errors
    /// [`UnknownPoint`] for any other name: a misspelled test would pass for the wrong reason.
    pub fn parse(name: Option<&str>) -> Result<Self, UnknownPoint> {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Ok(Self::default());
        };
        let point = CRASH_POINTS.iter().find(|(known, _)| *known == name);
        match point {
            Some((_, point)) => Ok(Self {
                at: Some(*point),
                #[cfg(test)]
                hangs: None,
            }),
            None => Err(UnknownPoint(name.to_owned())),
        }
    }

    /// Goes no further than this point, for ever, and tells that it got there: the task that
    /// waits is then dropped.
    #[cfg(test)]
    pub(crate) fn hang(point: CrashPoint) -> (Self, std::sync::Arc<tokio::sync::Notify>) {
        let there = std::sync::Arc::new(tokio::sync::Notify::new());
        let crash = Self {
            at: Some(point),
            hangs: Some(std::sync::Arc::clone(&there)),
        };
        (crash, there)
    }

    /// Ends the process here and now if this is the point: no destructor runs, nothing is
    /// flushed, as if the machine had killed it.
    pub async fn reached(&self, point: CrashPoint) {
        if self.at != Some(point) {
            return;
        }
        #[cfg(test)]
        if let Some(there) = &self.hangs {
            there.notify_one();
            std::future::pending::<()>().await;
        }
        std::process::abort();
    }
}

/// The variable names no point.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{CRASH_VARIABLE}: `{0}` is no crash point")]
pub struct UnknownPoint(pub String);

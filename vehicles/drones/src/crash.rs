//! Named points at which a test ends the process as `kill -9` would.
//!
//! Off unless the process is started with `INTERLOCK_DRONES_CRASH_AT`; then the point costs one
//! comparison.

use thiserror::Error;

/// The environment variable that names the point.
pub const CRASH_VARIABLE: &str = "INTERLOCK_DRONES_CRASH_AT";

/// One side of a transition or a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrashPoint {
    /// A start was checked, nothing is written.
    BeforeBegin,
    /// A start is durable, nothing is sent.
    AfterBegin,
    /// The start frame is about to go to the link.
    BeforeLinkSend,
    /// The start frame may be on the wire, its answer has not been looked at.
    AfterLinkSend,
    /// The swarm has answered.
    AfterAck,
    /// The outcome is about to be written.
    BeforeFinish,
    /// The outcome is durable.
    AfterFinish,
    /// The answer is about to leave.
    BeforeAnswer,
    /// A stop has raised the epoch, nothing is sent.
    StopBeforeLink,
    /// A stop was sent and answered by the swarm.
    StopAfterLink,
}

/// Every point, by the name the variable uses.
pub const CRASH_POINTS: &[(&str, CrashPoint)] = &[
    ("before-begin", CrashPoint::BeforeBegin),
    ("after-begin", CrashPoint::AfterBegin),
    ("before-link-send", CrashPoint::BeforeLinkSend),
    ("after-link-send", CrashPoint::AfterLinkSend),
    ("after-ack", CrashPoint::AfterAck),
    ("before-finish", CrashPoint::BeforeFinish),
    ("after-finish", CrashPoint::AfterFinish),
    ("before-answer", CrashPoint::BeforeAnswer),
    ("stop-before-link", CrashPoint::StopBeforeLink),
    ("stop-after-link", CrashPoint::StopAfterLink),
];

/// Where this process is to end, if anywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashAt(Option<CrashPoint>);

impl CrashAt {
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
            Some((_, point)) => Ok(Self(Some(*point))),
            None => Err(UnknownPoint(name.to_owned())),
        }
    }

    /// Ends the process here and now if this is the point: no destructor runs, nothing is
    /// flushed, as if the machine had killed it.
    pub fn reached(self, point: CrashPoint) {
        if self.0 == Some(point) {
            std::process::abort();
        }
    }
}

/// The variable names no point.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{CRASH_VARIABLE}: `{0}` is no crash point")]
pub struct UnknownPoint(pub String);

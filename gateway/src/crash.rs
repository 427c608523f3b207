//! Named points at which a test ends the process as `kill -9` would.
//!
//! Off unless the process is started with `INTERLOCK_CRASH_AT`; then a point
//! costs one comparison.

use thiserror::Error;

/// The environment variable that names the point.
pub const CRASH_VARIABLE: &str = "INTERLOCK_CRASH_AT";

/// One side of a transition or a send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrashPoint {
    /// A key is about to be claimed.
    BeforeClaim,
    /// The key is claimed, nothing else happened.
    AfterClaim,
    /// A proposal was previewed, the plan is not stored.
    BeforeInsert,
    /// The plan is stored, its key is not finished.
    AfterInsert,
    /// A decision is made, the plan is not swapped.
    BeforeDecide,
    /// The plan is approved or rejected, its key is not finished.
    AfterDecide,
    /// A code matched, the plan is not swapped.
    BeforeConsume,
    /// The plan is `Dispatching`, nothing is recorded or sent.
    AfterConsume,
    /// The intent is recorded, nothing is sent.
    BeforeSend,
    /// The service has answered, nothing is written.
    AfterSend,
    /// The plan is finished, its key is not.
    AfterFinish,
    /// The key is finished, the caller has no answer.
    AfterKey,
    /// A settler holds the plan, the service was not asked.
    BeforeSettle,
    /// The service has answered the settler, nothing is written.
    AfterSettle,
    /// A stop is decided, nothing is sent.
    StopBeforeSend,
    /// The service has answered a stop, the caller has no answer.
    StopAfterSend,
}

/// Every point, by the name the variable uses.
pub const CRASH_POINTS: &[(&str, CrashPoint)] = &[
    ("before-claim", CrashPoint::BeforeClaim),
    ("after-claim", CrashPoint::AfterClaim),
    ("before-insert", CrashPoint::BeforeInsert),
    ("after-insert", CrashPoint::AfterInsert),
    ("before-decide", CrashPoint::BeforeDecide),
    ("after-decide", CrashPoint::AfterDecide),
    ("before-consume", CrashPoint::BeforeConsume),
    ("after-consume", CrashPoint::AfterConsume),
    ("before-send", CrashPoint::BeforeSend),
    ("after-send", CrashPoint::AfterSend),
    ("after-finish", CrashPoint::AfterFinish),
    ("after-key", CrashPoint::AfterKey),
    ("before-settle", CrashPoint::BeforeSettle),
    ("after-settle", CrashPoint::AfterSettle),
    ("stop-before-send", CrashPoint::StopBeforeSend),
    ("stop-after-send", CrashPoint::StopAfterSend),
];

/// Where this process is to end, if anywhere.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrashAt(Option<CrashPoint>);

impl CrashAt {
    /// The point of this name; none and an empty name mean nowhere.
    ///
    /// # Errors
    /// [`UnknownPoint`] for any other name: a misspelled test would pass for
    /// the wrong reason.
    pub fn parse(name: Option<&str>) -> Result<Self, UnknownPoint> {
        let Some(name) = name.filter(|name| !name.is_empty()) else {
            return Ok(Self::default());
        };
        match CRASH_POINTS.iter().find(|(known, _)| *known == name) {
            Some((_, point)) => Ok(Self(Some(*point))),
            None => Err(UnknownPoint(name.to_owned())),
        }
    }

    /// Ends the process here and now if this is the point: no destructor runs,
    /// nothing is flushed, as if the machine had killed it.
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

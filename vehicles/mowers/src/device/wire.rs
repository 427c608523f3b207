//! What the device gateway and the fleet service say to each other beside the
//! streams, in JSON; on which subjects stands in [`crate::bus::subject`].

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::contract::{Drive, PathError, StopSemantics};

/// Asks on `fleet.mowers.list` for one page of mowers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ListRequest {
    /// What the page before gave as `next`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Uuid>,
}

/// One page of mowers, in any order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ListAnswer {
    /// The mowers.
    pub mowers: Vec<MowerEntry>,
    /// Where the next page begins; none at the end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Uuid>,
}

/// What a shard must know to talk to a mower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MowerEntry {
    /// Which mower.
    pub mower_id: Uuid,
    /// Whose it is.
    pub account_id: String,
    /// How it is reached.
    pub connection: ConnectionSpec,
    /// The epoch of its last stop, as the records say.
    #[serde(default)]
    pub stop_epoch: u64,
    /// How often it was paused or sent home, as the records say.
    #[serde(default)]
    pub calm_epoch: u64,
}

/// How a mower is reached. Holds no secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConnectionSpec {
    /// `simulated`, `cloud`, `ble_bridge`, `local`.
    pub kind: String,
    /// What the adapter of that kind wants to know.
    #[serde(default)]
    pub options: Value,
}

/// Request on `fleet.leases`: a shard says that it lives and what it holds. Every shard asks every few
/// seconds; the asking is its heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRequest {
    /// The shard's name.
    pub shard: String,
    /// Made anew at each start, so that an older process of the same name is told apart.
    pub instance: Uuid,
    /// What it holds now; what it let go of is missing.
    pub holds: Vec<Hold>,
    /// It is ending and takes nothing more.
    #[serde(default)]
    pub leaving: bool,
}

/// What a shard may hold until `lease_ms` after it asked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseAnswer {
    /// The fleet service's clock, by which commands expire.
    pub now: Timestamp,
    /// Milliseconds, counted from when the shard sent its request.
    pub lease_ms: u64,
    /// All it may hold. What is missing must be let go of at once.
    pub holds: Vec<Hold>,
}

/// One mower and its holder's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// Which mower.
    pub mower_id: Uuid,
    /// Rises with each holder; the mower's side refuses a lower one.
    pub fence: u64,
    /// Since when shards of this name have held it without another in between.
    /// What was issued before is not this shard's to judge.
    pub since: Timestamp,
}

/// One frame of driving, on `drive.mower.<id>`. Never stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveFrame {
    /// Which mower.
    pub mower_id: Uuid,
    /// Its account.
    pub account_id: String,
    /// When the driver asked for it, as the gateway saw it: its `ttl_ms` counts
    /// from here.
    pub sent_at: Timestamp,
    /// What to do.
    pub frame: Drive,
}

/// Request on `drive.session.<id>`, answered with a [`DriveAnswer`] by the holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "snake_case")]
pub enum DriveControl {
    /// From now on frames of this session drive.
    Open {
        /// Names the session.
        session_id: Uuid,
        /// The mower's account.
        account_id: String,
        /// Who drives, for the log.
        holder: String,
        /// When the service opened it.
        opened_at: Timestamp,
        /// As in an envelope: a lower one than the last stop's is refused.
        stop_epoch: u64,
    },
    /// A zero frame, then no more.
    Close {
        /// Names the session.
        session_id: Uuid,
    },
}

/// What became of a [`DriveControl`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveAnswer {
    /// Names the session.
    pub session_id: Uuid,
    /// What holds now.
    pub state: DriveState,
    /// A machine code, when refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The open session, when that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_by: Option<Uuid>,
}

/// The states of a session at the device gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DriveState {
    /// Frames drive.
    Open,
    /// Frames are dropped.
    Closed,
    /// It was not opened.
    Refused,
}

/// Sent on `drive.ended.<id>` when a session ends, whatever the cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveEnded {
    /// Names the session.
    pub session_id: Uuid,
    /// Which mower.
    pub mower_id: Uuid,
    /// Its account.
    pub account_id: String,
    /// `closed`, `idle`, `stopped`, `calmed`, `lease-lost`, `released`.
    pub reason: String,
    /// Frames that drove.
    pub frames: u64,
    /// When.
    pub at: Timestamp,
}

/// The answer on `gateway.mower.<id>.stop`, at once: what was done first. The
/// device gateway goes on until the stop's end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StopAnswer {
    /// Which stop.
    pub command_id: Uuid,
    /// Which mower.
    pub mower_id: Uuid,
    /// What was done.
    pub done: StopDone,
    /// What a stop is on this mower.
    pub semantics: StopSemantics,
    /// A machine code, then text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When.
    pub at: Timestamp,
}

/// How far a stop came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopDone {
    /// The vendor has it.
    Sent,
    /// It did not go out; it is tried again until its end.
    NotSent,
    /// It may have gone out; it is tried again until its end.
    Unknown,
    /// Its life was over before it came.
    Expired,
}

/// Request on `gateway.mower.<id>.map`, `.capabilities`, `.state`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// The mower's account.
    pub account_id: String,
}

/// The answer to an [`Ask`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AskAnswer<T> {
    /// Here it is.
    Found(T),
    /// Why not.
    Error(PathError),
}

//! The seam to a mower: what an adapter for a vendor implements, the simulator
//! first of all.
//!
//! Sending and being answered are two things. A vendor that took a command may
//! answer late, twice, differently, or never; the device gateway makes one
//! final status of that.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use crate::contract::{Capabilities, Command, Drive, Map, MowerState, Path, PathError, Start};

/// What became of handing a command to the vendor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sent {
    /// The vendor has it; an [`Answer`] may follow.
    Taken,
    /// It certainly did not go out: offline, not connected.
    NotSent(String),
    /// The vendor's budget is used up; nothing happened.
    Limited {
        /// Seconds until it may be asked again.
        retry_after_s: u32,
    },
    /// It may have gone out.
    Unknown(String),
}

/// The vendor's word on a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Which command.
    pub command_id: Uuid,
    /// What it says.
    pub verdict: Verdict,
}

/// What a vendor says of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The effect is there; the text says `no-effect` where there was nothing to do.
    Executed(Option<String>),
    /// Not in this state: a machine code.
    Rejected(String),
    /// It tried and failed: a machine code.
    Failed(String),
}

/// A connected mower.
#[async_trait]
pub trait Connection: Send + Sync {
    /// Why there is no mower behind it, and will not be: no adapter for its kind, or
    /// options that are not the adapter's.
    fn absent(&self) -> Option<&str> {
        None
    }

    /// What it declares. Never waits.
    fn capabilities(&self) -> Arc<Capabilities>;

    /// Its map. Never waits.
    fn map(&self) -> Arc<Map>;

    /// Its latest state, and each later one.
    fn state(&self) -> watch::Receiver<Arc<MowerState>>;

    /// Hands over one command. `fence` is the holder's lease number: the mower
    /// side refuses a lower one than it has seen.
    async fn send(&self, fence: u64, command_id: Uuid, command: &Command) -> Sent;

    /// Hands over a stop, past everything that waits in [`Connection::send`].
    async fn stop(&self, command_id: Uuid, reason: Option<&str>) -> Sent;

    /// One frame of driving. Frames are never queued.
    fn drive(&self, fence: u64, frame: &Drive);

    /// Nobody drives by this session any more: the mower halts if it still drives
    /// by it, and the next driver need not wait until it finds out by itself.
    fn drive_over(&self, fence: u64, session_id: Uuid);

    /// Plans the path of a start and drives nothing.
    ///
    /// # Errors
    /// A [`PathError`] with its code.
    async fn plan(&self, start: &Start) -> Result<Path, PathError>;
}

/// A connection and the answers that come back over it.
pub struct Connected {
    /// The way to the mower.
    pub connection: Arc<dyn Connection>,
    /// The way back. Answers are never waited for by the mower.
    pub answers: mpsc::UnboundedReceiver<Answer>,
}

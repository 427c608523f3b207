//! The bus between the service and the device gateways: durable streams with
//! message ids, and plain requests that no stream may cover.
//!
//! Publishing has three outcomes, never two: a message nobody confirmed may
//! still be stored, and a mower may act on it.

pub mod local;
pub mod nats;
pub mod pattern;
pub mod stream;
pub mod subject;

use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use thiserror::Error;

use crate::contract::Priority;

pub use local::LocalBus;
pub use nats::NatsBus;

/// Requests and messages that a listener may be behind with; it misses what
/// comes while so many wait for it.
pub const LISTENER_QUEUE: usize = 1024;

/// The durable streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stream {
    /// `command.mower.*`
    Command,
    /// `command.stop.mower.*`; its own, so that a stop waits behind nothing.
    Stop,
    /// `command.result.mower.*`
    Result,
    /// `mower.*` and `identity.account.created`
    Events,
    /// `telemetry.mower.*`
    Telemetry,
}

/// One message for a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Which stream.
    pub stream: Stream,
    /// The full subject.
    pub subject: String,
    /// The same id inside the stream's window is stored once.
    pub id: String,
    /// Also sent as a header, so that a consumer need not parse to see a stop.
    pub priority: Priority,
    /// JSON.
    pub payload: Bytes,
}

impl Message {
    /// Refuses a message that no bus may take.
    ///
    /// # Errors
    /// [`BusError::Invalid`]: the subject is none, or not of the stream, the id
    /// is empty, not visible ASCII or too long, or the payload too large.
    pub fn check(&self) -> Result<(), BusError> {
        let invalid = |text: String| Err(BusError::Invalid(text));
        let subject = pattern::subject(&self.subject)?;
        if !self.stream.covers(&subject) {
            let name = self.stream.limits().name;
            return invalid(format!("`{}` is not in the stream {name}", self.subject));
        }
        let plain = self.id.bytes().all(|byte| byte.is_ascii_graphic());
        if self.id.is_empty() || self.id.len() > 255 || !plain {
            return invalid(format!("`{}` is not a message id", self.id));
        }
        let length = self.payload.len();
        if length > stream::MAX_MESSAGE {
            let most = stream::MAX_MESSAGE;
            return invalid(format!(
                "the message has {length} bytes, {most} are allowed"
            ));
        }
        Ok(())
    }
}

/// What became of a publish.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub enum Published {
    /// The stream has it; `duplicate` when it had this id already.
    Stored {
        /// Whether this very id was there before.
        duplicate: bool,
    },
    /// It certainly is not stored.
    Refused(String),
    /// Nobody confirmed in time: it may be stored.
    Unconfirmed(String),
}

/// Who reads a stream, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consumer {
    /// Which stream.
    pub stream: Stream,
    /// Durable name, shared by everybody who gives it; `None` reads only what
    /// comes from now on and is forgotten at the end.
    pub durable: Option<String>,
    /// Subjects to take, `*` standing for one token. Empty takes all.
    pub subjects: Vec<String>,
    /// Redelivered when not acknowledged for so long.
    pub ack_wait: Duration,
    /// Given up after so many deliveries; 0 never.
    pub max_deliver: u32,
    /// How many may be out and unacknowledged.
    pub max_ack_pending: u32,
}

impl Consumer {
    /// How long the first, second, ... delivery may go unanswered before the
    /// next; the last entry holds for all that follow.
    ///
    /// Where messages live for hours, redeliveries become rarer, up to
    /// [`stream::LONGEST_WAIT`]; where they live for seconds, they do not.
    #[must_use]
    pub fn waits(&self) -> Vec<Duration> {
        let mut waits = vec![self.ack_wait];
        let mut wait = self.ack_wait * 2;
        let most = match self.max_deliver {
            0 => u32::MAX,
            bounded => bounded - 1,
        };
        while self.stream.limits().patient
            && wait < stream::LONGEST_WAIT * 2
            && waits.len() < most as usize
        {
            waits.push(wait.min(stream::LONGEST_WAIT));
            wait *= 2;
        }
        waits
    }

    /// Refuses settings that no bus can keep.
    ///
    /// # Errors
    /// [`BusError::Invalid`]: a name that is not letters, digits, `-` and `_`,
    /// no acknowledge wait, nothing allowed to be out, a subject of another
    /// stream.
    pub fn check(&self) -> Result<(), BusError> {
        let invalid = |text: String| Err(BusError::Invalid(text));
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if let Some(name) = &self.durable
            && (name.is_empty() || name.len() > 64 || !name.bytes().all(plain))
        {
            return invalid(format!("`{name}` is not a name of a consumer"));
        }
        if self.ack_wait.is_zero() || self.max_ack_pending == 0 {
            return invalid("a consumer needs an acknowledge wait and room".to_owned());
        }
        for subject in &self.subjects {
            if !self.stream.covers(&pattern::Pattern::parse(subject)?) {
                let name = self.stream.limits().name;
                return invalid(format!("`{subject}` is not in the stream {name}"));
            }
        }
        Ok(())
    }
}

/// Takes messages one by one.
#[async_trait]
pub trait Consume: Send {
    /// The next message; waits for it. `Err` once when the bus was lost; the
    /// next call goes on when it is back.
    async fn next(&mut self) -> Result<Delivery, BusError>;
}

/// One delivery. Dropping it without a word means redelivery after `ack_wait`.
pub struct Delivery {
    /// The full subject.
    pub subject: String,
    /// The message id.
    pub id: String,
    /// The priority header.
    pub priority: Priority,
    /// JSON.
    pub payload: Bytes,
    /// The how-manieth delivery, from 1.
    pub attempt: u64,
    /// The way to answer.
    pub receipt: Box<dyn Receipt>,
}

/// What a consumer says of a delivery.
#[async_trait]
pub trait Receipt: Send {
    /// Done with it. Should the bus be killed right after, it may come again
    /// all the same.
    async fn ack(self: Box<Self>) -> Result<(), BusError>;
    /// Again, after so long.
    async fn retry(self: Box<Self>, after: Duration) -> Result<(), BusError>;
    /// Never again: it cannot be read.
    async fn reject(self: Box<Self>) -> Result<(), BusError>;
    /// Still working on it: the wait begins anew.
    async fn progress(&self) -> Result<(), BusError>;
}

/// A request that came in, and the way to answer it.
pub struct Asked {
    /// The full subject.
    pub subject: String,
    /// JSON.
    pub payload: Bytes,
    /// Answers it; at most once. Silence is an answer too: somebody else may
    /// hold the mower.
    pub reply: Box<dyn Reply>,
}

/// Answers one request.
#[async_trait]
pub trait Reply: Send {
    /// Sends the answer.
    async fn send(self: Box<Self>, payload: Bytes) -> Result<(), BusError>;
}

/// Requests or plain messages on a subject.
#[async_trait]
pub trait Listen: Send {
    /// The next one; waits for it.
    async fn next(&mut self) -> Result<Asked, BusError>;
}

/// Why the bus did not do something.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum BusError {
    /// Not connected.
    #[error("the bus cannot be reached: {0}")]
    Unavailable(String),
    /// The connection was lost after something was handed to it, and before
    /// anybody answered: it may have arrived.
    #[error("the bus was lost before an answer came on `{0}`")]
    Lost(String),
    /// No answer in time.
    #[error("nobody answered on `{0}` in time")]
    TimedOut(String),
    /// Nobody listens.
    #[error("nobody listens on `{0}`")]
    NoResponders(String),
    /// A fault in what was asked, such as a request on a subject of a stream.
    #[error("{0}")]
    Invalid(String),
}

/// The bus.
#[async_trait]
pub trait Bus: Send + Sync {
    /// Publishes into a stream and waits, at most `within`, for the stream's word.
    async fn publish(&self, message: &Message, within: Duration) -> Published;

    /// Reads a stream.
    ///
    /// # Errors
    /// The bus is not there, or the consumer cannot be made.
    async fn consume(&self, consumer: &Consumer) -> Result<Box<dyn Consume>, BusError>;

    /// Asks on a subject that no stream covers and waits for the first answer.
    ///
    /// # Errors
    /// Nobody listens, nobody answered in time, the bus is not there, or it was
    /// lost. After [`BusError::TimedOut`] and [`BusError::Lost`] somebody may
    /// have heard it; after every other one certainly nobody has, or will.
    async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        within: Duration,
    ) -> Result<Bytes, BusError>;

    /// Sends on a subject that no stream covers; nothing is stored.
    ///
    /// # Errors
    /// The bus is not there.
    async fn send(&self, subject: &str, payload: Bytes) -> Result<(), BusError>;

    /// Listens on a subject (`*` for one token) that no stream covers. Every
    /// listener gets every message: there are no queue groups.
    ///
    /// # Errors
    /// The bus is not there.
    async fn listen(&self, subject: &str) -> Result<Box<dyn Listen>, BusError>;

    /// Whether the bus answers now.
    fn connected(&self) -> bool;
}

#[cfg(test)]
mod tests;

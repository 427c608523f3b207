//! The bus over NATS with JetStream.
//!
//! JetStream delivers at least once and acknowledges before it has flushed to
//! disk, unless the server is set to `sync_interval: always`. So nothing here
//! is believed twice or forever: a command carries its end, a message id is
//! stored once, a device gateway remembers what it did, and a command without
//! a result shows itself as overdue.

mod link;
mod listener;
mod reader;
mod streams;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_nats::client::{Request, RequestErrorKind};
use async_nats::header::{HeaderMap, NATS_EXPECTED_STREAM, NATS_MESSAGE_ID};
use async_nats::jetstream::{self, ErrorCode, response::Response};
use async_trait::async_trait;
use bytes::Bytes;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::pattern::{self, Pattern};
use super::stream::{MAX_REQUEST, outside_streams};
use super::{Bus, BusError, Consume, Consumer, Listen, Message, Published};
use crate::contract::Priority;
use link::{Link, Links};
use listener::Listener;
use reader::Reader;

/// The header with a message's [`Priority`].
pub const PRIORITY_HEADER: &str = "Interlock-Priority";

/// Where the server is, and what is asked of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Settings {
    /// `nats://` or `tls://`, with user and password where the server wants
    /// them; several servers of one cluster are separated by commas.
    pub url: String,
    /// What the server calls this client.
    pub name: String,
    /// How many servers of a cluster keep each stream.
    pub replicas: usize,
}

impl fmt::Debug for Settings {
    /// Without the URL, which may hold a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("name", &self.name)
            .field("replicas", &self.replicas)
            .finish_non_exhaustive()
    }
}

/// A bus over NATS. It connects by itself, again and again.
pub struct NatsBus {
    links: Links,
    keeper: JoinHandle<()>,
}

impl NatsBus {
    /// Begins to connect; [`NatsBus::ready`] waits until that is done.
    ///
    /// # Errors
    /// [`BusError::Invalid`] for a URL that is none.
    pub fn start(settings: Settings) -> Result<NatsBus, BusError> {
        let servers = link::servers(&settings.url)?;
        let (links, keep) = link::keep(settings, servers);
        Ok(NatsBus {
            links,
            keeper: tokio::spawn(keep),
        })
    }

    /// Waits until the server is there, and fit: its streams are as they must
    /// be, no stream covers a request, and it takes messages that are large
    /// enough.
    ///
    /// # Errors
    /// Why it is not, after `within`.
    pub async fn ready(&self, within: Duration) -> Result<(), BusError> {
        let mut links = self.links.clone();
        match timeout(within, links.next()).await {
            Ok(link) => link.map(drop),
            Err(_) => self.links.current().map(drop),
        }
    }
}

impl Drop for NatsBus {
    fn drop(&mut self) {
        self.keeper.abort();
    }
}

#[async_trait]
impl Bus for NatsBus {
    async fn publish(&self, message: &Message, within: Duration) -> Published {
        let link = match message.check().and_then(|()| self.links.current()) {
            Ok(link) => link,
            Err(cause) => return Published::Refused(cause.to_string()),
        };
        // From here on it may be on its way. It never waits for a connection
        // to come back: a link that is over takes what is in it along.
        let mut headers = HeaderMap::new();
        headers.insert(NATS_MESSAGE_ID, message.id.as_str());
        headers.insert(NATS_EXPECTED_STREAM, message.stream.limits().name);
        headers.insert(PRIORITY_HEADER, word(message.priority));
        let request = Request::new()
            .headers(headers)
            .payload(message.payload.clone());
        match link.ask(&message.subject, request, within).await {
            Ok(answer) => acknowledged(&answer, message),
            Err(Lost::NoResponders) => {
                Published::Refused("the server has no stream for it".to_owned())
            }
            Err(Lost::TooLarge) => Published::Refused("the message is too large".to_owned()),
            Err(Lost::TimedOut) => Published::Unconfirmed("no acknowledgment in time".to_owned()),
            Err(Lost::Link) => {
                Published::Unconfirmed("the connection was lost before the acknowledgment".into())
            }
        }
    }

    async fn consume(&self, consumer: &Consumer) -> Result<Box<dyn Consume>, BusError> {
        consumer.check()?;
        let reader = Reader::open(self.links.clone(), consumer.clone()).await?;
        Ok(Box::new(reader))
    }

    async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        within: Duration,
    ) -> Result<Bytes, BusError> {
        outside_streams(&pattern::subject(subject)?)?;
        within_bounds(&payload)?;
        let link = self.links.current()?;
        // An inbox of its own: the shared one would remember every request that
        // nobody answers for as long as the connection lives.
        let request = Request::new()
            .payload(payload)
            .inbox(link.client.new_inbox());
        let answer = link.ask(subject, request, within).await;
        answer.map_err(|lost| match lost {
            Lost::NoResponders => BusError::NoResponders(subject.to_owned()),
            Lost::TimedOut => BusError::TimedOut(subject.to_owned()),
            Lost::TooLarge => BusError::Invalid("the server takes no such payload".to_owned()),
            // It was handed over: what the client had not written yet dies with
            // it, but nobody knows how far it came.
            Lost::Link => BusError::Lost(subject.to_owned()),
        })
    }

    async fn send(&self, subject: &str, payload: Bytes) -> Result<(), BusError> {
        outside_streams(&pattern::subject(subject)?)?;
        within_bounds(&payload)?;
        let link = self.links.current()?;
        link.tell(subject.to_owned(), payload).await
    }

    async fn listen(&self, subject: &str) -> Result<Box<dyn Listen>, BusError> {
        let pattern = Pattern::parse(subject)?;
        outside_streams(&pattern)?;
        let listener = Listener::open(self.links.clone(), pattern).await?;
        Ok(Box::new(listener))
    }

    fn connected(&self) -> bool {
        self.links.current().is_ok()
    }
}

/// Why there is no answer.
enum Lost {
    NoResponders,
    TimedOut,
    TooLarge,
    Link,
}

impl Link {
    /// Asks and waits for the first answer.
    async fn ask(
        self: &Arc<Link>,
        subject: &str,
        request: Request,
        within: Duration,
    ) -> Result<Bytes, Lost> {
        let asked = self
            .client
            .send_request(subject.to_owned(), request.timeout(None));
        tokio::select! {
            answer = asked => match answer {
                Ok(message) => Ok(message.payload),
                Err(cause) => Err(match cause.kind() {
                    RequestErrorKind::NoResponders => Lost::NoResponders,
                    RequestErrorKind::TimedOut => Lost::TimedOut,
                    RequestErrorKind::MaxPayloadExceeded => Lost::TooLarge,
                    RequestErrorKind::InvalidSubject | RequestErrorKind::Other => Lost::Link,
                }),
            },
            () = self.closed() => Err(Lost::Link),
            () = tokio::time::sleep(within) => Err(Lost::TimedOut),
        }
    }
}

/// What the stream's answer means. Only what certainly is not stored counts as
/// refused.
fn acknowledged(answer: &[u8], message: &Message) -> Published {
    let answer: Response<jetstream::publish::PublishAck> = match serde_json::from_slice(answer) {
        Ok(answer) => answer,
        Err(_) => return Published::Unconfirmed("the acknowledgment cannot be read".to_owned()),
    };
    match answer {
        Response::Ok(ack) if ack.stream == message.stream.limits().name => Published::Stored {
            duplicate: ack.duplicate,
        },
        Response::Ok(ack) => Published::Unconfirmed(format!("the stream {} has it", ack.stream)),
        Response::Err { error } => {
            let text = error.to_string();
            if is_certain(error.code(), error.error_code(), &text) {
                Published::Refused(text)
            } else {
                Published::Unconfirmed(text)
            }
        }
    }
}

/// Whether an error of a stream says that nothing was stored. A fault while it
/// was being stored says nothing, and a second copy of a message that is on its
/// way says nothing of the first.
fn is_certain(status: usize, code: ErrorCode, text: &str) -> bool {
    match code {
        ErrorCode::STREAM_DUPLICATE_MESSAGE_CONFLICT => false,
        ErrorCode::INSUFFICIENT_RESOURCES => true,
        // The bounds of a stream come under the same code as a broken disk.
        ErrorCode::STREAM_STORE_FAILED => text.contains("maximum"),
        _ => (400..500).contains(&status),
    }
}

fn within_bounds(payload: &Bytes) -> Result<(), BusError> {
    if payload.len() > MAX_REQUEST {
        return Err(BusError::Invalid(format!(
            "the message has {} bytes, {MAX_REQUEST} are allowed",
            payload.len()
        )));
    }
    Ok(())
}

const fn word(priority: Priority) -> &'static str {
    match priority {
        Priority::Emergency => "emergency",
        Priority::Normal => "normal",
    }
}

#[cfg(test)]
mod tests;

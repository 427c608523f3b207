//! Reading a stream: a pull consumer that asks for one message at a time, so
//! that no wait for an acknowledgment runs before somebody has the message.
//! Stops and results come many at a time: whoever reads them does not wait for
//! one before it takes the next, and a fleet must be neither stopped nor
//! recorded at the pace of the round trips.

use std::sync::Arc;
use std::time::Duration;

use async_nats::client::Request;
use async_nats::jetstream::AckKind;
use async_nats::jetstream::consumer::pull::{Batch, Config};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, ReplayPolicy};
use async_trait::async_trait;
use futures_util::StreamExt;
use tokio::time::sleep;

use super::link::{Link, Links, PATIENCE, lost};
use super::{Lost, PRIORITY_HEADER};
use crate::bus::{BusError, Consume, Consumer, Delivery, Receipt, Stream};
use crate::contract::Priority;

/// How long one question for a message stays with the server.
const PULL: Duration = Duration::from_secs(10);

/// How many stops are asked for at once.
const STOPS: usize = 256;

/// How many results are asked for at once.
const RESULTS: usize = 64;

/// A nameless consumer is forgotten by the server after so long without a word.
const FORGOTTEN: Duration = Duration::from_secs(30);

/// How many readers may wait at one consumer.
const MAX_WAITING: i64 = 512;

/// The pause after a fault, so that a caller that only tries again does not spin.
const PAUSE: Duration = Duration::from_millis(250);

/// One reader. After a lost connection it goes on where it was.
pub(super) struct Reader {
    links: Links,
    consumer: Consumer,
    open: Option<Open>,
    /// The last message that a nameless reader had.
    last: Option<u64>,
    failed: bool,
}

struct Open {
    link: Arc<Link>,
    /// How many messages are asked for at once.
    at_once: usize,
    server_side: PullConsumer,
    asked: Option<Batch>,
}

impl Reader {
    pub(super) async fn open(links: Links, consumer: Consumer) -> Result<Reader, BusError> {
        let mut reader = Reader {
            open: None,
            links,
            consumer,
            last: None,
            failed: false,
        };
        let link = reader.links.current()?;
        reader.open = Some(reader.attach(link).await?);
        Ok(reader)
    }

    /// Makes the consumer on the server, or changes it to our settings.
    async fn attach(&mut self, link: Arc<Link>) -> Result<Open, BusError> {
        let from = self.position(&link).await?;
        let name = self.consumer.stream.limits().name;
        let config = config(&self.consumer, from);
        let made = link.jetstream.create_consumer_on_stream(config, name);
        let server_side = tokio::select! {
            made = made => made.map_err(|cause| BusError::Unavailable(cause.to_string()))?,
            () = link.closed() => return Err(lost()),
        };
        if self.last.is_none() && self.consumer.durable.is_none() {
            self.last = Some(server_side.cached_info().delivered.stream_sequence);
        }
        Ok(Open {
            link,
            at_once: match self.consumer.stream {
                Stream::Stop => STOPS,
                Stream::Result => RESULTS,
                Stream::Command | Stream::Events | Stream::Telemetry => 1,
            },
            server_side,
            asked: None,
        })
    }

    /// Where to read from. A durable consumer knows that itself.
    async fn position(&self, link: &Link) -> Result<DeliverPolicy, BusError> {
        if self.consumer.durable.is_some() {
            return Ok(DeliverPolicy::All);
        }
        let Some(last) = self.last else {
            return Ok(DeliverPolicy::New);
        };
        let stream = link
            .jetstream
            .get_stream(self.consumer.stream.limits().name);
        let stream = stream.await;
        let stream = stream.map_err(|cause| BusError::Unavailable(cause.to_string()))?;
        // A stream in memory begins anew after a restart of the server.
        let known = stream.cached_info().state.last_sequence;
        let start_sequence = if known < last { 1 } else { last + 1 };
        Ok(DeliverPolicy::ByStartSequence { start_sequence })
    }

    async fn take(&mut self) -> Result<Delivery, BusError> {
        loop {
            if self.open.is_none() {
                let link = self.links.next().await?;
                self.open = Some(self.attach(link).await?);
            }
            let Some(open) = &mut self.open else {
                return Err(lost());
            };
            let Some(message) = open.next().await? else {
                continue;
            };
            let delivery = deliver(&open.link, message)?;
            if self.consumer.durable.is_none() {
                self.last = Some(delivery.0);
            }
            return Ok(delivery.1);
        }
    }
}

impl Open {
    /// The next message, or `None` when there was none for a while.
    async fn next(&mut self) -> Result<Option<async_nats::jetstream::Message>, BusError> {
        let unavailable = |cause: String| BusError::Unavailable(cause);
        if self.asked.is_none() {
            let ask = self
                .server_side
                .batch()
                .max_messages(self.at_once)
                .expires(PULL);
            let asked = ask.messages().await;
            self.asked = Some(asked.map_err(|cause| unavailable(cause.to_string()))?);
        }
        let Some(asked) = &mut self.asked else {
            return Ok(None);
        };
        let message = tokio::select! {
            message = asked.next() => message,
            () = self.link.closed() => return Err(lost()),
        };
        if self.at_once == 1 || !matches!(message, Some(Ok(_))) {
            self.asked = None;
        }
        message
            .transpose()
            .map_err(|cause| unavailable(cause.to_string()))
    }
}

#[async_trait]
impl Consume for Reader {
    async fn next(&mut self) -> Result<Delivery, BusError> {
        if self.failed {
            sleep(PAUSE).await;
        }
        let taken = self.take().await;
        self.failed = taken.is_err();
        if self.failed {
            self.open = None;
        }
        taken
    }
}

/// Every setting is given: the server's default would give up never and wait
/// thirty seconds.
pub(super) fn config(consumer: &Consumer, from: DeliverPolicy) -> Config {
    let waits = consumer.waits();
    Config {
        durable_name: consumer.durable.clone(),
        deliver_policy: from,
        ack_policy: AckPolicy::Explicit,
        ack_wait: consumer.ack_wait,
        max_deliver: match consumer.max_deliver {
            0 => -1,
            bounded => i64::from(bounded),
        },
        backoff: if waits.len() > 1 { waits } else { Vec::new() },
        filter_subjects: consumer.subjects.clone(),
        replay_policy: ReplayPolicy::Instant,
        max_waiting: MAX_WAITING,
        max_ack_pending: i64::from(consumer.max_ack_pending),
        inactive_threshold: match consumer.durable {
            Some(_) => Duration::ZERO,
            None => FORGOTTEN,
        },
        ..Config::default()
    }
}

/// A message of ours, and its place in the stream.
fn deliver(
    link: &Arc<Link>,
    message: async_nats::jetstream::Message,
) -> Result<(u64, Delivery), BusError> {
    let (place, attempt) = {
        let info = message.info();
        let info = info.map_err(|cause| BusError::Unavailable(cause.to_string()))?;
        (info.stream_sequence, info.delivered)
    };
    let header = |name: &str| {
        let value = message.headers.as_ref()?.get(name)?;
        Some(value.as_str().to_owned())
    };
    let id = header(async_nats::header::NATS_MESSAGE_ID.as_ref()).unwrap_or_default();
    let priority = match header(PRIORITY_HEADER).as_deref() {
        Some("emergency") => Priority::Emergency,
        _ => Priority::Normal,
    };
    let slip = Slip {
        link: link.clone(),
        reply: message.reply.as_ref().map(ToString::to_string),
    };
    let delivery = Delivery {
        subject: message.subject.to_string(),
        id,
        priority,
        payload: message.payload.clone(),
        attempt: u64::try_from(attempt).unwrap_or(1),
        receipt: Box::new(slip),
    };
    Ok((place, delivery))
}

/// The way to answer one delivery. The server confirms each word, so that
/// whoever gave it knows that it counts.
struct Slip {
    link: Arc<Link>,
    reply: Option<String>,
}

impl Slip {
    async fn say(&self, word: AckKind) -> Result<(), BusError> {
        let Some(reply) = &self.reply else {
            return Err(BusError::Invalid("the message wants no answer".to_owned()));
        };
        let request = Request::new()
            .payload(word.into())
            .inbox(self.link.client.new_inbox());
        match self.link.ask(reply, request, PATIENCE).await {
            Ok(_) => Ok(()),
            Err(Lost::TimedOut) => Err(BusError::TimedOut("acknowledgment".to_owned())),
            Err(_) => Err(lost()),
        }
    }
}

#[async_trait]
impl Receipt for Slip {
    async fn ack(self: Box<Self>) -> Result<(), BusError> {
        self.say(AckKind::Ack).await
    }

    async fn retry(self: Box<Self>, after: Duration) -> Result<(), BusError> {
        self.say(AckKind::Nak(Some(after))).await
    }

    async fn reject(self: Box<Self>) -> Result<(), BusError> {
        self.say(AckKind::Term).await
    }

    async fn progress(&self) -> Result<(), BusError> {
        self.say(AckKind::Progress).await
    }
}

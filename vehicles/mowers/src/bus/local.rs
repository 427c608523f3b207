//! The bus inside of one process, with the rules of the real one.
//!
//! It promises nothing over a restart: what lay in its streams is gone with
//! the process. That loses no truth. A command is written down before it is
//! published, and shows itself as overdue when no result comes; a stop is
//! repeated by whoever asks again; telemetry comes anew every second; events
//! are made up for by the reconciliation of the device gateway at its start.

mod cursor;
mod listeners;
mod log;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout};

use super::pattern::{self, Pattern};
use super::stream::outside_streams;
use super::{
    Bus, BusError, Consume, Consumer, Delivery, Listen, Message, Published, Receipt, Stream,
};
use cursor::Cursor;
use listeners::Listeners;
use log::{Log, Taken};

/// A bus that lives and dies with this value and its clones.
///
/// Time is tokio's, so that a test with paused time sees ages, windows and
/// redeliveries pass.
#[derive(Clone)]
pub struct LocalBus {
    topics: Arc<HashMap<Stream, Topic>>,
    listeners: Arc<Listeners>,
}

/// A stream and the bell for those who wait at it.
struct Topic {
    log: Mutex<Log>,
    changed: Notify,
}

impl Topic {
    fn lock(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what a consumer has out, and wakes those who wait.
    fn settle(&self, reader: &str, change: impl FnOnce(&mut Cursor, Instant)) {
        if let Some(cursor) = self.lock().cursor(reader) {
            change(cursor, Instant::now());
        }
        self.changed.notify_waiters();
    }
}

impl Default for LocalBus {
    fn default() -> LocalBus {
        LocalBus::new()
    }
}

impl LocalBus {
    /// An empty bus.
    #[must_use]
    pub fn new() -> LocalBus {
        let topic = |stream: Stream| Topic {
            log: Mutex::new(Log::new(stream.limits())),
            changed: Notify::new(),
        };
        LocalBus {
            topics: Arc::new(Stream::ALL.map(|it| (it, topic(it))).into()),
            listeners: Arc::default(),
        }
    }

    fn topic(&self, stream: Stream) -> Result<&Topic, BusError> {
        self.topics
            .get(&stream)
            .ok_or_else(|| BusError::Invalid(format!("no stream {}", stream.limits().name)))
    }

    fn store(&self, message: &Message) -> Result<Published, BusError> {
        message.check()?;
        let topic = self.topic(message.stream)?;
        let published = topic.lock().publish(message, Instant::now());
        topic.changed.notify_waiters();
        Ok(published)
    }
}

#[async_trait]
impl Bus for LocalBus {
    async fn publish(&self, message: &Message, _within: Duration) -> Published {
        self.store(message)
            .unwrap_or_else(|cause| Published::Refused(cause.to_string()))
    }

    async fn consume(&self, consumer: &Consumer) -> Result<Box<dyn Consume>, BusError> {
        consumer.check()?;
        let name = self.topic(consumer.stream)?.lock().open(consumer)?;
        Ok(Box::new(Reader {
            bus: self.clone(),
            stream: consumer.stream,
            name,
            forgotten: consumer.durable.is_none(),
        }))
    }

    async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        within: Duration,
    ) -> Result<Bytes, BusError> {
        outside_streams(&pattern::subject(subject)?)?;
        let mut answers = self.listeners.ask(subject, payload)?;
        let first = async {
            match answers.recv().await {
                Some(answer) => answer,
                // Everybody kept silent: nobody says that, time does.
                None => std::future::pending().await,
            }
        };
        timeout(within, first)
            .await
            .map_err(|_| BusError::TimedOut(subject.to_owned()))
    }

    async fn send(&self, subject: &str, payload: Bytes) -> Result<(), BusError> {
        outside_streams(&pattern::subject(subject)?)?;
        self.listeners.tell(subject, payload)
    }

    async fn listen(&self, subject: &str) -> Result<Box<dyn Listen>, BusError> {
        let pattern = Pattern::parse(subject)?;
        outside_streams(&pattern)?;
        Ok(Box::new(Listeners::add(&self.listeners, pattern)))
    }

    fn connected(&self) -> bool {
        true
    }
}

/// One reader of a stream.
struct Reader {
    bus: LocalBus,
    stream: Stream,
    name: String,
    forgotten: bool,
}

#[async_trait]
impl Consume for Reader {
    async fn next(&mut self) -> Result<Delivery, BusError> {
        let topic = self.bus.topic(self.stream)?;
        loop {
            // Listens for the bell before it looks, so that no ring is missed.
            let mut changed = std::pin::pin!(topic.changed.notified());
            changed.as_mut().enable();
            let taken = topic.lock().take(&self.name, Instant::now());
            match taken {
                Taken::Message(stored, sequence, attempt) => {
                    return Ok(Delivery {
                        subject: stored.subject.clone(),
                        id: stored.id.clone(),
                        priority: stored.priority,
                        payload: stored.payload.clone(),
                        attempt,
                        receipt: Box::new(Slip {
                            bus: self.bus.clone(),
                            stream: self.stream,
                            reader: self.name.clone(),
                            sequence,
                        }),
                    });
                }
                Taken::NothingUntil(Some(due)) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(due) => {}
                },
                Taken::NothingUntil(None) => changed.await,
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if self.forgotten
            && let Ok(topic) = self.bus.topic(self.stream)
        {
            topic.lock().close(&self.name);
        }
    }
}

/// The way to answer one delivery. As on the real bus, a late answer counts
/// for a redelivery of the same message too.
struct Slip {
    bus: LocalBus,
    stream: Stream,
    reader: String,
    sequence: u64,
}

#[async_trait]
impl Receipt for Slip {
    async fn ack(self: Box<Self>) -> Result<(), BusError> {
        let settle = |cursor: &mut Cursor, _| cursor.done(self.sequence);
        self.bus.topic(self.stream)?.settle(&self.reader, settle);
        Ok(())
    }

    async fn retry(self: Box<Self>, after: Duration) -> Result<(), BusError> {
        let settle = |cursor: &mut Cursor, now| cursor.postpone(self.sequence, now + after);
        self.bus.topic(self.stream)?.settle(&self.reader, settle);
        Ok(())
    }

    async fn reject(self: Box<Self>) -> Result<(), BusError> {
        self.ack().await
    }

    async fn progress(&self) -> Result<(), BusError> {
        let settle = |cursor: &mut Cursor, now| cursor.progress(self.sequence, now);
        self.bus.topic(self.stream)?.settle(&self.reader, settle);
        Ok(())
    }
}

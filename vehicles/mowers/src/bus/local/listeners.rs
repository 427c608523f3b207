//! Requests and plain messages: who listens hears, nothing is kept.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::mpsc;
use tracing::warn;

use super::super::pattern::Pattern;
use super::super::stream::MAX_REQUEST;
use super::super::{Asked, BusError, LISTENER_QUEUE, Listen, Reply};

/// Everybody who listens.
#[derive(Default)]
pub(super) struct Listeners {
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    listeners: BTreeMap<u64, (Pattern, mpsc::Sender<Asked>)>,
}

impl Listeners {
    pub(super) fn add(all: &Arc<Listeners>, pattern: Pattern) -> Listener {
        let (sender, queue) = mpsc::channel(LISTENER_QUEUE);
        let mut open = all.lock();
        let key = open.next;
        open.next += 1;
        open.listeners.insert(key, (pattern, sender));
        Listener {
            all: all.clone(),
            key,
            queue,
        }
    }

    /// Gives a request to all who listen, and the way their answers come back.
    pub(super) fn ask(
        &self,
        subject: &str,
        payload: Bytes,
    ) -> Result<mpsc::Receiver<Bytes>, BusError> {
        // Only the first answer counts; what comes after it finds no room.
        let (answer, answers) = mpsc::channel(1);
        match self.deliver(subject, &payload, &answer)? {
            0 => Err(BusError::NoResponders(subject.to_owned())),
            _ => Ok(answers),
        }
    }

    /// Gives a message to all who listen, if anybody does.
    pub(super) fn tell(&self, subject: &str, payload: Bytes) -> Result<(), BusError> {
        let (nowhere, _) = mpsc::channel(1);
        self.deliver(subject, &payload, &nowhere).map(drop)
    }

    /// How many listen on the subject. As on the real bus, a listener that does
    /// not keep up misses what finds no room.
    fn deliver(
        &self,
        subject: &str,
        payload: &Bytes,
        answer: &mpsc::Sender<Bytes>,
    ) -> Result<usize, BusError> {
        within_bounds(payload)?;
        let open = self.lock();
        let listening = open.listeners.values();
        let heard = listening.filter(|(pattern, _)| pattern.covers(subject));
        Ok(heard
            .map(|(_, queue)| {
                let asked = Asked {
                    subject: subject.to_owned(),
                    payload: payload.clone(),
                    reply: Box::new(Back(answer.clone())),
                };
                if queue.try_send(asked).is_err() {
                    warn!(subject, "a listener does not keep up and misses a message");
                }
            })
            .count())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One who listens, until it is dropped.
pub(super) struct Listener {
    all: Arc<Listeners>,
    key: u64,
    queue: mpsc::Receiver<Asked>,
}

#[async_trait]
impl Listen for Listener {
    async fn next(&mut self) -> Result<Asked, BusError> {
        let gone = || BusError::Unavailable("the bus is gone".to_owned());
        self.queue.recv().await.ok_or_else(gone)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.all.lock().listeners.remove(&self.key);
    }
}

/// The way back to who asked.
struct Back(mpsc::Sender<Bytes>);

#[async_trait]
impl Reply for Back {
    async fn send(self: Box<Self>, payload: Bytes) -> Result<(), BusError> {
        within_bounds(&payload)?;
        // Whether anybody still waits is not ours to know, as on the real bus.
        let _ = self.0.try_send(payload);
        Ok(())
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

//! The local bus with a cut in it.

use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;

use crate::bus::{Bus, BusError, Consume, Consumer, Listen, LocalBus, Message, Published, Stream};

/// What is wrong with the bus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cut {
    /// Nothing.
    None,
    /// Streams refuse; requests go through.
    Streams,
    /// Streams take and do not confirm; requests go through.
    Unconfirmed,
    /// Streams neither take nor confirm; requests go through.
    Swallowed,
    /// Streams refuse, and requests are lost on their way.
    Lost,
    /// Nothing goes through.
    All,
}

const CUTS: [Cut; 6] = [
    Cut::None,
    Cut::Streams,
    Cut::Unconfirmed,
    Cut::Swallowed,
    Cut::Lost,
    Cut::All,
];

/// A local bus that can be cut, and counts.
#[derive(Default)]
pub(crate) struct CutBus {
    bus: LocalBus,
    cut: AtomicU8,
    published: AtomicU64,
    stops: AtomicU64,
    /// Subjects of these mowers are refused.
    pub(crate) refused: std::sync::Mutex<Vec<String>>,
}

impl CutBus {
    pub(crate) fn cut(&self, cut: Cut) {
        let index = CUTS.iter().position(|it| *it == cut).expect("a cut");
        self.cut
            .store(u8::try_from(index).expect("few"), Ordering::SeqCst);
    }

    fn is(&self) -> Cut {
        CUTS[usize::from(self.cut.load(Ordering::SeqCst))]
    }

    /// Publishes that were tried, stops excluded.
    pub(crate) fn published(&self) -> u64 {
        self.published.load(Ordering::SeqCst)
    }

    /// Publishes of stops that were tried.
    pub(crate) fn stops(&self) -> u64 {
        self.stops.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Bus for CutBus {
    async fn publish(&self, message: &Message, within: Duration) -> Published {
        match message.stream {
            Stream::Stop => self.stops.fetch_add(1, Ordering::SeqCst),
            _ => self.published.fetch_add(1, Ordering::SeqCst),
        };
        let refused = self.refused.lock().expect("the refused").clone();
        if refused.contains(&message.subject) {
            return Published::Refused("full".to_owned());
        }
        match self.is() {
            Cut::None => self.bus.publish(message, within).await,
            Cut::Streams | Cut::Lost | Cut::All => Published::Refused("not connected".to_owned()),
            Cut::Unconfirmed => {
                let _ = self.bus.publish(message, within).await;
                Published::Unconfirmed("no answer".to_owned())
            }
            Cut::Swallowed => Published::Unconfirmed("no answer".to_owned()),
        }
    }

    async fn consume(&self, consumer: &Consumer) -> Result<Box<dyn Consume>, BusError> {
        self.bus.consume(consumer).await
    }

    async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        within: Duration,
    ) -> Result<Bytes, BusError> {
        match self.is() {
            Cut::All => Err(BusError::Unavailable("not connected".to_owned())),
            Cut::Lost => Err(BusError::Lost(subject.to_owned())),
            _ => self.bus.request(subject, payload, within).await,
        }
    }

    async fn send(&self, subject: &str, payload: Bytes) -> Result<(), BusError> {
        match self.is() {
            Cut::All => Err(BusError::Unavailable("not connected".to_owned())),
            _ => self.bus.send(subject, payload).await,
        }
    }

    async fn listen(&self, subject: &str) -> Result<Box<dyn Listen>, BusError> {
        self.bus.listen(subject).await
    }

    fn connected(&self) -> bool {
        self.is() != Cut::All
    }
}

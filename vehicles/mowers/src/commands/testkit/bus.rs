//! The local bus with a cut in it.

use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
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

/// What a device gateway says that holds a mower and knows nothing of it.
const HELD: &[u8] = br#"{"error":{"code":"unavailable","detail":"offline"}}"#;

/// A local bus that can be cut, and counts.
pub(crate) struct CutBus {
    bus: LocalBus,
    cut: AtomicU8,
    published: AtomicU64,
    stops: AtomicU64,
    /// A device gateway holds every mower, and says no more than that.
    pub(crate) held: AtomicBool,
    /// Subjects of these mowers are refused.
    pub(crate) refused: std::sync::Mutex<Vec<String>>,
}

impl Default for CutBus {
    fn default() -> Self {
        Self {
            bus: LocalBus::default(),
            cut: AtomicU8::default(),
            published: AtomicU64::default(),
            stops: AtomicU64::default(),
            held: AtomicBool::new(true),
            refused: std::sync::Mutex::default(),
        }
    }
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

    fn holds(&self, subject: &str) -> bool {
        self.held.load(Ordering::SeqCst) && subject.ends_with(".capabilities")
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
            _ => match self.bus.request(subject, payload, within).await {
                Err(BusError::NoResponders(_)) if self.holds(subject) => {
                    Ok(Bytes::from_static(HELD))
                }
                answered => answered,
            },
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

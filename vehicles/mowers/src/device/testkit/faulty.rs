//! The local bus, and ways for it to fail.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::mpsc;

use crate::bus::{
    Bus, BusError, Consume, Consumer, Delivery, Listen, LocalBus, Message, Published, Receipt,
    Stream,
};
use crate::contract::CommandResult;

/// The local bus, and ways for it to fail.
pub(crate) struct Faulty {
    pub(crate) real: LocalBus,
    /// Instead of storing a result.
    pub(crate) results: Mutex<Option<Published>>,
    /// Every result that was published, repeats too.
    pub(crate) published: Mutex<Vec<CommandResult>>,
    /// Requests find nobody.
    pub(crate) deaf: AtomicBool,
    /// So many acknowledgments get lost.
    pub(crate) lost_acks: Arc<AtomicU32>,
    /// Ways into the latest reader of each stream, past the stream.
    injectors: Mutex<HashMap<Stream, mpsc::UnboundedSender<Delivery>>>,
}

impl Faulty {
    /// Delivers something to whoever reads the stream, as often as a test likes.
    pub(crate) fn inject(&self, stream: Stream, delivery: Delivery) {
        let injectors = self.injectors.lock().unwrap();
        // Lost, if nobody reads now: that is a fault of a bus too.
        if let Some(injector) = injectors.get(&stream) {
            let _ = injector.send(delivery);
        }
    }

    pub(super) fn new() -> Arc<Self> {
        Arc::new(Faulty {
            real: LocalBus::new(),
            results: Mutex::default(),
            published: Mutex::default(),
            deaf: AtomicBool::new(false),
            lost_acks: Arc::default(),
            injectors: Mutex::default(),
        })
    }
}

#[async_trait]
impl Bus for Faulty {
    async fn publish(&self, message: &Message, within: Duration) -> Published {
        if message.stream == Stream::Result {
            if let Some(fault) = self.results.lock().unwrap().clone() {
                return fault;
            }
            let result = serde_json::from_slice(&message.payload).unwrap();
            self.published.lock().unwrap().push(result);
        }
        self.real.publish(message, within).await
    }

    async fn consume(&self, consumer: &Consumer) -> Result<Box<dyn Consume>, BusError> {
        let (injector, injected) = mpsc::unbounded_channel();
        self.injectors
            .lock()
            .unwrap()
            .insert(consumer.stream, injector);
        Ok(Box::new(FaultyReader {
            real: self.real.consume(consumer).await?,
            injected,
            lost_acks: Arc::clone(&self.lost_acks),
        }))
    }

    async fn request(
        &self,
        subject: &str,
        payload: Bytes,
        within: Duration,
    ) -> Result<Bytes, BusError> {
        if self.deaf.load(Ordering::SeqCst) {
            return Err(BusError::NoResponders(subject.to_owned()));
        }
        self.real.request(subject, payload, within).await
    }

    async fn send(&self, subject: &str, payload: Bytes) -> Result<(), BusError> {
        self.real.send(subject, payload).await
    }

    async fn listen(&self, subject: &str) -> Result<Box<dyn Listen>, BusError> {
        self.real.listen(subject).await
    }

    fn connected(&self) -> bool {
        true
    }
}

struct FaultyReader {
    real: Box<dyn Consume>,
    injected: mpsc::UnboundedReceiver<Delivery>,
    lost_acks: Arc<AtomicU32>,
}

#[async_trait]
impl Consume for FaultyReader {
    async fn next(&mut self) -> Result<Delivery, BusError> {
        let delivery = tokio::select! {
            delivery = self.real.next() => delivery?,
            Some(delivery) = self.injected.recv() => return Ok(delivery),
        };
        Ok(Delivery {
            receipt: Box::new(FaultyReceipt {
                real: delivery.receipt,
                lost_acks: Arc::clone(&self.lost_acks),
            }),
            ..delivery
        })
    }
}

struct FaultyReceipt {
    real: Box<dyn Receipt>,
    lost_acks: Arc<AtomicU32>,
}

#[async_trait]
impl Receipt for FaultyReceipt {
    async fn ack(self: Box<Self>) -> Result<(), BusError> {
        let less = |left: u32| left.checked_sub(1);
        let order = Ordering::SeqCst;
        match self.lost_acks.fetch_update(order, order, less) {
            Ok(_) => Err(BusError::Unavailable("lost".to_owned())),
            Err(_) => self.real.ack().await,
        }
    }

    async fn retry(self: Box<Self>, after: Duration) -> Result<(), BusError> {
        self.real.retry(after).await
    }

    async fn reject(self: Box<Self>) -> Result<(), BusError> {
        self.real.reject().await
    }

    // Written out: the receipt inside cannot be shared between threads.
    fn progress<'a, 'b>(&'a self) -> Pin<Box<dyn Future<Output = Result<(), BusError>> + Send + 'b>>
    where
        'a: 'b,
        Self: 'b,
    {
        self.real.progress()
    }
}

//! A device gateway that holds every mower and answers as the test says.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::bus::CutBus;
use super::rig::Rig;
use crate::bus::{Bus, Listen, Message, Published, Stream, subject};
use crate::commands::results;
use crate::contract::{CommandResult, Envelope, Priority, Status};

/// Answers requests on some subjects, and keeps what was asked.
pub(crate) struct Holder {
    asked: Arc<Mutex<Vec<(String, Value)>>>,
    task: JoinHandle<()>,
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Holder {
    /// Answers what comes on `pattern` with what `answer` makes of it; `None` is
    /// silence.
    pub(crate) async fn answer(
        bus: &Arc<CutBus>,
        pattern: &str,
        answer: impl Fn(&Value) -> Option<Value> + Send + 'static,
    ) -> Self {
        let mut listener: Box<dyn Listen> = bus.listen(pattern).await.expect("a listener");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            while let Ok(asked) = listener.next().await {
                let value: Value = serde_json::from_slice(&asked.payload).expect("JSON");
                let reply = answer(&value);
                kept.lock().expect("the asked").push((asked.subject, value));
                if let Some(reply) = reply {
                    let bytes = Bytes::from(reply.to_string());
                    asked.reply.send(bytes).await.expect("a reply");
                }
            }
        });
        Self { asked, task }
    }

    /// Answers direct stops.
    pub(crate) async fn stops(bus: &Arc<CutBus>, done: &'static str) -> Self {
        Self::answer(bus, "gateway.mower.*.stop", move |stop| {
            Some(json!({
                "command_id": stop["command_id"],
                "mower_id": stop["mower_id"],
                "done": done,
                "semantics": "motors_off",
                "at": stop["issued_at"],
            }))
        })
        .await
    }

    /// What was asked so far, with its subject.
    pub(crate) fn asked(&self) -> Vec<(String, Value)> {
        self.asked.lock().expect("the asked").clone()
    }
}

/// The next message of a stream.
pub(crate) async fn next(bus: &CutBus, stream: Stream) -> Envelope {
    let consumer = crate::bus::Consumer {
        stream,
        durable: Some("test".to_owned()),
        subjects: Vec::new(),
        ack_wait: std::time::Duration::from_secs(5),
        max_deliver: 0,
        max_ack_pending: 1_000,
    };
    let mut reader = bus.consume(&consumer).await.expect("a reader");
    let delivery = reader.next().await.expect("a message");
    let envelope = serde_json::from_slice(&delivery.payload).expect("an envelope");
    delivery.receipt.ack().await.expect("an ack");
    envelope
}

/// Says what became of a command, as its device gateway would.
pub(crate) async fn say(bus: &CutBus, envelope: &Envelope, status: Status) {
    let result = CommandResult {
        command_id: envelope.command_id,
        mower_id: envelope.mower_id,
        account_id: envelope.account_id.clone(),
        status,
        reason: None,
        at: envelope.issued_at,
    };
    let message = Message {
        stream: Stream::Result,
        subject: subject::result(envelope.mower_id),
        id: format!("{}:{}", envelope.command_id, status.as_str()),
        priority: Priority::Normal,
        payload: serde_json::to_vec(&result).expect("JSON").into(),
    };
    let published = bus
        .publish(&message, std::time::Duration::from_secs(1))
        .await;
    assert!(
        matches!(published, Published::Stored { .. }),
        "{published:?}"
    );
}

/// Lets the service take so many results from the bus.
pub(crate) async fn take_results(rig: &Rig, count: usize) {
    let consumer = results::consumer();
    let mut reader = rig.bus.consume(&consumer).await.expect("a reader");
    for _ in 0..count {
        let delivery = reader.next().await.expect("a result");
        results::take(&rig.fleet, vec![delivery]).await;
    }
}

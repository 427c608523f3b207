//! Stops: their own consumer, their own way, behind nothing.
//!
//! SAFETY-STOP: everything a stop does before it goes out is done in memory and
//! without a wait. What is written down, published or answered comes after.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::commands::{accepted, acknowledge};
use super::drive;
use super::held::{Held, lock};
use super::reading::{self, Reading};
use super::results;
use super::shared::{SUPERSEDED, Shared, answer};
use super::wire::{StopAnswer, StopDone};
use crate::bus::{Asked, Consumer, Delivery, Receipt, Stream, subject};
use crate::connection::{Sent, Verdict};
use crate::contract::{Command, Envelope, Issuer, IssuerKind, Priority, Status, StopSemantics};

/// The life of a stop whose own cannot be read.
const UNREADABLE_LIFE: Duration = Duration::from_secs(10);

/// The most stops kept for one mower that this shard does not hold.
const MOST_PARKED: usize = 8;

/// The consumer of a shard. It takes the stops of all mowers, because a mower
/// may come to this shard while a stop is on its way.
pub(crate) fn consumer(shard: &str) -> Consumer {
    Consumer {
        stream: Stream::Stop,
        durable: Some(format!("gw-{shard}-stops")),
        subjects: vec!["command.stop.mower.*".to_owned()],
        ack_wait: Duration::from_secs(1),
        max_deliver: 10,
        max_ack_pending: 1_024,
    }
}

/// A stop under way.
pub(crate) struct Active {
    /// Acknowledged once the vendor has the stop and the stop is written down,
    /// or at its end.
    receipt: Mutex<Option<Box<dyn Receipt>>>,
    /// On the disk: a restart knows what the stop superseded.
    written: watch::Sender<bool>,
    /// What the first attempt did.
    first: watch::Sender<Option<(StopDone, Option<String>)>>,
    /// The vendor's word, if it was not that it is done.
    pub(crate) refusal: Mutex<Option<Verdict>>,
}

/// Takes a delivery of the stream of stops.
pub(crate) fn route(shared: &Arc<Shared>, delivery: Delivery) {
    let envelope = match reading::read(&delivery, true) {
        Reading::Command(envelope) => *envelope,
        Reading::Refused(envelope, why) => {
            tracing::warn!(why, "a stop with parameters that cannot be read");
            plain(*envelope)
        }
        Reading::Malformed(why) => {
            shared.metrics.malformed.add();
            tracing::error!(why, subject = delivery.subject, "a stop cannot be read");
            let held = subject::mower(&delivery.subject).and_then(|id| shared.held(id));
            if let Some(held) = held {
                let id = reading::id_of(&delivery);
                let envelope = unreadable(shared, &held, id, &delivery.payload);
                begin(shared, &held, envelope, None);
            }
            shared.spawn(async move { acknowledge(delivery.receipt.reject().await) });
            return;
        }
    };
    match shared.held(envelope.mower_id) {
        Some(held) => {
            begin(shared, &held, envelope, Some(delivery.receipt));
        }
        None => {
            park(shared, envelope);
            shared.spawn(async move { acknowledge(delivery.receipt.ack().await) });
        }
    }
}

/// Answers a stop that came past the streams.
pub(crate) fn direct(shared: &Arc<Shared>, asked: Asked) {
    let Some(held) = subject::mower(&asked.subject).and_then(|id| shared.held(id)) else {
        return;
    };
    let envelope = match reading::parse(&asked.payload) {
        Reading::Command(envelope) | Reading::Refused(envelope, _)
            if envelope.mower_id == held.mower_id =>
        {
            plain(*envelope)
        }
        _ => {
            shared.metrics.malformed.add();
            unreadable(shared, &held, Uuid::nil(), &asked.payload)
        }
    };
    let command_id = envelope.command_id;
    let mut first = begin(shared, &held, envelope, None);
    shared.run(|shared| async move {
        let (done, reason) = match first.wait_for(Option::is_some).await {
            Ok(first) => first.clone().unwrap_or((StopDone::Unknown, None)),
            Err(_) => (StopDone::Unknown, None),
        };
        let stopped = StopAnswer {
            command_id,
            mower_id: held.mower_id,
            done,
            semantics: held.connection.capabilities().stop_semantics,
            reason,
            at: shared.time.now(),
        };
        answer(asked.reply, &stopped).await;
    });
}

/// Begins a stop, or joins the same one under way. Gives what its first attempt
/// did, once it is known.
pub(crate) fn begin(
    shared: &Arc<Shared>,
    held: &Arc<Held>,
    envelope: Envelope,
    receipt: Option<Box<dyn Receipt>>,
) -> watch::Receiver<Option<(StopDone, Option<String>)>> {
    let mut under_way = lock(&held.stops);
    if let Some(active) = under_way.get(&envelope.command_id) {
        if receipt.is_some() {
            *lock(&active.receipt) = receipt;
        }
        return active.first.subscribe();
    }
    let mark = shared
        .ledger
        .raise(held.mower_id, envelope.stop_epoch, envelope.issued_at);
    let mut lines = shared.ledger.note(&envelope, shared.time.now());
    lines.push(mark);
    let active = Arc::new(Active {
        receipt: Mutex::new(receipt),
        written: watch::Sender::new(false),
        first: watch::Sender::new(None),
        refusal: Mutex::new(None),
    });
    let first = active.first.subscribe();
    under_way.insert(envelope.command_id, Arc::clone(&active));
    drop(under_way);
    let left = shared
        .time
        .stop_left(envelope.issued_at, envelope.expires_at);
    let stop = Stop {
        shared: Arc::clone(shared),
        held: Arc::clone(held),
        until: Instant::now() + left,
        envelope,
        active: Arc::clone(&active),
    };
    if left.is_zero() {
        shared.spawn(stop.too_late(lines));
        return first;
    }
    shared.metrics.stops.add();
    let session = drive::cut(held);
    let dropped = held.queue.drain();
    held.cancel();
    let clear = held.wire.try_lock().is_ok();
    shared.spawn(stop.carry_out(clear));
    let held = Arc::clone(held);
    shared.run(|shared| async move {
        shared.ledger.write(lines, true).await;
        active.written.send_replace(true);
        for command in dropped {
            shared
                .settle(command.command_id, Status::Rejected, SUPERSEDED)
                .await;
        }
        if let Some(session) = session {
            drive::say_ended(&shared, &held, session, "stopped").await;
        }
    });
    first
}

/// Begins what was parked for a mower that this shard holds now.
pub(crate) fn begin_parked(shared: &Arc<Shared>, held: &Arc<Held>) {
    let parked = lock(&shared.parked).remove(&held.mower_id);
    for envelope in parked.unwrap_or_default() {
        if !left(shared, &envelope).is_zero() {
            begin(shared, held, envelope, None);
        }
    }
}

fn park(shared: &Shared, envelope: Envelope) {
    let mut parked = lock(&shared.parked);
    parked.retain(|_, stops| {
        stops.retain(|stop| !left(shared, stop).is_zero());
        !stops.is_empty()
    });
    let stops = parked.entry(envelope.mower_id).or_default();
    if stops.len() < MOST_PARKED {
        stops.push(envelope);
    }
}

fn left(shared: &Shared, stop: &Envelope) -> Duration {
    shared.time.stop_left(stop.issued_at, stop.expires_at)
}

struct Stop {
    shared: Arc<Shared>,
    held: Arc<Held>,
    envelope: Envelope,
    active: Arc<Active>,
    until: Instant,
}

impl Stop {
    /// Sends until the mower has stopped or the stop's life is over.
    async fn carry_out(self, mut clear: bool) {
        let mut reached = false;
        let last = loop {
            let sent = self.attempt().await;
            self.say_first(&sent);
            reached |= matches!(sent, Sent::Taken | Sent::Unknown(_));
            if sent == Sent::Taken {
                self.acknowledge().await;
            }
            if !clear {
                // A command was going out. It is cancelled; what it may have
                // begun on its last step is stopped once more.
                let pause = self.shared.config.times.stop_attempt;
                clear = timeout(pause, self.held.wire.lock()).await.is_ok();
                if Instant::now() < self.until {
                    continue;
                }
            }
            if self.confirmed(&sent).await || Instant::now() >= self.until {
                break sent;
            }
        };
        self.conclude(&last, reached).await;
    }

    async fn attempt(&self) -> Sent {
        let reason = match &self.envelope.command {
            Command::EmergencyStop { reason } => reason.as_deref(),
            _ => None,
        };
        let sending = self.held.connection.stop(self.envelope.command_id, reason);
        timeout(self.shared.config.times.stop_attempt, sending)
            .await
            .unwrap_or_else(|_| Sent::Unknown("the vendor did not take it in time".to_owned()))
    }

    /// Waits one pause for the mower's word; whether it has stopped.
    async fn confirmed(&self, sent: &Sent) -> bool {
        let command_id = self.envelope.command_id;
        let stopped = || {
            let done = self.shared.ledger.finished(command_id);
            done.is_some_and(|result| result.status == Status::Executed)
        };
        // A repeat whose first run was confirmed is confirmed by being taken.
        let pause = self.shared.config.times.stop_attempt;
        let end = (Instant::now() + pause).min(self.until);
        loop {
            // Listens before it looks, so that no word is missed.
            let mut heard = std::pin::pin!(self.held.heard.notified());
            heard.as_mut().enable();
            if stopped() && !matches!(sent, Sent::NotSent(_) | Sent::Limited { .. }) {
                return true;
            }
            tokio::select! {
                () = heard => {}
                () = tokio::time::sleep_until(end) => return false,
            }
        }
    }

    async fn conclude(self, last: &Sent, reached: bool) {
        let shared = &self.shared;
        let command_id = self.envelope.command_id;
        let done = shared.ledger.finished(command_id);
        let refusal = lock(&self.active.refusal).clone();
        if done.is_some() {
            shared.ledger.send_again(command_id);
        }
        if done.is_none_or(|result| result.status != Status::Executed) {
            let (status, why) = match (refusal, last) {
                (Some(Verdict::Rejected(code)), _) => (Some(Status::Rejected), code),
                (Some(Verdict::Failed(code)), _) => (Some(Status::Failed), code),
                (_, _) if reached => (None, "not confirmed by the mower".to_owned()),
                (_, Sent::Limited { .. }) => {
                    (Some(Status::Failed), "vendor-limited: not sent".to_owned())
                }
                (_, Sent::NotSent(why)) => (Some(Status::Failed), format!("offline: {why}")),
                _ => (None, "not confirmed by the mower".to_owned()),
            };
            shared.alarm(self.held.mower_id, command_id, &why);
            if let Some(status) = status {
                shared.settle(command_id, status, &why).await;
            }
        }
        self.finish().await;
    }

    /// It came after its end: somebody asked for a stop that was not carried out.
    async fn too_late(self, lines: Vec<super::journal::Line>) {
        let why = "expired: the stop came after its end; it was not carried out";
        let command_id = self.envelope.command_id;
        self.active
            .first
            .send_replace(Some((StopDone::Expired, Some(why.to_owned()))));
        self.shared.ledger.write(lines, true).await;
        self.active.written.send_replace(true);
        if self.shared.ledger.finished(command_id).is_some() {
            self.shared.ledger.send_again(command_id);
        } else {
            self.shared.alarm(self.held.mower_id, command_id, why);
            self.shared.settle(command_id, Status::Expired, why).await;
        }
        self.finish().await;
    }

    async fn finish(self) {
        let mut written = self.active.written.subscribe();
        let pause = self.shared.config.times.publish;
        let on_disk = timeout(pause, written.wait_for(|written| *written))
            .await
            .is_ok();
        if !on_disk {
            tracing::error!("a stop was not written down in time; it is delivered again");
        }
        self.acknowledge().await;
        lock(&self.held.stops).remove(&self.envelope.command_id);
        // A delivery that joined in the meantime is acknowledged too.
        self.acknowledge().await;
    }

    fn say_first(&self, sent: &Sent) {
        if self.active.first.borrow().is_some() {
            return;
        }
        let said = match sent {
            Sent::Taken => (StopDone::Sent, None),
            Sent::Unknown(why) => (StopDone::Unknown, Some(why.clone())),
            Sent::NotSent(why) => (StopDone::NotSent, Some(format!("offline: {why}"))),
            Sent::Limited { .. } => (StopDone::NotSent, Some("vendor-limited".to_owned())),
        };
        self.active.first.send_replace(Some(said));
        let result = accepted(&self.shared, &self.envelope);
        self.shared.run(|shared| async move {
            // Of no weight: the final follows and says more.
            let _taken = results::publish(&shared, &result).await;
        });
    }

    async fn acknowledge(&self) {
        if !*self.active.written.borrow() {
            return;
        }
        let receipt = lock(&self.active.receipt).take();
        if let Some(receipt) = receipt {
            acknowledge(receipt.ack().await);
        }
    }
}

/// The stop without parameters that could not be read.
fn plain(mut envelope: Envelope) -> Envelope {
    if !matches!(envelope.command, Command::EmergencyStop { .. }) {
        envelope.command = Command::EmergencyStop { reason: None };
    }
    envelope.priority = Priority::Emergency;
    envelope
}

/// A stop that cannot be read stops all the same: what else would it say.
fn unreadable(shared: &Shared, held: &Held, id: Uuid, payload: &[u8]) -> Envelope {
    let now = shared.time.now();
    let command_id = if id.is_nil() {
        Uuid::new_v5(&held.mower_id, payload)
    } else {
        id
    };
    Envelope {
        command_id,
        mower_id: held.mower_id,
        account_id: held.account_id.clone(),
        issued_by: Issuer {
            kind: IssuerKind::ApiToken,
            id: "unreadable".to_owned(),
            display: "unreadable".to_owned(),
            on_behalf_of: None,
        },
        issued_at: now,
        expires_at: now.saturating_add(UNREADABLE_LIFE).unwrap_or(now),
        priority: Priority::Emergency,
        correlation_id: command_id,
        stop_epoch: 0,
        calm_epoch: 0,
        command: Command::EmergencyStop { reason: None },
    }
}

/// What an executed stop was on this mower.
pub(crate) fn done_reason(held: &Held, said: Option<String>) -> Option<String> {
    let nearest = match held.connection.capabilities().stop_semantics {
        StopSemantics::MotorsOff => return said,
        StopSemantics::Pause => "pause: the vendor offers no stop, the mower was paused",
        StopSemantics::PauseThenLock => {
            "pause_then_lock: the vendor offers no stop, the mower was paused and locked"
        }
    };
    Some(match said {
        Some(said) => format!("{nearest}; {said}"),
        None => nearest.to_owned(),
    })
}

#[cfg(test)]
mod tests;

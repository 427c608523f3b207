//! Stops: their own consumer, their own way, behind nothing.
//!
//! SAFETY-STOP: everything a stop does before it goes out is done in memory and
//! without a wait. What is written down, published or answered comes after.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::commands::acknowledge;
use super::held::Held;
use super::reading::{self, Reading};
use super::shared::{Shared, answer};
use super::wire::{StopAnswer, StopDone};
use crate::bus::{Asked, Consumer, Delivery, Stream, subject};
use crate::contract::StopSemantics;

mod carry;
pub(crate) mod parked;
mod under_way;
mod words;

pub(crate) use under_way::{Active, begin};
use words::{plain, unreadable};

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
            parked::keep(shared, envelope);
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

//! What mowers say of themselves: the latest state of each in memory, and what
//! only the device gateway that holds a mower can say.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use uuid::Uuid;

use crate::bus::{BusError, Consumer, Stream};
use crate::commands::life::after;
use crate::contract::{Envelope, MowerState};
use crate::service::Fleet;

pub mod handlers;
mod holder;

#[cfg(test)]
mod tests;

/// A state older than three heartbeats says nothing about the present.
pub const STALE_AFTER: Duration = Duration::from_secs(30);

/// Between two attempts at a bus that is gone.
const AGAIN: Duration = Duration::from_millis(500);

/// The latest state of each mower.
#[derive(Debug, Default)]
pub struct Telemetry(RwLock<HashMap<Uuid, Arc<Seen>>>);

/// A state, as it was heard.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    /// What the mower said.
    pub state: MowerState,
}

impl Seen {
    /// How old the state is.
    #[must_use]
    pub fn age(&self, now: Timestamp) -> SignedDuration {
        now.duration_since(self.state.at).max(SignedDuration::ZERO)
    }

    /// Whether the mower was silent for too long to rely on it.
    #[must_use]
    pub fn is_stale(&self, now: Timestamp) -> bool {
        now > after(self.state.at, STALE_AFTER)
    }
}

/// A state as it is shown, with its age.
#[derive(Clone, Debug, Serialize)]
pub struct StateView<'a> {
    #[serde(flatten)]
    state: &'a MowerState,
    stale: bool,
    age_ms: i64,
}

impl Telemetry {
    /// Takes over a state, unless a newer one is known; whether it is new.
    pub fn hear(&self, state: MowerState) -> bool {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let known = all.get(&state.mower_id);
        // A gateway that restarts counts anew; then the time decides.
        let older = known.is_some_and(|known| {
            state.seq <= known.state.seq && state.at <= known.state.at || state.at < known.state.at
        });
        if older {
            return false;
        }
        all.insert(state.mower_id, Arc::new(Seen { state }));
        true
    }

    /// The latest state of a mower.
    #[must_use]
    pub fn latest(&self, mower: Uuid) -> Option<Arc<Seen>> {
        let all = self.0.read().unwrap_or_else(PoisonError::into_inner);
        all.get(&mower).cloned()
    }
}

impl Seen {
    /// The state as it is shown.
    #[must_use]
    pub fn view(&self, now: Timestamp) -> StateView<'_> {
        StateView {
            state: &self.state,
            stale: self.is_stale(now),
            age_ms: i64::try_from(self.age(now).as_millis()).unwrap_or(i64::MAX),
        }
    }
}

/// Hears states for as long as the service lives.
pub async fn follow(fleet: &Arc<Fleet>) {
    let consumer = consumer(Stream::Telemetry, "telemetry.mower.*");
    read(fleet, &consumer, |payload| {
        match serde_json::from_slice::<MowerState>(payload) {
            Ok(state) => {
                fleet.telemetry.hear(state);
            }
            Err(error) => tracing::warn!("a state cannot be read: {error}"),
        }
    })
    .await;
}

/// Hears of the stops of other replicas for as long as the service lives.
pub async fn follow_stops(fleet: &Arc<Fleet>) {
    let consumer = consumer(Stream::Stop, "command.stop.mower.*");
    read(fleet, &consumer, |payload| {
        match serde_json::from_slice::<Envelope>(payload) {
            Ok(stop) => {
                let epochs = &fleet.control.epochs;
                epochs.learn(stop.mower_id, stop.stop_epoch);
                fleet.drives.stopped(stop.mower_id, stop.issued_at);
            }
            Err(error) => tracing::warn!("a stop cannot be read: {error}"),
        }
    })
    .await;
}

fn consumer(stream: Stream, subject: &str) -> Consumer {
    Consumer {
        stream,
        durable: None,
        subjects: vec![subject.to_owned()],
        ack_wait: Duration::from_secs(30),
        max_deliver: 1,
        max_ack_pending: 4_096,
    }
}

async fn read(fleet: &Fleet, consumer: &Consumer, take: impl Fn(&[u8])) {
    loop {
        let error = match fleet.bus.consume(consumer).await {
            Ok(mut reader) => loop {
                match reader.next().await {
                    Ok(delivery) => {
                        take(&delivery.payload);
                        // Forgotten with the reader; nothing comes again.
                        let _ = delivery.receipt.ack().await;
                    }
                    Err(error) => break error,
                }
            },
            Err(error) => error,
        };
        lost(&error).await;
    }
}

async fn lost(error: &BusError) {
    tracing::warn!("the bus cannot be read: {error}");
    tokio::time::sleep(AGAIN).await;
}

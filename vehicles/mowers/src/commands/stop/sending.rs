//! Sending stops: published, and where the stream does not confirm, asked of the
//! device gateways directly; again until its life ends, with the same id.
//!
//! A repeated stop is harmless and a lost one is not.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};
use uuid::Uuid;

use super::given_up;
use super::urgency::Urgency;
use crate::bus::{BusError, Published, subject};
use crate::commands::counters::HandedOn;
use crate::commands::{publish, status};
use crate::contract::Envelope;
use crate::device::wire::{StopAnswer, StopDone};
use crate::service::Fleet;

/// When a stop is tried, counted from its beginning; after these once a second.
const FIRST_ATTEMPTS: [Duration; 3] = [
    Duration::ZERO,
    Duration::from_millis(300),
    Duration::from_millis(1_000),
];

/// How long the stream has to confirm a stop before the direct way is tried.
const CONFIRM: Duration = Duration::from_millis(250);

/// How long a device gateway has to answer directly.
const DIRECT: Duration = Duration::from_millis(400);

/// Stops under way at once.
const AT_ONCE: usize = 256;

/// How far a stop came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// The stream or a device gateway has it.
    Queued,
    /// Somebody may have it.
    Unclear(String),
    /// Certainly nobody has it.
    No(String),
}

impl Told {
    /// What stands in the way.
    pub(super) fn why(&self) -> &str {
        match self {
            Self::Queued => "queued",
            Self::Unclear(why) | Self::No(why) => why,
        }
    }

    /// As it is counted.
    pub(super) fn handed_on(&self) -> HandedOn {
        match self {
            Self::Queued => HandedOn::Queued,
            Self::Unclear(_) => HandedOn::Unconfirmed,
            Self::No(_) => HandedOn::Refused,
        }
    }

    /// Once somebody may have it, nothing that comes later says that nobody has.
    fn and_then(self, later: Self) -> Self {
        match (self, later) {
            (Self::Unclear(why), Self::No(_)) => Self::Unclear(why),
            (_, later) => later,
        }
    }
}

/// Stops on their way. They go on when this is dropped.
pub(super) struct Sending(watch::Receiver<Vec<Told>>);

impl Sending {
    /// Begins to send.
    pub(super) fn start(fleet: Arc<Fleet>, envelopes: Vec<Envelope>) -> Self {
        let first = vec![Told::No("it was not tried yet".to_owned()); envelopes.len()];
        let (progress, told) = watch::channel(first);
        tokio::spawn(async move { rounds(&fleet, &envelopes, &progress).await });
        Self(told)
    }

    /// Waits until somebody has each stop, for a while at most; how far each came.
    pub(super) async fn wait(&mut self, patience: Duration) -> Vec<Told> {
        let all = |told: &Vec<Told>| told.iter().all(|it| *it == Told::Queued);
        if let Ok(Ok(told)) = timeout(patience, self.0.wait_for(all)).await {
            return told.clone();
        }
        self.0.borrow().clone()
    }
}

/// When attempts begin, for ever.
fn attempts() -> impl Iterator<Item = Duration> {
    let later = (2..).map(Duration::from_secs);
    FIRST_ATTEMPTS.into_iter().chain(later)
}

/// Tries until somebody has each stop, or their life, the same for all, is over.
async fn rounds(fleet: &Fleet, envelopes: &[Envelope], progress: &watch::Sender<Vec<Told>>) {
    let begun = Instant::now();
    let life = envelopes
        .iter()
        .map(|it| it.expires_at.duration_since(fleet.now()))
        .filter_map(|left| Duration::try_from(left).ok())
        .max()
        .unwrap_or_default();
    for offset in attempts().take_while(|offset| *offset < life) {
        sleep_until(begun + offset).await;
        let mut open = open(progress);
        if open.is_empty() {
            return;
        }
        let now = fleet.now();
        open.sort_by_cached_key(|index| {
            let mower = envelopes.get(*index).map(|it| it.mower_id);
            let seen = mower.and_then(|mower| fleet.telemetry.latest(mower));
            Urgency::of(seen.as_deref(), now)
        });
        let trying = open.into_iter().map(|index| async move {
            let envelope = envelopes.get(index)?;
            Some((index, attempt(fleet, envelope).await))
        });
        // A slow one holds up no other; what is told together wakes the answer once.
        let mut tried = stream::iter(trying)
            .buffer_unordered(AT_ONCE)
            .ready_chunks(AT_ONCE);
        while let Some(tried) = tried.next().await {
            progress.send_modify(|told| {
                for (index, now) in tried.into_iter().flatten() {
                    if let Some(told) = told.get_mut(index) {
                        *told = told.clone().and_then(now);
                    }
                }
            });
        }
    }
    sleep_until(begun + life).await;
    give_up(fleet, envelopes, progress).await;
}

/// Those that nobody has yet.
fn open(progress: &watch::Sender<Vec<Told>>) -> Vec<usize> {
    let told = progress.borrow();
    let all = told.iter().enumerate();
    all.filter(|(_, told)| **told != Told::Queued)
        .map(|(index, _)| index)
        .collect()
}

/// Tries once: the stream first, then the device gateways directly.
async fn attempt(fleet: &Fleet, envelope: &Envelope) -> Told {
    fleet.control.counters.stop_attempts.add();
    let now = fleet.now();
    if now >= envelope.expires_at {
        return Told::No("its life is over".to_owned());
    }
    match publish::publish(&*fleet.bus, envelope, now, CONFIRM).await {
        Published::Stored { .. } => Told::Queued,
        Published::Refused(why) => direct(fleet, envelope, &why).await,
        Published::Unconfirmed(why) => {
            Told::Unclear(why.clone()).and_then(direct(fleet, envelope, &why).await)
        }
    }
}

/// Asks all device gateways; the one that holds the mower answers.
async fn direct(fleet: &Fleet, envelope: &Envelope, bus: &str) -> Told {
    let Ok(payload) = serde_json::to_vec(envelope) else {
        return Told::No("the stop has no JSON form".to_owned());
    };
    let subject = subject::direct_stop(envelope.mower_id);
    let asked = fleet
        .bus
        .request(&subject, Bytes::from(payload), DIRECT)
        .await;
    let answer = match asked {
        Ok(bytes) => serde_json::from_slice::<StopAnswer>(&bytes),
        Err(BusError::TimedOut(_)) => {
            return Told::Unclear(format!("{bus}; no device gateway answered"));
        }
        Err(error @ BusError::Lost(_)) => return Told::Unclear(format!("{bus}; {error}")),
        Err(
            error @ (BusError::Unavailable(_) | BusError::NoResponders(_) | BusError::Invalid(_)),
        ) => return Told::No(format!("{bus}; {error}")),
    };
    match answer {
        Ok(answer) if answer.command_id != envelope.command_id => {
            Told::Unclear(format!("{bus}; a device gateway spoke of another stop"))
        }
        // Whatever it has done first, it goes on until the stop's end.
        Ok(answer) if answer.done != StopDone::Expired => Told::Queued,
        Ok(_) => Told::No(format!("{bus}; it came too late")),
        Err(error) => Told::Unclear(format!("{bus}; an unreadable answer: {error}")),
    }
}

/// Nobody had these in their life: their records say so, where they are on record.
async fn give_up(fleet: &Fleet, envelopes: &[Envelope], progress: &watch::Sender<Vec<Told>>) {
    let told = progress.borrow().clone();
    let open = envelopes.iter().zip(&told);
    for (envelope, told) in open.filter(|(_, told)| **told != Told::Queued) {
        let id: Uuid = envelope.command_id;
        let mower = envelope.mower_id;
        tracing::error!(%id, %mower, "alarm: a stop was given up: {}", told.why());
        let outcome = given_up(told, fleet.now());
        if let Err(error) = status::close(&fleet.records, &[id], &outcome).await {
            tracing::error!(%id, "the end of a stop is not recorded: {error}");
        }
    }
}

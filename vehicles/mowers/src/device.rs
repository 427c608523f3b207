//! The device gateway: the process that talks to mowers.
//!
//! It acts on a command at most once and only within the command's life, and on a
//! stop until the mower confirms it; for each it decides one end and publishes that
//! until the stream has it. Its parts: `adapters` and `simulated` (the way to a
//! mower), `holding` (which mowers, by leases), `reading` and `checks` (what came,
//! and what a mower takes), `commands` and `worker` (normal commands, one after the
//! other), `stops` (past everything), `answers` (what the vendor says), `results`
//! (what the stream must hear), `ledger` and `journal` (what must not be forgotten),
//! `drive`, `preview`, `requests` and `telemetry`. `roster` and `leases` are the
//! fleet service's side of it.

use std::sync::Arc;
use std::time::Duration;

use interlock_guard::Clock;
use thiserror::Error;
use tokio::sync::{Notify, watch};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{interval, timeout};
use uuid::Uuid;

use crate::bus::{Bus, subject};

pub mod adapters;
mod answers;
mod checks;
mod commands;
pub mod config;
mod drive;
mod held;
mod holding;
mod journal;
pub mod leases;
mod ledger;
pub mod metrics;
mod numbers;
mod preview;
mod reading;
mod requests;
mod results;
pub mod roster;
mod shared;
pub mod simulated;
mod stops;
mod telemetry;
mod time;
pub mod wire;
mod worker;

pub use adapters::{Adapter, AdapterError, Adapters};
pub use config::{Bounds, Config, Times};
pub use journal::JournalError;
pub use metrics::Counts;
pub use numbers::Numbers;
pub use simulated::SimulatedMowers;

use holding::{Holding, Inboxes};
use ledger::Ledger;
use metrics::Metrics;
use requests::What;
use shared::Shared;
use time::FleetTime;

/// Between two looks for what may be forgotten.
const PRUNE: Duration = Duration::from_secs(600);

/// Why a device gateway does not start.
#[derive(Debug, Error)]
pub enum StartError {
    /// A setting is not possible.
    #[error("the device gateway's settings: {0}")]
    Config(String),
    /// Its memory cannot be read.
    #[error(transparent)]
    Journal(#[from] JournalError),
}

/// A running device gateway. Dropped without [`DeviceGateway::end`], it ends at
/// once, without a farewell.
pub struct DeviceGateway {
    shared: Arc<Shared>,
    holding: JoinHandle<()>,
    tasks: JoinSet<()>,
    told: watch::Receiver<bool>,
}

impl DeviceGateway {
    /// Starts a shard. It does not wait for the bus or the fleet service; what
    /// it cannot reach it asks again.
    ///
    /// # Errors
    /// A setting that is not possible, or a state folder that cannot be used.
    pub async fn start(
        config: Config,
        bus: Arc<dyn Bus>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StartError> {
        config.check().map_err(StartError::Config)?;
        let metrics = Arc::new(Metrics::default());
        let ledger = Ledger::open(
            &config.state,
            config.bounds.remembered,
            clock.now(),
            Arc::clone(&metrics),
        )
        .await?;
        let time = FleetTime::new(clock);
        let shared = Arc::new(Shared::new(config, bus, time, ledger, metrics));
        let inboxes = Arc::new(Inboxes::default());
        let changed = Arc::new(Notify::new());
        let told = watch::Sender::new(false);
        let heard = told.subscribe();
        let mut tasks = JoinSet::new();
        tasks.spawn(read_stops(Arc::clone(&shared)));
        tasks.spawn(listen(Arc::clone(&shared)));
        tasks.spawn(results::deliver(Arc::clone(&shared)));
        tasks.spawn(read_events(Arc::clone(&shared), Arc::clone(&changed)));
        tasks.spawn(prune(Arc::clone(&shared)));
        tasks.spawn(read_commands(
            Arc::clone(&shared),
            Arc::clone(&inboxes),
            told.subscribe(),
        ));
        let holding = Holding::new(Arc::clone(&shared), inboxes, told);
        Ok(DeviceGateway {
            holding: tokio::spawn(holding.keep(changed)),
            shared,
            tasks,
            told: heard,
        })
    }

    /// What happened so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.metrics.read()
    }

    /// The mowers it holds, in no order.
    #[must_use]
    pub fn holds(&self) -> Vec<Uuid> {
        let held = self.shared.all_held();
        held.iter().map(|held| held.mower_id).collect()
    }

    /// Whether the fleet service has told it what it holds, and the bus answers.
    #[must_use]
    pub fn ready(&self) -> bool {
        *self.told.borrow() && self.shared.bus.connected()
    }

    /// What it is told from, for as long as anybody asks.
    #[must_use]
    pub fn numbers(&self) -> Numbers {
        Numbers::new(Arc::clone(&self.shared), self.told.clone())
    }

    /// Ends it: driving stops, what waits is answered as not sent, the leases
    /// are given back, and the results go out as far as the bus takes them in
    /// time. What it does not take is published at the next start.
    pub async fn end(mut self) {
        self.shared.ending.send_replace(true);
        if let Err(cause) = (&mut self.holding).await {
            tracing::error!(%cause, "the holding of the mowers ended early");
        }
        let mut changes = self.shared.ledger.changes();
        let published = async {
            while !self.shared.ledger.unpublished().is_empty() {
                if changes.changed().await.is_err() {
                    return;
                }
            }
        };
        if timeout(self.shared.config.times.farewell, published)
            .await
            .is_err()
        {
            tracing::warn!("not all results were published; the next start goes on");
        }
        self.tasks.shutdown().await;
        self.shared.shut_down().await;
        self.shared.ledger.close().await;
    }
}

impl Drop for DeviceGateway {
    fn drop(&mut self) {
        self.holding.abort();
        self.shared.abort();
    }
}

async fn read_stops(shared: Arc<Shared>) {
    let consumer = stops::consumer(&shared.config.shard);
    shared
        .consume(consumer, |delivery| stops::route(&shared, delivery))
        .await;
}

/// Reads commands once it is known which mowers are held: what came before
/// would be passed over.
async fn read_commands(
    shared: Arc<Shared>,
    inboxes: Arc<Inboxes>,
    mut told: watch::Receiver<bool>,
) {
    if told.wait_for(|told| *told).await.is_err() {
        return;
    }
    let consumer = commands::consumer(&shared.config.shard);
    shared
        .consume(consumer, |delivery| {
            commands::route(&shared, &inboxes, delivery);
        })
        .await;
}

async fn read_events(shared: Arc<Shared>, changed: Arc<Notify>) {
    shared
        .consume(holding::events(), |delivery| {
            changed.notify_one();
            shared.spawn(async move { commands::acknowledge(delivery.receipt.ack().await) });
        })
        .await;
}

/// Answers what comes past the streams.
async fn listen(shared: Arc<Shared>) {
    let asks = What::ALL.map(|what| {
        let shared = &shared;
        shared.listen(what.pattern(), move |asked| {
            requests::route(shared, what, asked);
        })
    });
    let [map, capabilities, state] = asks;
    tokio::join!(
        shared.listen(subject::DIRECT_STOPS, |asked| stops::direct(&shared, asked)),
        shared.listen(subject::PREVIEWS, |asked| preview::route(&shared, asked)),
        shared.listen(subject::PREVIEWS_OVER, |asked| preview::over(
            &shared, &asked
        )),
        shared.listen(subject::DRIVES, |asked| drive::frame(&shared, &asked)),
        shared.listen(subject::SESSIONS, |asked| drive::control(&shared, asked)),
        map,
        capabilities,
        state,
    );
}

async fn prune(shared: Arc<Shared>) {
    let mut ticks = interval(PRUNE);
    loop {
        ticks.tick().await;
        shared.ledger.prune(shared.time.now()).await;
    }
}

#[cfg(test)]
mod testkit;

#[cfg(test)]
mod tests;

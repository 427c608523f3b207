//! What all parts of one device gateway share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::config::Config;
use super::held::{Held, lock};
use super::ledger::Ledger;
use super::metrics::Metrics;
use super::time::FleetTime;
use crate::bus::{Asked, Bus, BusError, Consumer, Delivery, Listen, Reply};
use crate::contract::{Envelope, Status};

/// Between two attempts to reach a bus that was lost.
const BUS_PAUSE: Duration = Duration::from_millis(500);

/// The parts and what they share.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) time: FleetTime,
    pub(crate) ledger: Ledger,
    pub(crate) metrics: Arc<Metrics>,
    held: RwLock<HashMap<Uuid, Arc<Held>>>,
    /// Vendor accounts that must not be asked before.
    breakers: Mutex<HashMap<String, Instant>>,
    /// Stops for mowers this shard does not hold, in case it gets them in time.
    pub(crate) parked: Mutex<HashMap<Uuid, Vec<Envelope>>>,
    pub(crate) ending: watch::Sender<bool>,
    /// What runs beside the gateway's own tasks: stops, answers to requests.
    tasks: Mutex<JoinSet<()>>,
}

impl Shared {
    pub(crate) fn new(
        config: Config,
        bus: Arc<dyn Bus>,
        time: FleetTime,
        ledger: Ledger,
        metrics: Arc<Metrics>,
    ) -> Self {
        Shared {
            config,
            bus,
            time,
            ledger,
            metrics,
            held: RwLock::default(),
            breakers: Mutex::default(),
            parked: Mutex::default(),
            ending: watch::Sender::new(false),
            tasks: Mutex::default(),
        }
    }

    /// Runs something that ends with the gateway at the latest.
    pub(crate) fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = lock(&self.tasks);
        while tasks.try_join_next().is_some() {}
        tasks.spawn(task);
    }

    /// The same for what needs the gateway's parts.
    pub(crate) fn run<F>(self: &Arc<Self>, task: impl FnOnce(Arc<Self>) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn(task(Arc::clone(self)));
    }

    /// Ends what was spawned and waits for it.
    pub(crate) async fn shut_down(&self) {
        let mut tasks = std::mem::take(&mut *lock(&self.tasks));
        tasks.shutdown().await;
    }

    /// Ends what was spawned.
    pub(crate) fn abort(&self) {
        lock(&self.tasks).abort_all();
    }

    pub(crate) fn held(&self, mower_id: Uuid) -> Option<Arc<Held>> {
        self.read().get(&mower_id).map(Arc::clone)
    }

    pub(crate) fn all_held(&self) -> Vec<Arc<Held>> {
        self.read().values().map(Arc::clone).collect()
    }

    pub(crate) fn hold(&self, held: Arc<Held>) {
        let mut all = self
            .held
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.insert(held.mower_id, held);
    }

    pub(crate) fn release(&self, mower_id: Uuid) -> Option<Arc<Held>> {
        let mut all = self
            .held
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.remove(&mower_id)
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, HashMap<Uuid, Arc<Held>>> {
        self.held
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Decides a command now.
    pub(crate) async fn settle(&self, command_id: Uuid, status: Status, reason: &str) {
        let reason = Some(reason.to_owned());
        self.ledger
            .settle(command_id, status, reason, self.time.now())
            .await;
    }

    /// A command may be acted on now; or what becomes of it and why.
    pub(crate) fn may_act(&self, held: &Held, envelope: &Envelope) -> Result<u64, Refused> {
        if let Err(why) = self.time.trusted() {
            self.metrics.clock_refusals.add();
            return Err(Refused(Status::Rejected, why));
        }
        let now = self.time.now();
        let ahead = envelope.issued_at.duration_since(now);
        if ahead > super::time::ALLOWED_SKEW {
            self.metrics.clock_refusals.add();
            let why = format!("clock-skew: issued {} ms from now", ahead.as_millis());
            return Err(Refused(Status::Rejected, why));
        }
        if now >= envelope.expires_at {
            let why = "expired: its life was over before it was acted on".to_owned();
            return Err(Refused(Status::Expired, why));
        }
        let mark = self.ledger.mark(held.mower_id);
        if mark.supersedes(envelope.stop_epoch, envelope.issued_at) {
            return Err(Refused(Status::Rejected, SUPERSEDED.to_owned()));
        }
        if calmed(envelope, *held.calmed.borrow()) {
            return Err(Refused(Status::Rejected, CALMED.to_owned()));
        }
        let fence = held.fence().ok_or_else(|| {
            let why = "lease-lost: this shard may not move the mower; it was not sent";
            Refused(Status::Failed, why.to_owned())
        })?;
        // What it declares is nothing, which is not why.
        match held.connection.absent() {
            Some(why) => Err(Refused(Status::Rejected, format!("not-connected: {why}"))),
            None => Ok(fence),
        }
    }

    /// Seconds until the vendor account of a mower may be asked again.
    pub(crate) fn limited(&self, held: &Held) -> Option<Duration> {
        let mut breakers = lock(&self.breakers);
        let now = Instant::now();
        breakers.retain(|_, until| *until > now);
        breakers
            .get(&held.vendor_account())
            .map(|until| until.duration_since(now))
    }

    pub(crate) fn limit(&self, held: &Held, retry_after_s: u32) {
        let until = Instant::now() + Duration::from_secs(u64::from(retry_after_s));
        lock(&self.breakers).insert(held.vendor_account(), until);
    }

    /// Somebody has to look.
    pub(crate) fn alarm(&self, mower_id: Uuid, command_id: Uuid, why: &str) {
        self.metrics.alarms.add();
        tracing::error!(%mower_id, %command_id, why, "alarm: a stop was not carried out");
    }

    /// Reads a stream for as long as the gateway lives.
    pub(crate) async fn consume(&self, consumer: Consumer, mut each: impl FnMut(Delivery)) {
        loop {
            let mut reader = match self.bus.consume(&consumer).await {
                Ok(reader) => reader,
                Err(cause) => {
                    self.lost(&cause).await;
                    continue;
                }
            };
            loop {
                match reader.next().await {
                    Ok(delivery) => each(delivery),
                    Err(cause) => {
                        self.lost(&cause).await;
                        break;
                    }
                }
            }
        }
    }

    /// Listens on a subject for as long as the gateway lives.
    pub(crate) async fn listen(&self, subject: &str, mut each: impl FnMut(Asked)) {
        loop {
            let mut listener: Box<dyn Listen> = match self.bus.listen(subject).await {
                Ok(listener) => listener,
                Err(cause) => {
                    self.lost(&cause).await;
                    continue;
                }
            };
            loop {
                match listener.next().await {
                    Ok(asked) => each(asked),
                    Err(cause) => {
                        self.lost(&cause).await;
                        break;
                    }
                }
            }
        }
    }

    async fn lost(&self, cause: &BusError) {
        self.metrics.bus_lost.add();
        tracing::warn!(%cause, "the bus was lost");
        sleep(BUS_PAUSE).await;
    }
}

/// The reason of what a stop drops.
pub(crate) const SUPERSEDED: &str = "superseded-by-stop";

/// The reason of a movement that a calming command came after.
pub(crate) const CALMED: &str = "superseded-by-calming";

/// Whether a command was asked before the calming one of this epoch, which it
/// would undo.
pub(crate) fn calmed(envelope: &Envelope, epoch: u64) -> bool {
    envelope.command.kind().yields_to_calming() && envelope.calm_epoch < epoch
}

/// What becomes of a command that may not be acted on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused(pub(crate) Status, pub(crate) String);

/// Answers a request; a failure is the asker's timeout.
pub(crate) async fn answer<T: Serialize>(reply: Box<dyn Reply>, value: &T) {
    match serde_json::to_vec(value) {
        Ok(bytes) => {
            if let Err(cause) = reply.send(Bytes::from(bytes)).await {
                tracing::warn!(%cause, "an answer was not sent");
            }
        }
        Err(cause) => tracing::error!(%cause, "an answer cannot be written"),
    }
}

//! Which mowers this shard holds: told by the fleet service, renewed by asking.
//!
//! A lease that runs out takes the right to move the mower, not the connection:
//! a shard that cannot reach the fleet service can still stop what it moved. It
//! lets go only when the service says so.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use uuid::Uuid;

use super::adapters::Absent;
use super::config::asking;
use super::held::{Held, Lease, lock};
use super::shared::Shared;
use super::wire::{Hold, LeaseAnswer, LeaseRequest, ListAnswer, ListRequest, MowerEntry};
use super::{answers, commands, drive, stops, telemetry, worker};
use crate::bus::{BusError, Consumer, Delivery, Stream, subject};
use crate::contract::Status;

/// Where deliveries for a held mower go.
#[derive(Default)]
pub(crate) struct Inboxes {
    open: Mutex<HashMap<Uuid, mpsc::UnboundedSender<Delivery>>>,
}

impl Inboxes {
    /// Gives a delivery to its mower's task, or back.
    pub(crate) fn give(&self, mower_id: Uuid, delivery: Delivery) -> Result<(), Delivery> {
        match lock(&self.open).get(&mower_id) {
            Some(inbox) => inbox.send(delivery).map_err(|refused| refused.0),
            None => Err(delivery),
        }
    }
}

/// The tasks of a held mower.
struct Running {
    /// Taking in and working: they end by themselves, so that each command they
    /// hold gets its final.
    serial: JoinSet<()>,
    /// Driving and telemetry: they end with the holding.
    _beside: JoinSet<()>,
}

/// Keeps the leases.
pub(crate) struct Holding {
    shared: Arc<Shared>,
    inboxes: Arc<Inboxes>,
    instance: Uuid,
    entries: HashMap<Uuid, MowerEntry>,
    running: HashMap<Uuid, Running>,
    /// Mowers that were let go of and finish what they took.
    finishing: JoinSet<()>,
    /// Vendors may still answer after their mower was let go of.
    answers: JoinSet<()>,
    /// Turns true with the first answer.
    told: watch::Sender<bool>,
    /// Between two askings: so often that a lost one costs no lease.
    pace: Duration,
}

impl Holding {
    pub(crate) fn new(
        shared: Arc<Shared>,
        inboxes: Arc<Inboxes>,
        told: watch::Sender<bool>,
    ) -> Self {
        Holding {
            pace: shared.config.times.heartbeat,
            shared,
            inboxes,
            instance: Uuid::now_v7(),
            entries: HashMap::new(),
            running: HashMap::new(),
            finishing: JoinSet::new(),
            answers: JoinSet::new(),
            told,
        }
    }

    /// Keeps asking until the gateway ends, then lets go of all.
    pub(crate) async fn keep(mut self, changed: Arc<Notify>) {
        let mut ending = self.shared.ending.subscribe();
        let times = self.shared.config.times.clone();
        let mut read = false;
        let mut reconcile = Instant::now();
        loop {
            if !read || Instant::now() >= reconcile {
                read = self.read_list().await;
                reconcile = Instant::now() + times.reconcile;
            }
            if let Err(cause) = self.renew(false).await {
                match *self.told.borrow() {
                    true => tracing::warn!(%cause, "the leases were not renewed"),
                    // Both begin together: somebody is first.
                    false => tracing::info!(%cause, "the fleet service does not answer yet"),
                }
                self.count_lost();
            }
            stops::parked::forget_ended(&self.shared);
            // Ended tasks are dropped here.
            while self.answers.try_join_next().is_some() {}
            while self.finishing.try_join_next().is_some() {}
            tokio::select! {
                () = sleep_until(Instant::now() + self.pace) => {}
                () = changed.notified() => read = false,
                _ = ending.wait_for(|ending| *ending) => break,
            }
        }
        self.farewell().await;
    }

    /// Reads which mowers there are; whether it could.
    async fn read_list(&mut self) -> bool {
        let mut entries = HashMap::new();
        let mut after = None;
        let within = self.shared.config.times.request;
        loop {
            let request = ListRequest { after };
            let page: ListAnswer = match self.ask(subject::MOWERS_LIST, &request, within).await {
                Ok(page) => page,
                Err(cause) => {
                    tracing::warn!(%cause, "the list of mowers was not read");
                    return false;
                }
            };
            for entry in page.mowers {
                entries.insert(entry.mower_id, entry);
            }
            match page.next {
                // A page that leads nowhere new would be read for ever.
                Some(next) if after != Some(next) => after = Some(next),
                _ => break,
            }
        }
        self.entries = entries;
        let changed: Vec<Uuid> = self
            .shared
            .all_held()
            .iter()
            .filter(|held| {
                self.entries.get(&held.mower_id).is_some_and(|entry| {
                    entry.connection != held.spec || entry.account_id != held.account_id
                })
            })
            .map(|held| held.mower_id)
            .collect();
        for mower_id in changed {
            self.let_go(mower_id).await;
        }
        for entry in self.entries.values() {
            self.shared.ledger.raise_epochs(entry);
        }
        true
    }

    /// Asks for the leases and follows the answer.
    async fn renew(&mut self, leaving: bool) -> Result<(), BusError> {
        let asked = self.shared.time.own();
        let asked_at = Instant::now();
        let holds = self.shared.all_held();
        let request = LeaseRequest {
            shard: self.shared.config.shard.clone(),
            instance: self.instance,
            holds: holds.iter().map(|held| hold(held)).collect(),
            leaving,
        };
        // An answer that comes after the next asking is due is of no use.
        let within = self.pace.min(self.shared.config.times.request);
        let answer: LeaseAnswer = self.ask(subject::LEASES, &request, within).await?;
        self.shared.time.learn(asked, asked_at, answer.now);
        let lease = Duration::from_millis(answer.lease_ms);
        let until = asked_at + lease;
        self.pace = asking(lease, self.shared.config.times.heartbeat);
        let mine: HashSet<Uuid> = answer.holds.iter().map(|hold| hold.mower_id).collect();
        for held in holds {
            if !mine.contains(&held.mower_id) {
                self.let_go(held.mower_id).await;
            }
        }
        // SAFETY-STOP: who held it before may have paused it a moment ago: what was
        // asked before that pause must not undo it here.
        let is_new = |hold: &Hold| self.shared.held(hold.mower_id).is_none();
        if answer.holds.iter().any(is_new) {
            self.read_list().await;
        }
        for hold in answer.holds {
            let lease = Lease {
                fence: hold.fence,
                since: hold.since,
                until,
            };
            match self.shared.held(hold.mower_id) {
                Some(held) => held.renew(lease),
                None => self.take(hold.mower_id, lease),
            }
        }
        if !self.told.send_replace(true) {
            tracing::info!("the fleet service knows this shard");
        }
        Ok(())
    }

    fn take(&mut self, mower_id: Uuid, lease: Lease) {
        let Some(entry) = self.entries.get(&mower_id) else {
            tracing::warn!(%mower_id, "a lease for a mower that is not on the list");
            return;
        };
        let shared = &self.shared;
        let connected = shared
            .config
            .adapters
            .connect(mower_id, &entry.connection)
            .unwrap_or_else(|cause| {
                shared.metrics.without_adapter.add();
                tracing::error!(%mower_id, %cause, "a mower cannot be connected");
                Absent::connected(mower_id, cause.to_string(), shared.time.now())
            });
        let held = Arc::new(Held::new(entry, connected.connection, lease));
        held.calm(shared.ledger.calm_epoch(mower_id));
        let (inbox, deliveries) = mpsc::unbounded_channel();
        let mut serial = JoinSet::new();
        let mut beside = JoinSet::new();
        let both = || (Arc::clone(shared), Arc::clone(&held));
        let (gateway, mower) = both();
        serial.spawn(commands::take_in(gateway, mower, deliveries));
        let (gateway, mower) = both();
        serial.spawn(worker::work(gateway, mower));
        let (gateway, mower) = both();
        beside.spawn(drive::watch(gateway, mower));
        let (gateway, mower) = both();
        beside.spawn(telemetry::publish(gateway, mower));
        let (gateway, mower) = both();
        self.answers
            .spawn(answers::take_in(gateway, mower, connected.answers));
        let running = Running {
            serial,
            _beside: beside,
        };
        self.running.insert(mower_id, running);
        lock(&self.inboxes.open).insert(mower_id, inbox);
        shared.hold(Arc::clone(&held));
        stops::parked::begin_all(shared, &held);
        tracing::info!(%mower_id, fence = lease.fence, "holds a mower");
    }

    /// Lets go of a mower: nothing that waits for it is acted on any more.
    async fn let_go(&mut self, mower_id: Uuid) {
        lock(&self.inboxes.open).remove(&mower_id);
        let Some(held) = self.shared.release(mower_id) else {
            return;
        };
        held.let_go();
        drive::end(&self.shared, &held, "released", None).await;
        if let Some(running) = self.running.remove(&mower_id) {
            let shared = Arc::clone(&self.shared);
            self.finishing.spawn(finish(shared, held, running.serial));
        }
        tracing::info!(%mower_id, "let go of a mower");
    }

    async fn farewell(&mut self) {
        for held in self.shared.all_held() {
            self.let_go(held.mower_id).await;
        }
        while self.finishing.join_next().await.is_some() {}
        if let Err(cause) = self.renew(true).await {
            tracing::warn!(%cause, "the leases were not given back; they run out");
        }
    }

    fn count_lost(&self) {
        let now = Instant::now();
        for held in self.shared.all_held() {
            let until = held.lease().until;
            // Counted once: in the first heartbeat after the end.
            if until <= now && now < until + self.pace {
                self.shared.metrics.leases_lost.add();
            }
        }
    }

    async fn ask<Q: Serialize, A: DeserializeOwned>(
        &self,
        subject: &str,
        question: &Q,
        within: Duration,
    ) -> Result<A, BusError> {
        let invalid = |cause: serde_json::Error| BusError::Invalid(format!("`{subject}`: {cause}"));
        let payload = Bytes::from(serde_json::to_vec(question).map_err(invalid)?);
        let answer = self.shared.bus.request(subject, payload, within).await?;
        serde_json::from_slice(&answer).map_err(invalid)
    }
}

/// Waits for what was taken, then answers what still waits in the queue.
async fn finish(shared: Arc<Shared>, held: Arc<Held>, mut serial: JoinSet<()>) {
    while serial.join_next().await.is_some() {}
    for envelope in held.queue.drain() {
        let why = "lease-lost: the mower was let go of; it was not sent";
        let id = envelope.command_id;
        shared.settle(id, Status::Failed, why).await;
    }
}

/// The consumer of what happens to mowers: each is a reason to read the list.
pub(crate) fn events() -> Consumer {
    Consumer {
        stream: Stream::Events,
        durable: None,
        subjects: [
            subject::MOWER_REGISTERED,
            subject::MOWER_UPDATED,
            subject::MOWER_REMOVED,
        ]
        .map(str::to_owned)
        .to_vec(),
        ack_wait: Duration::from_secs(10),
        max_deliver: 3,
        max_ack_pending: 256,
    }
}

fn hold(held: &Held) -> Hold {
    let lease = held.lease();
    Hold {
        mower_id: held.mower_id,
        fence: lease.fence,
        since: lease.since,
    }
}

#[cfg(test)]
mod tests;

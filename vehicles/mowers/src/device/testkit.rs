//! A device gateway on a real bus inside of the test, with a vendor that does
//! exactly what the test says, a bus that can fail, and a clock that follows
//! tokio's paused time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use interlock_guard::Clock;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::adapters::Adapters;
use super::leases::Leases;
use super::roster::{Roster, serve};
use super::wire::MowerEntry;
use super::{Config, DeviceGateway};
use crate::bus::{Bus, BusError, Message, Published, Stream, subject};
use crate::contract::{Command, CommandResult, Envelope, MowerState, Priority, Status};

mod faulty;
mod values;
mod vendor;

pub(crate) use faulty::Faulty;
pub(crate) use values::{area, capabilities, entry, envelope, map, path, start_mow, stop_now};
pub(crate) use vendor::{Reached, Script, Vendor};

use vendor::Scripts;

pub(crate) const ACCOUNT: &str = "acme";

/// The start of every test.
pub(crate) fn noon() -> Timestamp {
    "2026-06-01T12:00:00Z".parse().unwrap()
}

pub(crate) fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Follows tokio's time; can be wrong by some milliseconds.
pub(crate) struct TestClock {
    began: Instant,
    pub(crate) off_ms: AtomicI64,
}

impl TestClock {
    pub(crate) fn new(off_ms: i64) -> Arc<Self> {
        Arc::new(TestClock {
            began: Instant::now(),
            off_ms: AtomicI64::new(off_ms),
        })
    }
}

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        let passed = SignedDuration::try_from(self.began.elapsed()).unwrap();
        noon() + passed + SignedDuration::from_millis(self.off_ms.load(Ordering::SeqCst))
    }
}

/// The mowers of a test.
pub(crate) struct Rows(pub(crate) Mutex<Vec<MowerEntry>>);

#[async_trait]
impl Roster for Rows {
    async fn mowers(&self) -> Option<Vec<MowerEntry>> {
        Some(self.0.lock().unwrap().clone())
    }

    /// Its entries say already.
    async fn calmed(&self, _page: &mut [MowerEntry]) {}
}

/// A running gateway, a mower, and all that the test may turn.
pub(crate) struct Rig {
    pub(crate) bus: Arc<Faulty>,
    pub(crate) script: Arc<Script>,
    pub(crate) mower: Uuid,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) fleet_clock: Arc<TestClock>,
    pub(crate) rows: Arc<Rows>,
    pub(crate) gateway: Option<DeviceGateway>,
    pub(crate) config: Config,
    _fleet: JoinHandle<Result<(), BusError>>,
    _folder: TempDir,
}

impl Rig {
    /// A gateway that holds one mower.
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}, 0).await
    }

    /// The same with other settings and a clock that is off.
    pub(crate) async fn with(change: impl FnOnce(&mut Config), off_ms: i64) -> Self {
        let fleet_clock = TestClock::new(0);
        let clock = TestClock::new(off_ms);
        let mower = Uuid::from_u128(0xA);
        let script = Script::new(mower, Arc::clone(&fleet_clock));
        let folder = tempfile::tempdir().unwrap();
        let scripts = Scripts(HashMap::from([(mower, Arc::clone(&script))]));
        let adapters = Adapters::default().with("simulated", Arc::new(scripts));
        let mut config = Config::new("one", folder.path().to_owned(), adapters);
        change(&mut config);
        let bus = Faulty::new();
        let rows = Arc::new(Rows(Mutex::new(vec![entry(mower, "simulated")])));
        let leases = Leases::new(SignedDuration::from_secs(6), noon());
        let fleet = tokio::spawn(serve(
            Arc::new(bus.real.clone()),
            Arc::clone(&rows) as Arc<dyn Roster>,
            leases,
            Arc::clone(&fleet_clock) as Arc<dyn Clock>,
        ));
        tokio::task::yield_now().await;
        let mut rig = Rig {
            bus,
            script,
            mower,
            clock,
            fleet_clock,
            rows,
            gateway: None,
            config,
            _fleet: fleet,
            _folder: folder,
        };
        rig.restart().await;
        rig
    }

    /// Ends the gateway without a farewell, if it runs, and starts it again.
    pub(crate) async fn restart(&mut self) {
        self.gateway = None;
        // What the old one left behind ends first.
        sleep(ms(10)).await;
        self.gateway = Some(self.another().await);
    }

    /// One more gateway of the present settings.
    pub(crate) async fn another(&self) -> DeviceGateway {
        let gateway = DeviceGateway::start(
            self.config.clone(),
            Arc::clone(&self.bus) as Arc<dyn Bus>,
            Arc::clone(&self.clock) as Arc<dyn Clock>,
        )
        .await
        .unwrap();
        sleep(ms(100)).await;
        gateway
    }

    pub(crate) fn counts(&self) -> super::Counts {
        self.gateway.as_ref().unwrap().counts()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.fleet_clock.now()
    }

    /// A command issued now with a life of 30 s.
    pub(crate) fn envelope(&self, command: Command) -> Envelope {
        envelope(self.mower, command, self.now())
    }

    pub(crate) async fn publish(&self, envelope: &Envelope) {
        let stop = envelope.priority == Priority::Emergency;
        self.publish_raw(stop, envelope.command_id, &json(envelope))
            .await;
    }

    pub(crate) async fn publish_raw(&self, stop: bool, id: Uuid, payload: &[u8]) {
        let message = Message {
            stream: if stop { Stream::Stop } else { Stream::Command },
            subject: if stop {
                subject::stop(self.mower)
            } else {
                subject::command(self.mower)
            },
            id: id.to_string(),
            priority: if stop {
                Priority::Emergency
            } else {
                Priority::Normal
            },
            payload: Bytes::copy_from_slice(payload),
        };
        let stored = self.bus.real.publish(&message, ms(100)).await;
        assert_eq!(stored, Published::Stored { duplicate: false });
    }

    /// Publishes a command and lets some time pass.
    pub(crate) async fn command(&self, command: Command) -> Uuid {
        let envelope = self.envelope(command);
        self.publish(&envelope).await;
        sleep(ms(100)).await;
        envelope.command_id
    }

    /// The statuses of a command that went out, repeats left out.
    pub(crate) fn statuses(&self, command_id: Uuid) -> Vec<Status> {
        let mut seen = Vec::new();
        for result in self.results(command_id) {
            if !seen.contains(&result.status) {
                seen.push(result.status);
            }
        }
        seen
    }

    pub(crate) fn results(&self, command_id: Uuid) -> Vec<CommandResult> {
        let all = self.bus.published.lock().unwrap().clone();
        all.into_iter()
            .filter(|result| result.command_id == command_id)
            .collect()
    }

    /// The final of a command and its reason.
    pub(crate) fn last(&self, command_id: Uuid) -> Option<(Status, String)> {
        let mut results = self.results(command_id).into_iter();
        results
            .rfind(|result| result.status.is_final())
            .map(|result| (result.status, result.reason.unwrap_or_default()))
    }

    pub(crate) async fn ask<A: DeserializeOwned>(
        &self,
        subject: &str,
        question: &impl Serialize,
        within: Duration,
    ) -> Result<A, BusError> {
        let payload = Bytes::from(json(question));
        let answer = self.bus.real.request(subject, payload, within).await?;
        Ok(serde_json::from_slice(&answer).unwrap())
    }

    pub(crate) fn change_state(&self, change: impl FnOnce(&mut MowerState)) {
        self.script.state.send_modify(|state| {
            let mut next = MowerState::clone(state);
            next.seq += 1;
            change(&mut next);
            *state = Arc::new(next);
        });
    }
}

pub(crate) fn json(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).unwrap()
}

//! A device gateway on a real bus inside of the test, with a vendor that does
//! exactly what the test says, a bus that can fail, and a clock that follows
//! tokio's paused time.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use interlock_guard::Clock;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::adapters::{Adapter, AdapterError, Adapters};
use super::leases::Leases;
use super::roster::{Roster, serve};
use super::wire::{ConnectionSpec, MowerEntry};
use super::{Config, DeviceGateway};
use crate::bus::{
    Bus, BusError, Consume, Consumer, Delivery, Listen, LocalBus, Message, Published, Receipt,
    Stream, subject,
};
use crate::connection::{Answer, Connected, Connection, Sent, Verdict};
use crate::contract::state::{Emergency, Link, Pose};
use crate::contract::{
    Activity, Area, Capabilities, Command, CommandKind, CommandResult, Drive, Envelope, Fix,
    InactiveReason, Issuer, IssuerKind, Map, MowerState, Path, PathError, Pattern, Point, Priority,
    Start, Status, StopSemantics,
};

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

/// What the vendor does with a command or a stop.
#[derive(Clone, Debug)]
pub(crate) enum Vendor {
    /// Takes it and answers after so long.
    Answers(Duration, Verdict),
    /// Takes it and never answers.
    Silent,
    /// Says at once what became of the sending.
    Says(Sent),
    /// Needs so long before it goes out.
    Slow(Duration),
}

impl Vendor {
    pub(crate) fn executes() -> Self {
        Vendor::Answers(ms(5), Verdict::Executed(None))
    }
}

/// What reached the mower.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reached {
    Command(Uuid, CommandKind, u64),
    Stop(Uuid),
    Drive(Drive),
}

/// A vendor that does what it is told.
pub(crate) struct Script {
    pub(crate) commands: Mutex<Vendor>,
    pub(crate) stops: Mutex<Vendor>,
    pub(crate) capabilities: Mutex<Capabilities>,
    pub(crate) plan: Mutex<(Duration, Result<Path, PathError>)>,
    pub(crate) plans: AtomicU32,
    pub(crate) state: watch::Sender<Arc<MowerState>>,
    pub(crate) reached: Mutex<Vec<(Timestamp, Reached)>>,
    clock: Arc<TestClock>,
    answers: Mutex<mpsc::UnboundedSender<Answer>>,
}

impl Script {
    fn new(mower_id: Uuid, clock: Arc<TestClock>) -> Arc<Self> {
        let (nowhere, _) = mpsc::unbounded_channel();
        Arc::new(Script {
            commands: Mutex::new(Vendor::executes()),
            stops: Mutex::new(Vendor::executes()),
            capabilities: Mutex::new(capabilities()),
            plan: Mutex::new((ms(0), Ok(path("aa")))),
            plans: AtomicU32::new(0),
            state: watch::Sender::new(Arc::new(state(mower_id))),
            reached: Mutex::default(),
            clock,
            answers: Mutex::new(nowhere),
        })
    }

    pub(crate) fn says(&self, command_id: Uuid, verdict: Verdict) {
        let answer = Answer {
            command_id,
            verdict,
        };
        self.answers.lock().unwrap().send(answer).unwrap();
    }

    /// What reached the mower, without the times.
    pub(crate) fn reached(&self) -> Vec<Reached> {
        let reached = self.reached.lock().unwrap();
        reached.iter().map(|(_, what)| what.clone()).collect()
    }

    pub(crate) fn drives(&self) -> Vec<Drive> {
        let all = self.reached().into_iter();
        all.filter_map(|what| match what {
            Reached::Drive(frame) => Some(frame),
            _ => None,
        })
        .collect()
    }

    pub(crate) fn times_sent(&self, command_id: Uuid) -> usize {
        let all = self.reached().into_iter();
        all.filter(|what| match what {
            Reached::Command(id, ..) | Reached::Stop(id) => *id == command_id,
            Reached::Drive(_) => false,
        })
        .count()
    }

    fn note(&self, what: Reached) {
        self.reached.lock().unwrap().push((self.clock.now(), what));
    }

    async fn act(&self, vendor: Vendor, command_id: Uuid, what: Reached) -> Sent {
        match vendor {
            Vendor::Answers(after, verdict) => {
                self.note(what);
                let answers = self.answers.lock().unwrap().clone();
                tokio::spawn(async move {
                    sleep(after).await;
                    // The gateway may be gone by then.
                    let _ = answers.send(Answer {
                        command_id,
                        verdict,
                    });
                });
                Sent::Taken
            }
            Vendor::Silent => {
                self.note(what);
                Sent::Taken
            }
            Vendor::Says(sent) => sent,
            Vendor::Slow(delay) => {
                sleep(delay).await;
                self.note(what);
                Sent::Taken
            }
        }
    }
}

#[async_trait]
impl Connection for Script {
    fn capabilities(&self) -> Arc<Capabilities> {
        Arc::new(self.capabilities.lock().unwrap().clone())
    }

    fn map(&self) -> Arc<Map> {
        Arc::new(map())
    }

    fn state(&self) -> watch::Receiver<Arc<MowerState>> {
        self.state.subscribe()
    }

    async fn send(&self, fence: u64, command_id: Uuid, command: &Command) -> Sent {
        let vendor = self.commands.lock().unwrap().clone();
        let what = Reached::Command(command_id, command.kind(), fence);
        self.act(vendor, command_id, what).await
    }

    async fn stop(&self, command_id: Uuid, _: Option<&str>) -> Sent {
        let vendor = self.stops.lock().unwrap().clone();
        self.act(vendor, command_id, Reached::Stop(command_id))
            .await
    }

    fn drive(&self, _: u64, frame: &Drive) {
        self.note(Reached::Drive(frame.clone()));
    }

    async fn plan(&self, _: &[Uuid], _: Option<&Pattern>) -> Result<Path, PathError> {
        self.plans.fetch_add(1, Ordering::SeqCst);
        let (delay, plan) = self.plan.lock().unwrap().clone();
        sleep(delay).await;
        plan
    }
}

/// Gives out the scripts of a test.
struct Scripts(HashMap<Uuid, Arc<Script>>);

impl Adapter for Scripts {
    fn connect(&self, mower_id: Uuid, _: &Value) -> Result<Connected, AdapterError> {
        let script = self
            .0
            .get(&mower_id)
            .ok_or_else(|| AdapterError::Options("no script".to_owned()))?;
        let (sender, answers) = mpsc::unbounded_channel();
        *script.answers.lock().unwrap() = sender;
        Ok(Connected {
            connection: Arc::clone(script) as Arc<dyn Connection>,
            answers,
        })
    }
}

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

    fn new() -> Arc<Self> {
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

/// The mowers of a test.
pub(crate) struct Rows(pub(crate) Mutex<Vec<MowerEntry>>);

#[async_trait]
impl Roster for Rows {
    async fn mowers(&self) -> Option<Vec<MowerEntry>> {
        Some(self.0.lock().unwrap().clone())
    }
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
        let gateway = DeviceGateway::start(
            self.config.clone(),
            Arc::clone(&self.bus) as Arc<dyn Bus>,
            Arc::clone(&self.clock) as Arc<dyn Clock>,
        )
        .await
        .unwrap();
        self.gateway = Some(gateway);
        sleep(ms(100)).await;
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
        let finals = self.results(command_id).into_iter();
        finals
            .filter(|result| result.status.is_final())
            .next_back()
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

pub(crate) fn entry(mower_id: Uuid, kind: &str) -> MowerEntry {
    MowerEntry {
        mower_id,
        account_id: ACCOUNT.to_owned(),
        connection: ConnectionSpec {
            kind: kind.to_owned(),
            options: json!({}),
        },
        stop_epoch: 0,
    }
}

pub(crate) fn envelope(mower_id: Uuid, command: Command, now: Timestamp) -> Envelope {
    let priority = Priority::of(command.kind());
    let life = match priority {
        Priority::Emergency => 10,
        Priority::Normal => 30,
    };
    Envelope {
        command_id: Uuid::now_v7(),
        mower_id,
        account_id: ACCOUNT.to_owned(),
        issued_by: Issuer {
            kind: IssuerKind::User,
            id: "issuer anna".to_owned(),
            display: "anna".to_owned(),
            on_behalf_of: None,
        },
        issued_at: now,
        expires_at: now + SignedDuration::from_secs(life),
        priority,
        correlation_id: Uuid::now_v7(),
        stop_epoch: 0,
        command,
    }
}

pub(crate) fn stop_now() -> Command {
    Command::EmergencyStop { reason: None }
}

pub(crate) fn start_mow() -> Start {
    Start {
        area_ids: vec![area()],
        pattern: None,
        blade_height_mm: None,
        speed_mps: None,
        duration_min: None,
        expected_path_hash: None,
    }
}

pub(crate) fn area() -> Uuid {
    Uuid::from_u128(0x100)
}

pub(crate) fn map() -> Map {
    Map {
        revision: 1,
        dock: Point { x: 0.0, y: 0.0 },
        areas: vec![Area {
            id: area(),
            name: "lawn".to_owned(),
            outline: vec![
                Point { x: 0.0, y: 0.0 },
                Point { x: 9.0, y: 0.0 },
                Point { x: 9.0, y: 9.0 },
            ],
            obstacles: Vec::new(),
        }],
    }
}

pub(crate) fn capabilities() -> Capabilities {
    Capabilities {
        kinds: CommandKind::ALL.to_vec(),
        path_preview: true,
        areas: true,
        patterns: true,
        blade_height_mm: (25, 70),
        speed_mps: (0.2, 0.6),
        spacing_cm: (20.0, 35.0),
        stop_semantics: StopSemantics::MotorsOff,
    }
}

pub(crate) fn path(hash: &str) -> Path {
    Path {
        legs: Vec::new(),
        points_total: 0,
        path_hash: hash.to_owned(),
        length_m: 1.0,
        area_m2: 1.0,
        est_duration_s: 1.0,
        est_battery_percent: 1.0,
        map_revision: 1,
        assumptions: Vec::new(),
        truncated: false,
    }
}

pub(crate) fn state(mower_id: Uuid) -> MowerState {
    MowerState {
        mower_id,
        activity: Activity::Paused,
        ha_activity: Activity::Paused.ha().to_owned(),
        inactive_reason: InactiveReason::None,
        position: Pose {
            x: 0.0,
            y: 0.0,
            heading: 0.0,
        },
        position_accuracy_m: 0.02,
        fix: Fix::RtkFixed,
        battery_percent: 80.0,
        battery_v: 27.0,
        charging: false,
        remaining_charge_s: None,
        speed_mps: 0.0,
        blade_on: false,
        blade_rpm: 0,
        blade_height_mm: 40,
        job: None,
        emergency: Emergency {
            active: false,
            latched: false,
            reason: None,
            since: None,
        },
        error: None,
        link: Link {
            online: true,
            rssi_dbm: None,
            rtt_ms: None,
            last_seen: None,
        },
        seq: 1,
        at: noon(),
    }
}

//! A vendor that does exactly what the test says.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use interlock_guard::Clock;
use jiff::Timestamp;
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;
use uuid::Uuid;

use super::values::{capabilities, map, path, state};
use super::{TestClock, ms};
use crate::connection::{Answer, Connected, Connection, Sent, Verdict};
use crate::contract::{
    Capabilities, Command, CommandKind, Drive, Map, MowerState, Path, PathError, Start,
};
use crate::device::adapters::{Adapter, AdapterError};

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
    DriveOver(Uuid),
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
    pub(super) fn new(mower_id: Uuid, clock: Arc<TestClock>) -> Arc<Self> {
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
            Reached::Drive(_) | Reached::DriveOver(_) => false,
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

    fn drive_over(&self, _: u64, session_id: Uuid) {
        self.note(Reached::DriveOver(session_id));
    }

    async fn plan(&self, _: &Start) -> Result<Path, PathError> {
        self.plans.fetch_add(1, Ordering::SeqCst);
        let (delay, plan) = self.plan.lock().unwrap().clone();
        sleep(delay).await;
        plan
    }
}

/// Gives out the scripts of a test.
pub(crate) struct Scripts(pub(super) HashMap<Uuid, Arc<Script>>);

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

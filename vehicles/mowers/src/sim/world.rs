//! One mower behind its link: what arrives, what is answered, what is published.

use std::collections::VecDeque;
use std::sync::Arc;

use jiff::Timestamp;
use tokio::sync::{mpsc, watch};
use uuid::Uuid;

use crate::connection::{Answer, Verdict};
use crate::contract::{Activity, Command, MowerState};
use crate::sim::SharedClock;
use crate::sim::link::{Delivery, Link, Message, Mishap};
use crate::sim::machine::report::Envelope;
use crate::sim::machine::{Machine, Reply, STEP_MS};

mod publish;

use publish::{Face, heard};

/// Real milliseconds between states while it moves, and while it rests.
const MOVING_MS: u64 = 200;
const HEARTBEAT_MS: u64 = 10_000;
/// How often something that waits by itself is looked at.
const WAITING_MS: u64 = 1_000;
/// Command ids that the mower remembers.
const MEMORY: usize = 64;

/// What is counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Starts and resumes that were executed.
    pub departures: u64,
    /// Stops that were executed.
    pub stops: u64,
    /// Commands that came a second time.
    pub duplicates: u64,
    /// Commands, frames and ends of driving of a lease that had ended.
    pub fenced: u64,
    /// Frames that were driven.
    pub frames: u64,
    /// Frames that were refused.
    pub refused_frames: u64,
}

/// One mower and its link.
pub(super) struct World {
    pub(super) machine: Machine,
    pub(super) link: Link,
    pub(super) counters: Counters,
    mower_id: Uuid,
    clock: SharedClock,
    born: Timestamp,
    /// Simulated milliseconds per real one.
    speed: f64,
    now_ms: u64,
    seq: u64,
    published_ms: u64,
    heard: Timestamp,
    face: Option<Face>,
    answers: mpsc::UnboundedSender<Answer>,
    state: watch::Sender<Arc<MowerState>>,
    /// The ids seen last, with what was answered.
    memory: VecDeque<(Uuid, Option<Verdict>)>,
    /// What is answered once the wheels stand.
    halting: Vec<Delivery>,
}

/// What a world is made of.
pub(super) struct Parts {
    pub(super) mower_id: Uuid,
    pub(super) machine: Machine,
    pub(super) link: Link,
    pub(super) clock: SharedClock,
    pub(super) speed: f64,
    pub(super) answers: mpsc::UnboundedSender<Answer>,
}

impl World {
    pub(super) fn new(parts: Parts) -> Self {
        let born = parts.clock.now();
        // Starting at the time keeps the numbers rising over a restart.
        let seq = u64::try_from(born.as_millisecond()).unwrap_or(0);
        let envelope = Envelope {
            mower_id: parts.mower_id,
            seq,
            born,
            speed: parts.speed,
            at: born,
            link: heard(true, parts.link.quality.latency_ms, born),
        };
        let first = parts.machine.report(&envelope);
        let face = Some(Face::of(&first));
        let (state, _) = watch::channel(Arc::new(first));
        Self {
            machine: parts.machine,
            link: parts.link,
            counters: Counters::default(),
            mower_id: parts.mower_id,
            clock: parts.clock,
            born,
            speed: parts.speed,
            now_ms: 0,
            seq,
            published_ms: 0,
            heard: born,
            face,
            answers: parts.answers,
            state,
            memory: VecDeque::new(),
            halting: Vec::new(),
        }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<Arc<MowerState>> {
        self.state.subscribe()
    }

    /// Passes time up to that real millisecond.
    pub(super) fn advance(&mut self, to_ms: u64) {
        while let Some((arrival, message)) = self.link.arrived(to_ms) {
            self.pass(arrival);
            self.receive(message);
        }
        self.pass(to_ms);
        self.publish();
    }

    fn pass(&mut self, to_ms: u64) {
        self.now_ms = self.now_ms.max(to_ms);
        #[expect(
            clippy::cast_precision_loss,
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "milliseconds of a life"
        )]
        let machine_ms = (self.now_ms as f64 * self.speed) as u64;
        while !self.halting.is_empty() && self.machine.now_ms() + STEP_MS <= machine_ms {
            self.machine.advance(self.machine.now_ms() + STEP_MS);
            self.answer_halted();
        }
        self.machine.advance(machine_ms);
        self.answer_halted();
    }

    fn receive(&mut self, message: Message) {
        match message {
            Message::Command(delivery) => self.obey(delivery),
            Message::Frame { fence, frame } => {
                if !self.machine.holds(fence) {
                    self.counters.fenced += 1;
                } else if self.machine.drive(&frame).is_ok() {
                    self.counters.frames += 1;
                } else {
                    self.counters.refused_frames += 1;
                }
            }
            Message::DriveOver { fence, session } => {
                if self.machine.holds(fence) {
                    self.machine.drive_over(session);
                } else {
                    self.counters.fenced += 1;
                }
            }
            Message::Answer { id, verdict } => {
                // Nobody listening is the listener's affair.
                let _ = self.answers.send(Answer {
                    command_id: id,
                    verdict,
                });
            }
        }
    }

    fn obey(&mut self, delivery: Delivery) {
        if self.machine.activity() == Activity::Offline {
            return;
        }
        let (mower_id, command_id) = (self.mower_id, delivery.id);
        tracing::debug!(%mower_id, %command_id, "a command reaches the simulated mower");
        let stop = delivery.fence.is_none();
        if let Some((_, answered)) = self.memory.iter().find(|(id, _)| *id == delivery.id) {
            self.counters.duplicates += 1;
            let answered = answered.clone();
            // SAFETY-STOP: a stop is carried out as often as it comes.
            if stop {
                self.machine.command(delivery.id, &delivery.command);
            }
            if let Some(verdict) = answered {
                self.link.answer(delivery.id, verdict, 0, self.now_ms);
            }
            return;
        }
        self.memory.push_back((delivery.id, None));
        if self.memory.len() > MEMORY {
            self.memory.pop_front();
        }
        if delivery
            .fence
            .is_some_and(|fence| !self.machine.holds(fence))
        {
            self.counters.fenced += 1;
            return self.answer(&delivery, Verdict::Rejected("stale-lease".to_owned()));
        }
        if let Some(Mishap::Fails(code)) = &delivery.mishap {
            let verdict = Verdict::Failed(code.clone());
            return self.answer(&delivery, verdict);
        }
        let reply = self.machine.command(delivery.id, &delivery.command);
        if delivery.mishap == Some(Mishap::Restart) {
            self.machine.restart();
            return;
        }
        match reply {
            Reply::Now(verdict) => {
                self.count(&delivery, &verdict);
                self.answer(&delivery, verdict);
            }
            Reply::AtStandstill => self.halting.push(delivery),
        }
    }

    fn count(&mut self, delivery: &Delivery, verdict: &Verdict) {
        if *verdict != Verdict::Executed(None) {
            return;
        }
        match delivery.command {
            Command::StartMow(_) | Command::ResumeMow { .. } => self.counters.departures += 1,
            Command::EmergencyStop { .. } => self.counters.stops += 1,
            _ => {}
        }
    }

    fn answer_halted(&mut self) {
        if self.halting.is_empty() || !self.machine.stands() {
            return;
        }
        for delivery in std::mem::take(&mut self.halting) {
            let verdict = Verdict::Executed(None);
            self.count(&delivery, &verdict);
            self.answer(&delivery, verdict);
        }
    }

    fn answer(&mut self, delivery: &Delivery, verdict: Verdict) {
        let id = delivery.id;
        if let Some((_, kept)) = self.memory.iter_mut().find(|(known, _)| *known == id) {
            *kept = Some(verdict.clone());
        }
        let now = self.now_ms;
        match &delivery.mishap {
            Some(Mishap::AnswerLost | Mishap::Nothing) => {}
            Some(Mishap::AnswerLate(late_ms)) => self.link.answer(id, verdict, *late_ms, now),
            Some(Mishap::AnsweredTwice) => {
                self.link.answer(id, verdict.clone(), 0, now);
                self.link.answer(id, verdict, 0, now);
            }
            Some(Mishap::TwoFinals) => {
                self.link.answer(id, verdict, 0, now);
                let other = Verdict::Failed("vendor-error".to_owned());
                self.link.answer(id, other, 0, now);
            }
            Some(Mishap::Restart | Mishap::Fails(_) | Mishap::SentUnknown(_)) | None => {
                self.link.answer(id, verdict, 0, now);
            }
        }
    }

    /// When it must be looked at again, in real milliseconds.
    pub(super) fn wake_ms(&self) -> u64 {
        let mut wake = self
            .published_ms
            .max(self.now_ms.saturating_sub(HEARTBEAT_MS))
            + HEARTBEAT_MS;
        if !self.machine.rests() {
            wake = wake.min(self.now_ms + MOVING_MS);
        }
        if self.machine.waits() {
            wake = wake.min(self.now_ms + WAITING_MS);
        }
        if !self.halting.is_empty() {
            wake = wake.min(self.now_ms + STEP_MS);
        }
        if !self.link.online(self.now_ms) {
            wake = wake.min(self.link.offline_until_ms);
        }
        if let Some(arrival) = self.link.next_arrival_ms() {
            wake = wake.min(arrival);
        }
        wake.max(self.now_ms + 1)
    }
}

//! The link and the vendor between a device gateway and a mower, and all that
//! goes wrong there. Times are real milliseconds since the simulation began.

use std::collections::{BTreeMap, VecDeque};

use uuid::Uuid;

use crate::connection::{Sent, Verdict};
use crate::contract::{Command, Drive};
use crate::sim::random::Random;

mod mishap;

pub use mishap::{Mishap, Quality};

/// Frames that could not be sent before a drive session is given up.
const FRAME_TIMEOUTS: u32 = 3;
const MONTH_MS: u64 = 30 * 24 * 3_600 * 1_000;
/// This share of the calls is kept for stops.
const RESERVE_SHARE: f64 = 0.05;
/// A message that is overtaken comes this much later at most.
const REORDER_MS: f64 = 500.0;

/// Something on its way.
#[derive(Clone, Debug)]
pub(super) enum Message {
    Command(Delivery),
    Frame { fence: u64, frame: Drive },
    DriveOver { fence: u64, session: Uuid },
    Answer { id: Uuid, verdict: Verdict },
}

/// A command on its way to the mower.
#[derive(Clone, Debug)]
pub(super) struct Delivery {
    pub(super) id: Uuid,
    /// `None` for a stop: every lease may stop.
    pub(super) fence: Option<u64>,
    pub(super) command: Command,
    pub(super) mishap: Option<Mishap>,
}

/// The link to one mower.
#[derive(Clone, Debug)]
pub(super) struct Link {
    random: Random,
    pub(super) quality: Quality,
    /// By arrival and order of sending.
    flying: BTreeMap<(u64, u64), Message>,
    sent: u64,
    /// The latest arrival of each direction, so that messages keep their order.
    last_down_ms: u64,
    last_up_ms: u64,
    pub(super) offline_until_ms: u64,
    pub(super) limited_until_ms: u64,
    pub(super) plan_delay_ms: u64,
    pub(super) skew_ms: i64,
    pub(super) mishaps: VecDeque<Mishap>,
    pub(super) stop_mishaps: VecDeque<Mishap>,
    calls_per_month: Option<u32>,
    calls: u32,
    month_began_ms: u64,
    frame_timeouts: u32,
    given_up: Option<Uuid>,
}

impl Link {
    pub(super) fn new(seed: u64, calls_per_month: Option<u32>) -> Self {
        Self {
            random: Random::new(seed ^ 0x4c49_4e4b),
            quality: Quality::default(),
            flying: BTreeMap::new(),
            sent: 0,
            last_down_ms: 0,
            last_up_ms: 0,
            offline_until_ms: 0,
            limited_until_ms: 0,
            plan_delay_ms: 0,
            skew_ms: 0,
            mishaps: VecDeque::new(),
            stop_mishaps: VecDeque::new(),
            calls_per_month,
            calls: 0,
            month_began_ms: 0,
            frame_timeouts: 0,
            given_up: None,
        }
    }

    pub(super) fn online(&self, now_ms: u64) -> bool {
        now_ms >= self.offline_until_ms
    }

    /// Hands a command to the vendor. Those of `overtaking` wait behind nothing.
    pub(super) fn send(&mut self, mut delivery: Delivery, overtaking: bool, now_ms: u64) -> Sent {
        let stop = delivery.fence.is_none();
        if !self.online(now_ms) {
            return Sent::NotSent("offline".to_owned());
        }
        if let Some(retry_after_s) = self.limited(stop, now_ms) {
            return Sent::Limited { retry_after_s };
        }
        self.calls += 1;
        let mishap = if stop {
            self.stop_mishaps.pop_front()
        } else {
            self.mishaps.pop_front()
        };
        let sent = match &mishap {
            Some(Mishap::Nothing) => return Sent::Taken,
            Some(Mishap::SentUnknown(false)) => return Sent::Unknown("timeout".to_owned()),
            Some(Mishap::SentUnknown(true)) => Sent::Unknown("timeout".to_owned()),
            _ => Sent::Taken,
        };
        delivery.mishap = mishap;
        self.down(Message::Command(delivery), !overtaking, now_ms);
        sent
    }

    /// Sends a frame of manual driving; it is lost where a command would be refused.
    pub(super) fn frame(&mut self, fence: u64, frame: Drive, now_ms: u64) {
        let session = frame.session_id;
        if self.given_up == Some(session) {
            return;
        }
        if self.online(now_ms) {
            self.frame_timeouts = 0;
            self.down(Message::Frame { fence, frame }, false, now_ms);
        } else {
            self.frame_timeouts += 1;
            if self.frame_timeouts >= FRAME_TIMEOUTS {
                self.frame_timeouts = 0;
                self.given_up = Some(session);
            }
        }
    }

    /// Says that nobody drives by the session any more; lost where a frame is.
    pub(super) fn drive_over(&mut self, fence: u64, session: Uuid, now_ms: u64) {
        if self.online(now_ms) {
            self.down(Message::DriveOver { fence, session }, false, now_ms);
        }
    }

    /// The mower answers; `late_ms` is added to the way.
    pub(super) fn answer(&mut self, id: Uuid, verdict: Verdict, late_ms: u64, now_ms: u64) {
        let message = Message::Answer { id, verdict };
        if late_ms == 0 {
            let floor = self.last_up_ms;
            self.last_up_ms = self.travel(message, floor, now_ms);
        } else {
            self.travel(message, 0, now_ms.saturating_add(late_ms));
        }
    }

    fn down(&mut self, message: Message, in_order: bool, now_ms: u64) {
        let floor = if in_order { self.last_down_ms } else { 0 };
        let arrival = self.travel(message, floor, now_ms);
        if in_order {
            self.last_down_ms = arrival;
        }
    }

    /// Puts a message on its way, not to arrive before `floor`; returns its
    /// arrival as later messages see it.
    fn travel(&mut self, message: Message, floor: u64, now_ms: u64) -> u64 {
        let arrival = now_ms.saturating_add(self.delay_ms()).max(floor);
        if self.random.happens(self.quality.duplicates) {
            let again = now_ms.saturating_add(self.delay_ms()).max(floor);
            self.fly(message.clone(), again);
        }
        if self.random.happens(self.quality.loss) {
            return floor;
        }
        if self.random.happens(self.quality.reorder) {
            let late = milliseconds(self.random.unit() * REORDER_MS);
            self.fly(message, arrival.saturating_add(late));
            return floor;
        }
        self.fly(message, arrival);
        arrival
    }

    fn fly(&mut self, message: Message, arrival: u64) {
        self.sent += 1;
        self.flying.insert((arrival, self.sent), message);
    }

    fn delay_ms(&mut self) -> u64 {
        let swing = (self.random.unit() * 2.0 - 1.0) * self.quality.jitter_ms;
        milliseconds(self.quality.latency_ms + swing)
    }

    /// Seconds until the vendor may be asked again, if not now.
    fn limited(&mut self, stop: bool, now_ms: u64) -> Option<u32> {
        let until = |end_ms: u64| {
            let seconds = end_ms.saturating_sub(now_ms).div_ceil(1_000);
            Some(u32::try_from(seconds).unwrap_or(u32::MAX))
        };
        if now_ms < self.limited_until_ms && !stop {
            return until(self.limited_until_ms);
        }
        let budget = f64::from(self.calls_per_month?);
        if now_ms >= self.month_began_ms.saturating_add(MONTH_MS) {
            self.month_began_ms = now_ms;
            self.calls = 0;
        }
        let usable = if stop {
            budget
        } else {
            budget * (1.0 - RESERVE_SHARE)
        };
        if f64::from(self.calls) >= usable {
            return until(self.month_began_ms.saturating_add(MONTH_MS));
        }
        None
    }

    /// Uses up calls of the month.
    pub(super) fn spend(&mut self, calls: u32) {
        self.calls = self.calls.saturating_add(calls);
    }

    /// When the next message arrives.
    pub(super) fn next_arrival_ms(&self) -> Option<u64> {
        self.flying.keys().next().map(|(arrival, _)| *arrival)
    }

    /// The next message that has arrived. One that arrives while the mower is
    /// offline is lost.
    pub(super) fn arrived(&mut self, now_ms: u64) -> Option<(u64, Message)> {
        loop {
            let key = *self.flying.keys().next()?;
            if key.0 > now_ms {
                return None;
            }
            let message = self.flying.remove(&key)?;
            if self.online(key.0) {
                return Some((key.0, message));
            }
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to what a wait can be"
)]
fn milliseconds(value: f64) -> u64 {
    value.clamp(0.0, 3_600_000.0).round() as u64
}

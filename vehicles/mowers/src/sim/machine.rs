//! The machine: one mower in its garden, stepped in fixed time.
//!
//! It knows no wall clock. [`Machine::advance`] passes simulated milliseconds:
//! in steps of 20 ms while anything moves, in long ones while all rests.

use std::sync::Arc;

use uuid::Uuid;

use crate::contract::{InactiveReason, Map, Point};
use crate::sim::garden;
use crate::sim::profile::Profile;
use crate::sim::random::Random;

pub(super) mod battery;
mod begin;
pub(super) mod blade;
pub(super) mod body;
mod commands;
mod docking;
mod driving;
mod emergency;
mod faults;
mod guards;
pub(super) mod job;
mod knobs;
pub(super) mod locator;
pub(super) mod manual;
mod mowing;
pub(super) mod report;
pub(super) mod sensors;
pub(super) mod states;

#[cfg(test)]
mod tests;

use battery::{Battery, LOW_PERCENT, Load};
use blade::Blade;
use body::{Body, Pilot, Wheels};
use docking::Homing;
use emergency::Latch;
use job::Job;
use locator::{Locator, ODOMETRY_SIGMA};
use manual::Manual;
use sensors::Sensors;
use states::State;

pub(super) use commands::Reply;

/// The step while anything moves.
pub(super) const STEP_MS: u64 = 20;
const STEP_S: f64 = 0.02;
/// The longest step while all rests in the dock, and in the garden.
const DOCK_STEP_MS: u64 = 1_000;
const GARDEN_STEP_MS: u64 = 100;

/// What the mower is about, leaving the emergency latch aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    Docked,
    Undocking,
    Mowing,
    Paused,
    Returning,
    Driving,
    Error,
    Updating {
        until_ms: u64,
    },
    /// Without power, or starting up.
    Off {
        until_ms: u64,
    },
}

/// Why it stands and will go on by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Fix,
    Heat,
    /// In the dock, until charged.
    Charge,
    /// In the dock, until dry.
    Dry,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) code: String,
    pub(super) key: String,
    pub(super) confirmable: bool,
    /// Whether it may drive home in spite of it.
    pub(super) lets_home: bool,
    pub(super) since_ms: u64,
}

/// One mower.
#[derive(Clone, Debug)]
pub(super) struct Machine {
    pub(super) profile: Arc<Profile>,
    pub(super) map: Arc<Map>,
    way_out: Point,
    random: Random,
    now_ms: u64,
    mode: Mode,
    latch: Option<Latch>,
    fault: Option<Fault>,
    inactive: InactiveReason,
    wait: Option<Wait>,
    body: Body,
    pilot: Pilot,
    locator: Locator,
    blade: Blade,
    battery: Battery,
    sensors: Sensors,
    manual: Manual,
    speed_mps: f64,
    job: Option<Job>,
    homing: Option<Homing>,
    /// The way home that a lost fix interrupted.
    interrupted: Option<Homing>,
    /// Whether it only leaves the dock, job or not.
    stay_out: bool,
    undocking: Option<docking::Undocking>,
    detour: Vec<driving::Hop>,
    bumps: u32,
    stuck_s: f64,
    lifted: bool,
    tilted: bool,
    docking_failures: u32,
    /// The highest lease number seen.
    fence: u64,
}

impl Machine {
    /// A mower in its dock.
    pub(super) fn docked(profile: Profile, map: Map, seed: u64, battery_percent: f64) -> Self {
        let way_out = garden::way_out(&map);
        Self {
            way_out,
            random: Random::new(seed),
            now_ms: 0,
            mode: Mode::Docked,
            latch: None,
            fault: None,
            inactive: InactiveReason::None,
            wait: None,
            body: Body::standing(map.dock, way_out.times(-1.0).direction()),
            pilot: Pilot::new(),
            locator: Locator::new(),
            blade: Blade::new(profile.blade_height_mm),
            battery: Battery::new(&profile, battery_percent),
            sensors: Sensors::new(),
            manual: Manual::default(),
            speed_mps: profile.speed_mps,
            job: None,
            homing: None,
            interrupted: None,
            stay_out: false,
            undocking: None,
            detour: Vec::new(),
            bumps: 0,
            stuck_s: 0.0,
            lifted: false,
            tilted: false,
            docking_failures: 0,
            fence: 0,
            profile: Arc::new(profile),
            map: Arc::new(map),
        }
    }

    /// Milliseconds of its life so far.
    pub(super) fn now_ms(&self) -> u64 {
        self.now_ms
    }

    /// Passes time up to that moment. What remains below one step while it
    /// moves is left for the next call.
    pub(super) fn advance(&mut self, to_ms: u64) {
        loop {
            let left = to_ms.saturating_sub(self.now_ms);
            if self.rests() {
                let longest = if self.mode == Mode::Docked {
                    DOCK_STEP_MS
                } else {
                    GARDEN_STEP_MS
                };
                let step = left.min(longest);
                if step == 0 {
                    return;
                }
                self.now_ms += step;
                self.rest(step);
            } else {
                if left < STEP_MS {
                    return;
                }
                self.step();
            }
        }
    }

    /// One step of 20 ms.
    pub(super) fn step(&mut self) {
        self.now_ms += STEP_MS;
        self.watch(STEP_S);
        let (wheels, blade) = self.act();
        self.blade.turn(blade);
        let slip = self.random.normal() * ODOMETRY_SIGMA;
        let way = self.body.step(wheels, slip, STEP_S);
        self.locator.step(way, STEP_S, &mut self.random);
        self.pass(STEP_S);
    }

    /// A step in which nothing moves.
    fn rest(&mut self, milliseconds: u64) {
        #[expect(clippy::cast_precision_loss, reason = "a step is at most a second")]
        let seconds = milliseconds as f64 / 1_000.0;
        self.locator.wait(seconds);
        self.pass(seconds);
        self.watch(seconds);
    }

    fn pass(&mut self, seconds: f64) {
        if self.powered() && !self.blade.step(seconds) {
            self.latch("blade-spin-up");
        }
        self.battery.step(self.load(), seconds);
        self.sensors.step(self.blade.rpm > 0.0, seconds);
        self.sensors.settle(self.now_ms);
    }

    /// What the wheels and the blade should do in this step.
    fn act(&mut self) -> (Wheels, bool) {
        if self.latch.is_some() {
            return (Wheels::default(), false);
        }
        match self.mode {
            Mode::Undocking => (self.undock(), false),
            Mode::Mowing => self.mow(),
            Mode::Returning => (self.go_home(), false),
            Mode::Driving => self.follow_driver(),
            Mode::Docked
            | Mode::Paused
            | Mode::Error
            | Mode::Updating { .. }
            | Mode::Off { .. } => (Wheels::default(), false),
        }
    }

    /// Whether nothing moves and nothing is about to.
    pub(super) fn rests(&self) -> bool {
        (!self.moving() || self.latch.is_some()) && self.body.stands() && self.blade.rests()
    }

    /// Whether wheels stand, be the motion ended or never begun.
    pub(super) fn stands(&self) -> bool {
        self.body.stands()
    }

    fn powered(&self) -> bool {
        !matches!(self.mode, Mode::Off { .. })
    }

    fn load(&self) -> Load {
        if self.mode == Mode::Docked || matches!(self.mode, Mode::Updating { .. }) {
            Load::Dock
        } else if self.blade.on {
            Load::Cutting
        } else if self.body.stands() {
            Load::Standing
        } else {
            Load::Driving
        }
    }

    /// The row of the table of states that it is in.
    pub(super) fn state(&self) -> State {
        if self.latch.is_some() {
            return State::Stopped;
        }
        match self.mode {
            Mode::Docked if self.battery.percent < LOW_PERCENT => State::Low,
            Mode::Docked => State::Docked,
            Mode::Undocking => State::Undocking,
            Mode::Mowing => State::Mowing,
            Mode::Paused => State::Paused,
            Mode::Returning => State::Returning,
            Mode::Driving => State::Driving,
            Mode::Error => State::Error,
            Mode::Updating { .. } | Mode::Off { .. } => State::Updating,
        }
    }

    /// Enters a mode; whatever the last one was about is over.
    fn enter(&mut self, mode: Mode) {
        self.leave_off();
        self.mode = mode;
        self.wait = None;
        self.homing = None;
        self.interrupted = None;
        self.undocking = None;
        self.stay_out = false;
        self.detour.clear();
        self.inactive = InactiveReason::None;
        self.pilot.next(false);
        if mode != Mode::Driving {
            self.manual.end();
        }
    }

    /// Stands and goes on by itself once `wait` is over.
    fn hold(&mut self, wait: Wait, reason: InactiveReason) {
        self.enter(Mode::Paused);
        self.wait = Some(wait);
        self.inactive = reason;
    }

    /// The area that a point lies in.
    fn area_at(&self, point: Point) -> Option<Uuid> {
        self.map
            .areas
            .iter()
            .find(|area| crate::sim::geometry::contains(&area.outline, point))
            .map(|area| area.id)
    }
}

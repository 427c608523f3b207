//! What the mower watches over by itself, and what it does about it.

use crate::contract::InactiveReason;
use crate::sim::machine::docking::RELEASE_M;
use crate::sim::machine::driving::Hop;
use crate::sim::machine::sensors::Part;
use crate::sim::machine::{Machine, Mode, Wait};

/// Wheels that turn this long without moving it are stuck.
const STUCK_S: f64 = 10.0;
/// So many bumps on one stretch are a trap.
const BUMP_LIMIT: u32 = 10;
/// After a bump it backs off by this and turns by that.
const BACK_OFF_M: f64 = 0.3;
const TURN_OFF_RAD: f64 = 0.6;
/// Mowing farther outside its areas than this is a fault.
const OUTSIDE_LIMIT_M: f64 = 0.5;
/// The fault of an empty battery; the dock ends it.
pub(super) const EMPTY: &str = "battery-empty";
/// A restart or an update takes this long.
pub(super) const RESTART_MS: u64 = 20_000;

impl Machine {
    /// Looks at everything once a step.
    pub(super) fn watch(&mut self, seconds: f64) {
        self.wake();
        if !self.powered() {
            return;
        }
        self.watch_dangers();
        self.watch_battery();
        self.watch_silence();
        if self.latch.is_some() {
            return;
        }
        self.watch_dock();
        self.watch_wheels(seconds);
        self.watch_job();
        self.watch_waits();
    }

    /// An update or a restart that is over.
    fn wake(&mut self) {
        match self.mode {
            Mode::Updating { until_ms } if self.now_ms >= until_ms => self.enter(Mode::Docked),
            Mode::Off { until_ms } if self.now_ms >= until_ms => {
                let docked = self.body.at.distance(self.map.dock) <= RELEASE_M;
                self.enter(match (docked, &self.fault) {
                    (_, Some(_)) => Mode::Error,
                    (true, None) => Mode::Docked,
                    (false, None) => Mode::Paused,
                });
                if self.latch.is_some() {
                    self.inactive = InactiveReason::EmergencyLatched;
                }
            }
            _ => {}
        }
    }

    fn watch_dangers(&mut self) {
        if self.lifted {
            self.latch("lifted");
        }
        if self.tilted {
            self.latch("tilted");
        }
        if let Some(latch) = &mut self.latch {
            latch.active = self.lifted || self.tilted;
        }
    }

    fn watch_battery(&mut self) {
        let docked = matches!(self.mode, Mode::Docked | Mode::Updating { .. });
        if self.battery.percent <= 0.0 && !docked && self.fault.is_none() {
            self.fail(EMPTY, "battery_empty", false, false);
        }
    }

    fn watch_silence(&mut self) {
        if self.sensors.lost(Part::Sensors, self.now_ms) {
            self.latch("sensors-silent");
        }
        if !self.moving() {
            return;
        }
        if self.sensors.lost(Part::Control, self.now_ms) {
            self.enter(Mode::Paused);
        } else if self.sensors.lost(Part::Pose, self.now_ms) {
            self.wait_for_fix();
        }
    }

    /// Whether its mode moves it.
    pub(super) fn moving(&self) -> bool {
        matches!(
            self.mode,
            Mode::Undocking | Mode::Mowing | Mode::Returning | Mode::Driving
        )
    }

    /// A mower that was carried away is not in its dock.
    fn watch_dock(&mut self) {
        if self.mode == Mode::Docked && self.body.at.distance(self.map.dock) > RELEASE_M {
            self.enter(Mode::Paused);
        }
    }

    fn watch_wheels(&mut self, seconds: f64) {
        self.stuck_s = if self.body.stuck && self.body.speed != 0.0 {
            self.stuck_s + seconds
        } else {
            0.0
        };
        if self.stuck_s >= STUCK_S {
            self.stuck_s = 0.0;
            self.fail("stuck", "trapped", true, false);
        }
    }

    fn watch_job(&mut self) {
        if !matches!(self.mode, Mode::Mowing | Mode::Returning | Mode::Undocking) {
            return;
        }
        if self.locator.blind() && self.mode != Mode::Undocking {
            self.wait_for_fix();
            return;
        }
        if self.mode == Mode::Returning {
            return;
        }
        let worked = self.job.as_ref().map(|job| (job.worked_s, job.duration_s));
        if let Some((worked, Some(limit))) = worked
            && worked >= limit
        {
            self.finish();
        } else if self.battery.calls_home() {
            self.begin_returning(Some(Wait::Charge), InactiveReason::LowBattery);
        } else if self.sensors.wet() {
            self.begin_returning(Some(Wait::Dry), InactiveReason::Rain);
        } else if self.sensors.hot() {
            self.hold(Wait::Heat, InactiveReason::MotorHot);
        } else if self.mode == Mode::Mowing
            && self.blade.on
            && self.outside_m(self.locator.seen(&self.body).at) > OUTSIDE_LIMIT_M
        {
            self.fail("outside", "outside_map", true, false);
        }
    }

    fn wait_for_fix(&mut self) {
        let returning = self.homing.take();
        // Only what drove by itself goes on by itself.
        if matches!(self.mode, Mode::Mowing | Mode::Returning) {
            self.hold(Wait::Fix, InactiveReason::WaitingForFix);
            self.interrupted = returning;
        } else {
            self.enter(Mode::Paused);
            self.inactive = InactiveReason::WaitingForFix;
        }
    }

    fn watch_waits(&mut self) {
        let over = match self.wait {
            None => false,
            Some(Wait::Fix) => {
                self.locator.settled() && !self.sensors.silent(Part::Pose, self.now_ms)
            }
            Some(Wait::Heat) => self.sensors.cool(),
            Some(Wait::Charge) => self.battery.full() && !self.sensors.wet(),
            Some(Wait::Dry) => !self.sensors.wet() && !self.battery.calls_home(),
        };
        if !over {
            return;
        }
        if let Some(homing) = self.interrupted.take() {
            self.begin_returning(homing.then, homing.reason);
        } else if self.job.is_none() {
            self.wait = None;
            self.inactive = InactiveReason::None;
        } else if self.mode == Mode::Docked {
            self.begin_undocking();
        } else {
            self.begin_mowing();
        }
    }

    /// The bumper was touched.
    pub(in crate::sim) fn bump(&mut self) {
        if self.latch.is_some() || !matches!(self.mode, Mode::Mowing | Mode::Returning) {
            return;
        }
        self.bumps += 1;
        if self.bumps >= BUMP_LIMIT {
            self.bumps = 0;
            self.fail("trapped", "trapped", true, false);
            return;
        }
        let left = if self.bumps.is_multiple_of(2) {
            1.0
        } else {
            -1.0
        };
        let radians = TURN_OFF_RAD * left;
        if self.mode == Mode::Mowing {
            self.leave_off();
            self.detour = vec![Hop::Back { meters: BACK_OFF_M }, Hop::Turn { radians }];
            self.rejoin();
        } else if let Some(homing) = self.homing.take() {
            self.begin_returning(homing.then, homing.reason);
            let mut detour = vec![Hop::Back { meters: BACK_OFF_M }, Hop::Turn { radians }];
            detour.append(&mut self.detour);
            self.detour = detour;
        }
    }
}

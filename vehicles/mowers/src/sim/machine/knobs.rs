//! What hooks turn, and what they see.

use crate::sim::hooks::Truth;
use crate::sim::machine::sensors::Part;
use crate::sim::machine::{Machine, Mode};

/// A driver is warned this near to the border, in meters.
const WARNING_M: f64 = 5.0;

impl Machine {
    /// What is true of it.
    pub(in crate::sim) fn truth(&self) -> Truth {
        let driving = self.mode == Mode::Driving;
        Truth {
            activity: self.activity(),
            position: self.body.at,
            heading: self.body.heading,
            speed_mps: self.body.speed,
            blade_rpm: self.blade.rpm,
            battery_percent: self.battery.percent,
            outside_m: self.outside_m(self.body.at),
            fence_warning: driving && self.border_m(self.body.at) < WARNING_M,
            latched: self.latch.is_some(),
            counters: crate::sim::world::Counters::default(),
        }
    }

    /// Whether it follows the course of its job, not a way to it.
    #[cfg(test)]
    pub(in crate::sim) fn on_course(&self) -> bool {
        self.mode == Mode::Mowing && self.detour.is_empty()
    }

    /// Whether something is about to happen by itself while it rests.
    pub(in crate::sim) fn waits(&self) -> bool {
        self.wait.is_some()
            || self.sensors.raining
            || !self.locator.fix_good
            || matches!(self.mode, Mode::Off { .. } | Mode::Updating { .. })
    }

    pub(in crate::sim) fn set_stuck(&mut self, stuck: bool) {
        self.body.stuck = stuck;
    }

    pub(in crate::sim) fn set_battery(&mut self, percent: f64) {
        if percent.is_finite() {
            self.battery.percent = percent.clamp(0.0, 100.0);
        }
    }

    pub(in crate::sim) fn set_fix(&mut self, good: bool) {
        self.locator.set_fix(good);
    }

    pub(in crate::sim) fn set_rain(&mut self, raining: bool) {
        self.sensors.raining = raining;
    }

    pub(in crate::sim) fn set_motor_temperature(&mut self, celsius: f64) {
        if celsius.is_finite() {
            self.sensors.motor_c = celsius;
        }
    }

    pub(in crate::sim) fn jam_blade(&mut self, jammed: bool) {
        self.blade.jammed = jammed;
    }

    pub(in crate::sim) fn silence(&mut self, part: Part, for_ms: u64) {
        self.sensors.silence(part, self.now_ms, for_ms);
    }

    pub(in crate::sim) fn miss_dock(&mut self, times: u32) {
        self.docking_failures = times;
    }
}

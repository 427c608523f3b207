//! The hands that reach into a simulation: what a test or a demonstration does
//! to a mower and to its link.

use std::sync::Arc;
use std::time::Duration;

use crate::contract::{Activity, Map, Point};
use crate::sim::driver::Shared;
use crate::sim::link::{Mishap, Quality};
use crate::sim::machine::sensors::Part;
use crate::sim::world::{Counters, World};

/// A handle on one simulated mower. Each call takes effect at once.
#[derive(Clone)]
pub struct Hooks {
    shared: Arc<Shared>,
}

/// What is true of a mower, whatever it believes or its link lets through.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Truth {
    /// What it does.
    pub activity: Activity,
    /// Where it is.
    pub position: Point,
    /// Radians, 0 = east, counter-clockwise.
    pub heading: f64,
    /// Meters per second.
    pub speed_mps: f64,
    /// Revolutions per minute of the blade.
    pub blade_rpm: f64,
    /// 0 to 100.
    pub battery_percent: f64,
    /// Meters outside its areas; 0 inside.
    pub outside_m: f64,
    /// Whether it is driven by hand within five meters of its border.
    pub fence_warning: bool,
    /// Whether an emergency is latched.
    pub latched: bool,
    /// What was counted.
    pub counters: Counters,
}

impl Hooks {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    fn change<T>(&self, change: impl FnOnce(&mut World, u64) -> T) -> T {
        self.shared.with(change)
    }

    /// What is true now.
    #[must_use]
    pub fn truth(&self) -> Truth {
        self.change(|world, _| Truth {
            counters: world.counters,
            ..world.machine.truth()
        })
    }

    /// Presses the emergency button.
    pub fn set_emergency(&self, reason: &str) {
        self.change(|world, _| world.machine.press_emergency(reason));
    }

    /// Takes the latch off on site; false while its cause is there.
    pub fn clear_emergency(&self) -> bool {
        self.change(|world, _| world.machine.reset_emergency())
    }

    /// Its wheels turn and it stays, or not any more.
    pub fn set_stuck(&self, stuck: bool) {
        self.change(|world, _| world.machine.set_stuck(stuck));
    }

    /// Sets the charge, 0 to 100.
    pub fn set_battery(&self, percent: f64) {
        self.change(|world, _| world.machine.set_battery(percent));
    }

    /// Makes the position fix good or bad.
    pub fn set_fix(&self, good: bool) {
        self.change(|world, _| world.machine.set_fix(good));
    }

    /// Somebody puts it into the dock.
    pub fn move_to_dock(&self) {
        self.change(|world, _| world.machine.put_into_dock());
    }

    /// Somebody carries it there; `heading` in radians.
    pub fn displace(&self, to: Point, heading: f64) {
        self.change(|world, _| world.machine.displace(to, heading));
    }

    /// Somebody drives with the local stick (shares of speed and turn rate, -1
    /// to 1), or lets go. The stick takes over from any other driver.
    pub fn joystick(&self, stick: Option<(f64, f64)>) {
        self.change(|world, _| world.machine.stick(stick));
    }

    /// Lifts it or sets it down.
    pub fn lift(&self, lifted: bool) {
        self.change(|world, _| world.machine.lift(lifted));
    }

    /// Tips it over or sets it upright.
    pub fn tilt(&self, tilted: bool) {
        self.change(|world, _| world.machine.tilt(tilted));
    }

    /// Touches the bumper.
    pub fn bump(&self) {
        self.change(|world, _| world.machine.bump());
    }

    /// It begins or ends to rain.
    pub fn rain(&self, raining: bool) {
        self.change(|world, _| world.machine.set_rain(raining));
    }

    /// Sets the temperature of the blade motor, in degrees Celsius.
    pub fn set_motor_temperature(&self, celsius: f64) {
        self.change(|world, _| world.machine.set_motor_temperature(celsius));
    }

    /// Jams the blade or frees it.
    pub fn jam_blade(&self, jammed: bool) {
        self.change(|world, _| world.machine.jam_blade(jammed));
    }

    /// A part of it falls silent, in simulated time.
    pub fn silence(&self, part: Part, time: Duration) {
        self.change(|world, _| world.machine.silence(part, milliseconds(time)));
    }

    /// The next attempts to dock miss.
    pub fn miss_dock(&self, times: u32) {
        self.change(|world, _| world.machine.miss_dock(times));
    }

    /// A fault with the vendor's code and a neutral key.
    pub fn fail(&self, code: &str, key: &str, confirmable: bool) {
        self.change(|world, _| world.machine.fail(code, key, confirmable, false));
    }

    /// Confirms the fault; false when it cannot be.
    pub fn confirm(&self) -> bool {
        self.change(|world, _| world.machine.confirm())
    }

    /// Power goes for this long, in simulated time.
    pub fn lose_power(&self, time: Duration) {
        self.change(|world, _| world.machine.lose_power(milliseconds(time)));
    }

    /// Installs software, in simulated time; false outside the dock.
    pub fn update(&self, time: Duration) -> bool {
        self.change(|world, _| world.machine.update(milliseconds(time)))
    }

    /// Somebody changes the map.
    pub fn replace_map(&self, map: Map) {
        self.change(|world, _| world.machine.replace_map(map));
    }

    /// How well messages travel from now on.
    pub fn link(&self, quality: Quality) {
        self.change(|world, _| world.link.quality = quality);
    }

    /// Cuts the link for this long, in real time.
    pub fn offline_for(&self, time: Duration) {
        self.change(|world, now| {
            world.link.offline_until_ms = now.saturating_add(milliseconds(time));
        });
    }

    /// What goes wrong with the next command that is not a stop; called again,
    /// with the one after it.
    pub fn next_command(&self, mishap: Mishap) {
        self.change(|world, _| world.link.mishaps.push_back(mishap));
    }

    /// What goes wrong with the next stop.
    pub fn next_stop(&self, mishap: Mishap) {
        self.change(|world, _| world.link.stop_mishaps.push_back(mishap));
    }

    /// Planning a path takes this long, in real time.
    pub fn slow_planning(&self, time: Duration) {
        self.change(|world, _| world.link.plan_delay_ms = milliseconds(time));
    }

    /// The vendor refuses all but stops for this long, in real time.
    pub fn limit_calls(&self, time: Duration) {
        self.change(|world, now| {
            world.link.limited_until_ms = now.saturating_add(milliseconds(time));
        });
    }

    /// Uses up calls of the vendor's budget.
    pub fn spend_calls(&self, calls: u32) {
        self.change(|world, _| world.link.spend(calls));
    }

    /// The mower's clock goes wrong by that many milliseconds.
    pub fn skew_clock(&self, milliseconds: i64) {
        self.change(|world, _| world.link.skew_ms = milliseconds);
    }
}

fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

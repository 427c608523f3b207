//! What happens to a mower from outside: faults, power, hands.

use std::sync::Arc;

use crate::contract::{Map, Point};
use crate::sim::garden;
use crate::sim::machine::guards::{EMPTY, RESTART_MS};
use crate::sim::machine::{Fault, Machine, Mode};

impl Machine {
    /// A fault: it stands where it is.
    pub(in crate::sim) fn fail(
        &mut self,
        code: &str,
        key: &str,
        confirmable: bool,
        lets_home: bool,
    ) {
        self.enter(Mode::Error);
        self.fault = Some(Fault {
            code: code.to_owned(),
            key: key.to_owned(),
            confirmable,
            lets_home,
            since_ms: self.now_ms,
        });
    }

    /// Somebody confirms the fault; false when this one cannot be.
    pub(in crate::sim) fn confirm(&mut self) -> bool {
        if !self.fault.as_ref().is_some_and(|fault| fault.confirmable) {
            return false;
        }
        self.fault = None;
        self.body.stuck = false;
        let docked = self.body.at.distance(self.map.dock) < super::docking::RELEASE_M;
        if self.mode == Mode::Error {
            self.enter(if docked { Mode::Docked } else { Mode::Paused });
        }
        true
    }

    /// Power goes, and comes back after that long. What was in memory is lost.
    pub(in crate::sim) fn lose_power(&mut self, for_ms: u64) {
        self.enter(Mode::Off {
            until_ms: self.now_ms.saturating_add(for_ms),
        });
        self.body.speed = 0.0;
        self.body.turn = 0.0;
        self.blade.turn(false);
        self.blade.rpm = 0.0;
        self.interrupted = None;
        if let Some(job) = &mut self.job {
            job.course = None;
        }
    }

    /// Its computer starts anew.
    pub(in crate::sim) fn restart(&mut self) {
        self.lose_power(RESTART_MS);
    }

    /// Installs software, in the dock only.
    pub(in crate::sim) fn update(&mut self, for_ms: u64) -> bool {
        let docked = self.mode == Mode::Docked;
        if docked {
            let until_ms = self.now_ms.saturating_add(for_ms);
            self.enter(Mode::Updating { until_ms });
        }
        docked
    }

    /// Somebody carries it.
    pub(in crate::sim) fn displace(&mut self, to: Point, heading: f64) {
        if to.is_finite() && heading.is_finite() {
            self.leave_off();
            self.body.at = to;
            self.body.heading = crate::sim::geometry::wrapped(heading);
            if matches!(self.mode, Mode::Returning)
                && let Some(homing) = self.homing
            {
                self.begin_returning(homing.then, homing.reason);
            }
        }
    }

    /// Somebody puts it into the dock.
    pub(in crate::sim) fn put_into_dock(&mut self) {
        self.body = crate::sim::machine::body::Body::standing(
            self.map.dock,
            self.way_out.times(-1.0).direction(),
        );
        if self.fault.as_ref().is_some_and(|fault| fault.code == EMPTY) {
            self.fault = None;
            self.enter(Mode::Docked);
        }
        if matches!(
            self.mode,
            Mode::Paused | Mode::Returning | Mode::Mowing | Mode::Undocking | Mode::Driving
        ) {
            self.enter(Mode::Docked);
        }
    }

    /// Somebody changes the map.
    pub(in crate::sim) fn replace_map(&mut self, map: Map) {
        self.way_out = garden::way_out(&map);
        self.map = Arc::new(map);
    }

    /// Somebody lifts it or sets it down.
    pub(in crate::sim) fn lift(&mut self, lifted: bool) {
        self.lifted = lifted;
        self.watch(0.0);
    }

    /// It tips over or is set upright.
    pub(in crate::sim) fn tilt(&mut self, tilted: bool) {
        self.tilted = tilted;
        self.watch(0.0);
    }
}

//! Out of the dock and into it.

use crate::contract::{InactiveReason, Point};
use crate::sim::coverage;
use crate::sim::machine::body::{Straight, Wheels};
use crate::sim::machine::{Machine, Mode, STEP_S, Wait};

/// How far it backs out, and how long it then waits for a good fix.
const UNDOCK_M: f64 = 2.0;
const FIX_WAIT_MS: u64 = 10_000;
/// Where it lines up, how often it tries, and what counts as in.
const APPROACH_M: f64 = 1.5;
const ATTEMPTS: u32 = 4;
const CAPTURE_M: f64 = 0.02;
/// Farther than this from the contacts it is not in the dock.
pub(super) const RELEASE_M: f64 = 0.03;
const DOCKING_MPS: f64 = 0.15;
const TRANSIT_MPS: f64 = 0.5;

/// Backing out, then waiting for a fix.
#[derive(Clone, Copy, Debug)]
pub(super) enum Undocking {
    Backing,
    WaitingForFix { until_ms: u64 },
}

/// On the way home.
#[derive(Clone, Copy, Debug)]
pub(super) struct Homing {
    attempt: u32,
    stage: Stage,
    /// What it waits for in the dock, if it means to go on.
    pub(super) then: Option<Wait>,
    pub(super) reason: InactiveReason,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Stage {
    /// Along the detour to the approach point.
    Approaching,
    /// Straight to the contacts.
    Docking,
    /// Straight back to the approach point, after a miss.
    Backing,
}

impl Machine {
    pub(super) fn begin_undocking(&mut self) {
        self.enter(Mode::Undocking);
        self.undocking = Some(Undocking::Backing);
    }

    /// Backs out. With a job it then mows; without one it stands.
    pub(super) fn undock(&mut self) -> Wheels {
        match self.undocking {
            Some(Undocking::WaitingForFix { until_ms }) => {
                if self.now_ms >= until_ms && self.locator.settled() {
                    if self.job.is_some() && !self.stay_out {
                        self.begin_mowing();
                    } else {
                        self.enter(Mode::Paused);
                    }
                }
                Wheels::default()
            }
            Some(Undocking::Backing) | None => {
                let straight = Straight {
                    from: self.map.dock,
                    to: self.map.dock.plus(self.way_out.times(UNDOCK_M)),
                    limit_mps: 0.3,
                    backward: true,
                    then: None,
                };
                let seen = self.locator.seen(&self.body);
                let wheels = self.pilot.steer(seen, self.body.speed, straight, STEP_S);
                wheels.unwrap_or_else(|| {
                    self.undocking = Some(Undocking::WaitingForFix {
                        until_ms: self.now_ms + FIX_WAIT_MS,
                    });
                    Wheels::default()
                })
            }
        }
    }

    /// Turns home; `then` is what it waits for in the dock if it means to go on.
    pub(super) fn begin_returning(&mut self, then: Option<Wait>, reason: InactiveReason) {
        self.enter(Mode::Returning);
        self.inactive = reason;
        self.homing = Some(Homing {
            attempt: 1,
            stage: Stage::Approaching,
            then,
            reason,
        });
        let seen = self.locator.seen(&self.body).at;
        let approach = self.approach_point();
        if seen.distance(self.map.dock) > APPROACH_M + 0.6 {
            let route = coverage::route(&self.map, seen, approach);
            self.detour_along(&route);
        } else {
            self.detour_along(&[approach]);
        }
    }

    fn approach_point(&self) -> Point {
        self.map.dock.plus(self.way_out.times(APPROACH_M))
    }

    pub(super) fn go_home(&mut self) -> Wheels {
        let Some(mut homing) = self.homing else {
            self.enter(Mode::Paused);
            return Wheels::default();
        };
        let approach = self.approach_point();
        let seen = self.locator.seen(&self.body);
        let wheels = match homing.stage {
            Stage::Approaching => self.detour(TRANSIT_MPS.min(self.profile.manual_speed_mps)),
            Stage::Docking | Stage::Backing => {
                let inward = homing.stage == Stage::Docking;
                let (from, to) = if inward {
                    (approach, self.map.dock)
                } else {
                    (self.map.dock, approach)
                };
                let straight = Straight {
                    from,
                    to,
                    limit_mps: DOCKING_MPS,
                    backward: !inward,
                    then: None,
                };
                self.pilot.steer(seen, self.body.speed, straight, STEP_S)
            }
        };
        if let Some(wheels) = wheels {
            return wheels;
        }
        self.pilot.next(false);
        homing.stage = match homing.stage {
            Stage::Approaching | Stage::Backing => Stage::Docking,
            Stage::Docking if self.captured() => {
                self.arrive(homing.then, homing.reason);
                return Wheels::default();
            }
            Stage::Docking if homing.attempt >= ATTEMPTS => {
                self.fail("dock-failed", "docking_failed", true, true);
                return Wheels::default();
            }
            Stage::Docking => {
                homing.attempt += 1;
                Stage::Backing
            }
        };
        self.homing = Some(homing);
        Wheels::default()
    }

    /// Whether the contacts hold it.
    fn captured(&mut self) -> bool {
        if self.docking_failures > 0 {
            self.docking_failures -= 1;
            return false;
        }
        self.body.at.distance(self.map.dock) <= CAPTURE_M
    }

    fn arrive(&mut self, then: Option<Wait>, reason: InactiveReason) {
        self.enter(Mode::Docked);
        self.wait = then;
        self.inactive = reason;
        self.body = crate::sim::machine::body::Body::standing(
            self.map.dock,
            self.way_out.times(-1.0).direction(),
        );
    }
}

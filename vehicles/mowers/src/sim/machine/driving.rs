//! Driving that is not mowing: hops of a detour, and a driver's frames.

use crate::contract::Point;
use crate::sim::geometry;
use crate::sim::machine::body::{Straight, Wheels};
use crate::sim::machine::{Machine, Mode, STEP_S};

/// One piece of a detour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sim) enum Hop {
    /// Straight to a point.
    To { from: Point, to: Point },
    /// Straight back by that many meters from where it stands.
    Back { meters: f64 },
    /// A turn in place by that many radians.
    Turn { radians: f64 },
}

impl Machine {
    /// Drives the hops of the detour; `None` once there are none left.
    pub(super) fn detour(&mut self, limit_mps: f64) -> Option<Wheels> {
        loop {
            let hop = self.detour.first().copied()?;
            let seen = self.locator.seen(&self.body);
            let wheels = match hop {
                Hop::To { from, to } => {
                    let straight = Straight {
                        from,
                        to,
                        limit_mps,
                        backward: false,
                        then: None,
                    };
                    self.pilot.steer(seen, self.body.speed, straight, STEP_S)
                }
                Hop::Back { meters } => {
                    let speed = -limit_mps.min(0.2);
                    let left = meters - self.body.speed.abs() * STEP_S;
                    self.replace_hop(Hop::Back { meters: left });
                    (left > 0.0).then_some(Wheels { speed, turn: 0.0 })
                }
                Hop::Turn { radians } => {
                    let rate = body_turn(radians);
                    let left = if self.body.speed == 0.0 {
                        radians - rate * STEP_S
                    } else {
                        radians
                    };
                    self.replace_hop(Hop::Turn { radians: left });
                    let turn = if self.body.speed == 0.0 { rate } else { 0.0 };
                    (left.abs() > 0.01).then_some(Wheels { speed: 0.0, turn })
                }
            };
            if wheels.is_some() {
                return wheels;
            }
            self.detour.remove(0);
            self.pilot.next(false);
        }
    }

    fn replace_hop(&mut self, hop: Hop) {
        if let Some(first) = self.detour.first_mut() {
            *first = hop;
        }
    }

    /// Plans a detour along these points from where the mower believes it is.
    pub(super) fn detour_along(&mut self, points: &[Point]) {
        let mut from = self.locator.seen(&self.body).at;
        for to in points {
            if from.distance(*to) > 0.01 {
                self.detour.push(Hop::To { from, to: *to });
                from = *to;
            }
        }
    }

    /// Follows the frames, inside the fence.
    pub(super) fn follow_driver(&mut self) -> (Wheels, bool) {
        let fastest = self.profile.manual_speed_mps;
        let Some((wheels, blade)) = self.manual.wheels(self.now_ms, fastest) else {
            self.enter(Mode::Paused);
            return (Wheels::default(), false);
        };
        // SAFETY-STOP: outside its areas no hand drives it further.
        if self.outside_m(self.locator.seen(&self.body).at) > 0.0 {
            self.enter(Mode::Paused);
            return (Wheels::default(), false);
        }
        (wheels, blade)
    }

    /// Meters from the nearest area; 0 inside one.
    pub(in crate::sim) fn outside_m(&self, point: Point) -> f64 {
        if self.area_at(point).is_some() {
            return 0.0;
        }
        self.border_m(point)
    }

    /// Meters to the nearest border of an area.
    pub(in crate::sim) fn border_m(&self, point: Point) -> f64 {
        self.map
            .areas
            .iter()
            .filter_map(|area| geometry::nearest_on_outline(&area.outline, point))
            .map(|nearest| nearest.distance(point))
            .fold(f64::INFINITY, f64::min)
    }
}

fn body_turn(radians: f64) -> f64 {
    let rate = crate::sim::machine::body::TURN_RATE;
    (radians / STEP_S).clamp(-rate, rate)
}

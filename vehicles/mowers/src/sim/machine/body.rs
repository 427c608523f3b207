//! The body: a unicycle in the plane, and how it is steered along a straight.

use std::f64::consts::PI;

use crate::contract::Point;
use crate::sim::geometry::wrapped;

/// Largest turn rate, radians per second.
pub(in crate::sim) const TURN_RATE: f64 = 0.8;
/// Meters per second squared.
const ACCELERATION: f64 = 0.5;
const BRAKING: f64 = 1.0;

/// A heading this near to the line is on it.
const ALIGNED_RAD: f64 = 0.01;
/// Beyond this it stops and turns in place.
const TURN_IN_PLACE_RAD: f64 = 0.35;
/// Turns below this are driven through.
const FLOWING_RAD: f64 = 0.15;
/// Radians of correction per meter beside the line, and its limit.
const CROSS_GAIN: f64 = 2.0;
const CROSS_LIMIT: f64 = 0.5;
/// Turn rate per radian of heading error.
const HEADING_GAIN: f64 = 4.0;
/// The last centimeters are driven this fast.
const CREEP_MPS: f64 = 0.03;
const REACHED_M: f64 = 0.003;

/// Where the mower truly is and how it moves.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Body {
    pub(in crate::sim) at: Point,
    /// Radians.
    pub(in crate::sim) heading: f64,
    /// Meters per second, negative backward.
    pub(in crate::sim) speed: f64,
    /// Radians per second.
    pub(in crate::sim) turn: f64,
    /// Its wheels turn and it stays.
    pub(in crate::sim) stuck: bool,
}

/// What the wheels are asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::sim) struct Wheels {
    pub(in crate::sim) speed: f64,
    pub(in crate::sim) turn: f64,
}

impl Body {
    pub(in crate::sim) fn standing(at: Point, heading: f64) -> Self {
        Self {
            at,
            heading: wrapped(heading),
            speed: 0.0,
            turn: 0.0,
            stuck: false,
        }
    }

    /// Whether it neither drives nor turns.
    pub(in crate::sim) fn stands(&self) -> bool {
        self.speed == 0.0 && self.turn == 0.0
    }

    /// One step. `slip` is the share by which the wheels drive too far.
    /// Returns the meters the wheels turned.
    pub(in crate::sim) fn step(&mut self, wheels: Wheels, slip: f64, seconds: f64) -> f64 {
        let slower = wheels.speed.abs() < self.speed.abs() || wheels.speed * self.speed < 0.0;
        let limit = if slower { BRAKING } else { ACCELERATION } * seconds;
        self.speed += (wheels.speed - self.speed).clamp(-limit, limit);
        self.turn = wheels.turn.clamp(-TURN_RATE, TURN_RATE);
        let way = self.speed * (1.0 + slip) * seconds;
        if !self.stuck {
            // The middle heading of the step keeps arcs true.
            let middle = self.heading + self.turn * seconds / 2.0;
            self.at = self.at.plus(Point::toward(middle).times(way));
            self.heading = wrapped(self.heading + self.turn * seconds);
        }
        way.abs()
    }
}

/// What the mower believes of its place.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Seen {
    pub(in crate::sim) at: Point,
    pub(in crate::sim) heading: f64,
}

/// A straight to drive.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Straight {
    pub(in crate::sim) from: Point,
    pub(in crate::sim) to: Point,
    /// Largest speed.
    pub(in crate::sim) limit_mps: f64,
    /// Tail first.
    pub(in crate::sim) backward: bool,
    /// Where the next straight leads, when one follows without a pause.
    pub(in crate::sim) then: Option<Point>,
}

/// Steers along straights, turning in place between them.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Pilot {
    turning: bool,
}

impl Pilot {
    pub(in crate::sim) const fn new() -> Self {
        Self { turning: true }
    }

    /// What the wheels should do now; `None` when the end is reached.
    pub(in crate::sim) fn steer(
        &mut self,
        seen: Seen,
        speed: f64,
        straight: Straight,
        seconds: f64,
    ) -> Option<Wheels> {
        let way = straight.to.minus(straight.from);
        let length = way.length();
        if length < REACHED_M {
            return None;
        }
        let along = way.times(1.0 / length);
        let left_m = straight.to.minus(seen.at).dot(along);
        let flows = straight.then.is_some_and(|then| {
            let next = then.minus(straight.to);
            next.length() > REACHED_M
                && wrapped(next.direction() - way.direction()).abs() < FLOWING_RAD
        });
        let reached = if flows {
            speed.abs() * seconds
        } else {
            REACHED_M
        };
        if left_m <= reached {
            return (!flows && speed.abs() > 2.0 * CREEP_MPS).then_some(Wheels::default());
        }
        let beside = along.cross(seen.at.minus(straight.from));
        let line = way.direction() + if straight.backward { PI } else { 0.0 };
        let correction = (CROSS_GAIN * beside).clamp(-CROSS_LIMIT, CROSS_LIMIT);
        let off_line = wrapped(line - seen.heading);
        let wanted = if straight.backward {
            wrapped(off_line + correction)
        } else {
            wrapped(off_line - correction)
        };
        if off_line.abs() > TURN_IN_PLACE_RAD {
            self.turning = true;
        }
        if self.turning {
            if off_line.abs() > ALIGNED_RAD {
                let turn = if speed == 0.0 {
                    off_line / seconds
                } else {
                    0.0
                };
                return Some(Wheels { speed: 0.0, turn });
            }
            self.turning = false;
        }
        let brake = (2.0 * BRAKING * 0.8 * left_m).sqrt();
        let ahead = if flows { straight.limit_mps } else { brake };
        let forward = straight.limit_mps.min(ahead).max(CREEP_MPS);
        Some(Wheels {
            speed: if straight.backward { -forward } else { forward },
            turn: HEADING_GAIN * wanted,
        })
    }

    /// A new straight begins; a flowing one is not turned to in place.
    pub(in crate::sim) fn next(&mut self, flowing: bool) {
        self.turning = !flowing;
    }
}

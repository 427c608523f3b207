//! The exact closest approach of two drones.
//!
//! Each drone moves along straight lines at one speed and then hovers at its
//! last point. Between two neighboring arrival times of either drone the
//! relative motion is one straight line, so the squared distance is a quadratic
//! whose minimum is known in closed form. Nothing is sampled, nothing is missed.

use crate::geometry::Point;
use crate::paths::segments;

#[cfg(test)]
mod tests;

/// Distances that differ by less than this, in meters, are the same distance.
///
/// Coordinates reach 1000 m and times 100,000 s, where an `f64` resolves about
/// 1e-13 m and 1e-11 s. Without it, lanes exactly as far apart as the bound
/// would conflict or not by rounding noise, and so would the time of a minimum
/// on a stretch of constant distance.
pub const EPSILON_METERS: f64 = 1e-9;

/// A drone's motion in time.
#[derive(Debug, Clone, PartialEq)]
pub struct Motion {
    /// In order of time, without gaps; the last one never ends.
    legs: Vec<Leg>,
}

/// Uniform motion between two instants, in seconds after the start.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Leg {
    start: f64,
    end: f64,
    from: Point,
    /// Meters per second.
    velocity: Point,
}

impl Leg {
    fn at(&self, seconds: f64) -> Point {
        self.from.plus(self.velocity.times(seconds - self.start))
    }
}

/// When two drones come closest for the first time, and how close.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Approach {
    /// Seconds after the start.
    pub seconds: f64,
    /// Meters between the drones.
    pub meters: f64,
}

impl Motion {
    /// Leaves the first of `points` at 0 s, follows the others at `speed`
    /// meters per second (above 0) and hovers at the last.
    #[must_use]
    pub fn along(points: &[Point], speed: f64) -> Self {
        let mut legs = Vec::with_capacity(points.len());
        let mut start = 0.0;
        for (from, to) in segments(points) {
            let way = to.minus(from);
            let length = way.length();
            if length > 0.0 {
                let end = start + length / speed;
                legs.push(Leg {
                    start,
                    end,
                    from,
                    velocity: way.times(speed / length),
                });
                start = end;
            }
        }
        legs.push(Leg {
            start,
            end: f64::INFINITY,
            from: points.last().copied().unwrap_or_default(),
            velocity: Point::default(),
        });
        Self { legs }
    }

    /// Stays at `point`.
    #[must_use]
    pub fn hovering(point: Point) -> Self {
        Self::along(&[point], 1.0)
    }
}

/// The first closest approach of two motions that start together.
#[must_use]
pub fn closest(a: &Motion, b: &Motion) -> Approach {
    let mut best = Approach {
        seconds: 0.0,
        meters: f64::INFINITY,
    };
    let (mut rest_a, mut rest_b) = (a.legs.as_slice(), b.legs.as_slice());
    let mut now = 0.0;
    while let ([leg_a, next_a @ ..], [leg_b, next_b @ ..]) = (rest_a, rest_b) {
        let until = leg_a.end.min(leg_b.end);
        let found = closest_between(leg_a, leg_b, now, until);
        if found.meters < best.meters - EPSILON_METERS {
            best = found;
        }
        if leg_a.end <= until {
            rest_a = next_a;
        }
        if leg_b.end <= until {
            rest_b = next_b;
        }
        now = until;
    }
    best
}

fn closest_between(a: &Leg, b: &Leg, from: f64, until: f64) -> Approach {
    let apart = a.at(from).minus(b.at(from));
    let drift = a.velocity.minus(b.velocity);
    let speed = drift.length();
    let duration = until - from;
    // Two hovering drones have no end to wait for, hence the first test.
    if speed == 0.0 || speed * duration < EPSILON_METERS {
        return Approach {
            seconds: from,
            meters: apart.length(),
        };
    }
    let nearest = (-apart.dot(drift) / drift.dot(drift)).clamp(0.0, duration);
    Approach {
        seconds: from + nearest,
        meters: apart.plus(drift.times(nearest)).length(),
    }
}

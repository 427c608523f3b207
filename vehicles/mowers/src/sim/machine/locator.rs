//! What the mower knows of its place: satellite positions with a correction,
//! and dead reckoning when the correction is gone.

use crate::contract::{Fix, Point};
use crate::sim::machine::body::{Body, Seen};
use crate::sim::random::Random;

/// Deviation of a position with a fix, in meters, and of a heading, in radians.
const POSITION_SIGMA: f64 = 0.005;
const HEADING_SIGMA: f64 = 0.01;
/// Deviation of the odometry, as a share of the way.
pub(in crate::sim) const ODOMETRY_SIGMA: f64 = 0.02;
/// How long an error of position and of heading lives, in seconds.
const POSITION_MEMORY_S: f64 = 1.0;
const HEADING_MEMORY_S: f64 = 0.2;

const ACCURACY_WITH_FIX_M: f64 = 0.02;
const ACCURACY_WITHOUT_M: f64 = 1.0;

/// Without a fix it drives on for this long at most.
const BLIND_LIMIT_S: f64 = 5.0;
/// A fix must be back for this long.
const SETTLE_S: f64 = 1.0;

/// The position filter.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Locator {
    pub(in crate::sim) fix_good: bool,
    error: Point,
    heading_error: f64,
    /// Seconds since the fix last changed.
    since_s: f64,
}

impl Locator {
    pub(in crate::sim) const fn new() -> Self {
        Self {
            fix_good: true,
            error: Point::new(0.0, 0.0),
            heading_error: 0.0,
            since_s: BLIND_LIMIT_S,
        }
    }

    pub(in crate::sim) fn set_fix(&mut self, good: bool) {
        if self.fix_good != good {
            self.fix_good = good;
            self.since_s = 0.0;
        }
    }

    /// Time passes while the mower stands: its errors stay.
    pub(in crate::sim) fn wait(&mut self, seconds: f64) {
        self.since_s += seconds;
    }

    /// Time passes while the mower moves over `way_m` meters.
    pub(in crate::sim) fn step(&mut self, way_m: f64, seconds: f64, random: &mut Random) {
        self.since_s += seconds;
        let noise = Point::new(random.normal(), random.normal());
        let heading_noise = random.normal();
        if self.fix_good {
            self.error = decayed(
                self.error,
                noise,
                POSITION_SIGMA,
                seconds / POSITION_MEMORY_S,
            );
        } else {
            // Dead reckoning: the error walks with the way.
            self.error = self.error.plus(noise.times(ODOMETRY_SIGMA * way_m.sqrt()));
        }
        let heading = Point::new(self.heading_error, 0.0);
        let noise = Point::new(heading_noise, 0.0);
        self.heading_error = decayed(heading, noise, HEADING_SIGMA, seconds / HEADING_MEMORY_S).x;
    }

    /// What the mower believes.
    pub(in crate::sim) fn seen(&self, body: &Body) -> Seen {
        Seen {
            at: body.at.plus(self.error),
            heading: body.heading + self.heading_error,
        }
    }

    pub(in crate::sim) fn accuracy_m(&self) -> f64 {
        if self.fix_good {
            ACCURACY_WITH_FIX_M
        } else {
            ACCURACY_WITHOUT_M
        }
    }

    /// The name of the fix: a lost one is a float first, then single.
    pub(in crate::sim) fn fix(&self) -> Fix {
        match (self.fix_good, self.since_s < BLIND_LIMIT_S) {
            (true, _) => Fix::RtkFixed,
            (false, true) => Fix::RtkFloat,
            (false, false) => Fix::Single,
        }
    }

    /// Whether it must not drive by itself.
    pub(in crate::sim) fn blind(&self) -> bool {
        !self.fix_good && self.since_s >= BLIND_LIMIT_S
    }

    /// Whether it may go on after having been blind.
    pub(in crate::sim) fn settled(&self) -> bool {
        self.fix_good && self.since_s >= SETTLE_S
    }
}

/// A first-order Gauss-Markov step: keeps its deviation whatever the step is.
fn decayed(value: Point, noise: Point, sigma: f64, share: f64) -> Point {
    let keep = (-share).exp();
    let fresh = sigma * (1.0 - keep * keep).sqrt();
    value.times(keep).plus(noise.times(fresh))
}

//! How long a plan takes and what it costs.
//!
//! Mowing counts the legs with the blade on: each lap with the turn that closes
//! it, each lane, and the short way from one lane to the next with both its
//! turns. Straights are driven at the working speed, turns in place at 0.8 rad/s;
//! speeding up and slowing down are left out. Transits, such as the step from
//! one lap to the next, are counted apart, and cost half as much battery.
//! A job that needs more than 80 % of the battery returns at 20 % and charges to
//! full as often as it must; the way to the dock and back is left out.

use crate::contract::Point;
use crate::sim::geometry::{length, wrapped};
use crate::sim::machine::battery::{Charger, DRIVING_SHARE, LOW_PERCENT};
use crate::sim::machine::body::TURN_RATE;
use crate::sim::profile::Profile;

/// What an estimate is made with.
#[derive(Clone, Copy, Debug)]
pub(in crate::sim) struct Figures {
    pub(in crate::sim) speed_mps: f64,
    pub(in crate::sim) cutting_minutes: f64,
    /// Seconds from the charge at which it returns to full.
    pub(in crate::sim) recharge_s: f64,
}

impl Figures {
    pub(in crate::sim) fn of(profile: &Profile, speed_mps: f64) -> Self {
        Self {
            speed_mps,
            cutting_minutes: profile.cutting_minutes,
            recharge_s: Charger::new(profile).seconds_from(LOW_PERCENT),
        }
    }
}

/// What a plan adds up to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(in crate::sim) struct Tally {
    pub(in crate::sim) lanes: u32,
    mowing_m: f64,
    mowing_rad: f64,
    transit_m: f64,
    transit_rad: f64,
}

impl Tally {
    /// A closed lap; the last point is the first.
    pub(super) fn lap(&mut self, points: &[Point]) {
        self.mowing_m += length(points);
        let seam = match (points, points) {
            ([first, second, ..], [.., before, _]) => turn_between(*before, *first, *second),
            _ => 0.0,
        };
        self.mowing_rad += turns(points) + seam;
    }

    /// Lanes with the ways between them.
    pub(super) fn lane_chain(&mut self, points: &[Point]) {
        self.mowing_m += length(points);
        self.mowing_rad += turns(points);
    }

    pub(super) fn transit(&mut self, points: &[Point]) {
        self.transit_m += length(points);
        self.transit_rad += turns(points);
    }
}

/// The estimate of a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sim) struct Estimate {
    pub(in crate::sim) lanes: u32,
    pub(in crate::sim) area_m2: f64,
    pub(in crate::sim) mowing_m: f64,
    pub(in crate::sim) mowing_s: f64,
    pub(in crate::sim) transit_m: f64,
    pub(in crate::sim) transit_s: f64,
    /// Of a full battery, for mowing and for all.
    pub(in crate::sim) mowing_battery_percent: f64,
    pub(in crate::sim) battery_percent: f64,
    pub(in crate::sim) recharges: u32,
    /// With transits and recharges.
    pub(in crate::sim) total_s: f64,
}

impl Estimate {
    pub(super) fn of(tally: Tally, area_m2: f64, figures: &Figures) -> Self {
        let seconds = |meters: f64, radians: f64| meters / figures.speed_mps + radians / TURN_RATE;
        let percent = |seconds: f64| seconds / (figures.cutting_minutes * 60.0) * 100.0;
        let mowing_s = seconds(tally.mowing_m, tally.mowing_rad);
        let transit_s = seconds(tally.transit_m, tally.transit_rad);
        let mowing_battery_percent = percent(mowing_s);
        let battery_percent = mowing_battery_percent + percent(transit_s) * DRIVING_SHARE;
        let per_charge = 100.0 - LOW_PERCENT;
        let recharges = (battery_percent / per_charge - 1e-9).ceil().max(1.0) - 1.0;
        Self {
            lanes: tally.lanes,
            area_m2,
            mowing_m: tally.mowing_m,
            mowing_s,
            transit_m: tally.transit_m,
            transit_s,
            mowing_battery_percent,
            battery_percent,
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count, saturating"
            )]
            recharges: recharges as u32,
            total_s: mowing_s + transit_s + recharges * figures.recharge_s,
        }
    }
}

/// Radians turned at all inner points.
fn turns(points: &[Point]) -> f64 {
    points
        .iter()
        .zip(points.iter().skip(1))
        .zip(points.iter().skip(2))
        .map(|((a, b), c)| turn_between(*a, *b, *c))
        .sum()
}

/// Radians turned at `b` on the way from `a` to `c`, 0 to π.
pub(super) fn turn_between(a: Point, b: Point, c: Point) -> f64 {
    let (before, after) = (b.minus(a), c.minus(b));
    if before.length() <= f64::EPSILON || after.length() <= f64::EPSILON {
        return 0.0;
    }
    wrapped(after.direction() - before.direction()).abs()
}

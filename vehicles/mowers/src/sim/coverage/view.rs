//! A plan as a preview shows it, thinned when it is long.

use crate::contract::{Leg, Path, Point};
use crate::sim::coverage::Plan;

/// A preview has at most this many points.
pub(in crate::sim) const POINT_LIMIT: usize = 50_000;

impl Plan {
    /// The plan in the words of the contract.
    pub(in crate::sim) fn into_path(self) -> Path {
        let points_total: usize = self.legs.iter().map(|leg| leg.points.len()).sum();
        let legs = self.legs.into_iter().map(|leg| Leg {
            kind: leg.kind,
            points: leg.points,
        });
        let truncated = points_total > POINT_LIMIT;
        let legs = if truncated {
            thinned(legs.collect(), points_total)
        } else {
            legs.collect()
        };
        let estimate = self.estimate;
        Path {
            legs,
            points_total: u32::try_from(points_total).unwrap_or(u32::MAX),
            path_hash: self.hash,
            length_m: estimate.mowing_m + estimate.transit_m,
            area_m2: estimate.area_m2,
            est_duration_s: estimate.mowing_s + estimate.transit_s,
            est_battery_percent: estimate.battery_percent,
            map_revision: self.map_revision,
            assumptions: self.assumptions,
            truncated,
        }
    }
}

/// Keeps the ends of each leg and every so-manieth point between, or every
/// so-manieth leg when there are too many of those.
fn thinned(legs: Vec<Leg>, points_total: usize) -> Vec<Leg> {
    let ends = legs.len().saturating_mul(2);
    let skip_legs = ends.div_ceil(POINT_LIMIT).max(1);
    let room = POINT_LIMIT.saturating_sub(ends / skip_legs).max(1);
    let step = points_total.div_ceil(room).max(1);
    legs.into_iter()
        .step_by(skip_legs)
        .map(|leg| Leg {
            kind: leg.kind,
            points: every(&leg.points, step),
        })
        .collect()
}

fn every(points: &[Point], step: usize) -> Vec<Point> {
    let (Some(first), Some(last)) = (points.first(), points.last()) else {
        return Vec::new();
    };
    let inner = points.get(1..points.len().saturating_sub(1)).unwrap_or(&[]);
    let kept = inner.iter().skip(step - 1).step_by(step);
    std::iter::once(first)
        .chain(kept)
        .chain(std::iter::once(last))
        .copied()
        .collect()
}

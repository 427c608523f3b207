//! The shortest way inside a region: along its inward corners.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::contract::{Map, Point};
use crate::sim::coverage::region::Region;

/// How near to the border and to obstacles a transit may come.
const MARGIN_M: f64 = 0.05;
/// With more corners than this no way around them is looked for.
const CORNER_LIMIT: usize = 600;

/// Finds ways in one region.
pub(super) struct Router {
    region: Region,
    corners: Vec<Point>,
    /// For each corner, the corners it sees, once asked for.
    seen: Vec<Option<Vec<usize>>>,
    /// Whether a way was not looked for, and taken straight.
    pub(super) gave_up: bool,
}

#[derive(PartialEq)]
struct Visit {
    /// Meters so far and meters still to go at least.
    bound: f64,
    so_far: f64,
    corner: usize,
}

impl Eq for Visit {}

impl Ord for Visit {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap gives its greatest first; the shortest way is wanted.
        other
            .bound
            .total_cmp(&self.bound)
            .then(other.corner.cmp(&self.corner))
    }
}

impl PartialOrd for Visit {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Router {
    pub(super) fn new(region: Region) -> Self {
        let corners = inward_corners(&region);
        let seen = vec![None; corners.len()];
        Self {
            region,
            corners,
            seen,
            gave_up: false,
        }
    }

    /// The points after `from` on the way to `to`, `to` included. Where no way
    /// leads, it is the straight.
    pub(super) fn way(&mut self, from: Point, to: Point) -> Vec<Point> {
        let (entry, exit) = (self.nearest_inside(from), self.nearest_inside(to));
        let mut way = Vec::new();
        if entry != from {
            way.push(entry);
        }
        if !self.region.allows(entry, exit) {
            way.extend(self.around(entry, exit).unwrap_or_default());
        }
        if exit != to {
            way.push(exit);
        }
        way.push(to);
        way
    }

    fn nearest_inside(&self, point: Point) -> Point {
        if self.region.holds(point) {
            return point;
        }
        self.region.nearest_border(point).unwrap_or(point)
    }

    /// The corners on the shortest way, by A* over what each corner sees.
    fn around(&mut self, from: Point, to: Point) -> Option<Vec<Point>> {
        if self.corners.len() > CORNER_LIMIT {
            self.gave_up = true;
            return None;
        }
        let mut best = vec![f64::INFINITY; self.corners.len()];
        let mut before: Vec<Option<usize>> = vec![None; self.corners.len()];
        let mut open = BinaryHeap::new();
        for (corner, point) in self.corners.iter().enumerate() {
            if self.region.allows(from, *point) {
                let so_far = from.distance(*point);
                if let Some(slot) = best.get_mut(corner) {
                    *slot = so_far;
                }
                open.push(Visit {
                    bound: so_far + point.distance(to),
                    so_far,
                    corner,
                });
            }
        }
        while let Some(visit) = open.pop() {
            let at = *self.corners.get(visit.corner)?;
            if visit.so_far > *best.get(visit.corner)? {
                continue;
            }
            if self.region.allows(at, to) {
                return Some(self.trace(&before, visit.corner));
            }
            for next in self.seen_from(visit.corner) {
                let point = *self.corners.get(next)?;
                let so_far = visit.so_far + at.distance(point);
                if so_far < *best.get(next)? {
                    *best.get_mut(next)? = so_far;
                    *before.get_mut(next)? = Some(visit.corner);
                    open.push(Visit {
                        bound: so_far + point.distance(to),
                        so_far,
                        corner: next,
                    });
                }
            }
        }
        None
    }

    fn seen_from(&mut self, corner: usize) -> Vec<usize> {
        if let Some(Some(known)) = self.seen.get(corner) {
            return known.clone();
        }
        let Some(at) = self.corners.get(corner).copied() else {
            return Vec::new();
        };
        let seen: Vec<usize> = self
            .corners
            .iter()
            .enumerate()
            .filter(|(index, point)| *index != corner && self.region.allows(at, **point))
            .map(|(index, _)| index)
            .collect();
        if let Some(slot) = self.seen.get_mut(corner) {
            *slot = Some(seen.clone());
        }
        seen
    }

    fn trace(&self, before: &[Option<usize>], last: usize) -> Vec<Point> {
        let chain = std::iter::successors(Some(last), |corner| before.get(*corner).copied()?);
        let mut way: Vec<Point> = chain
            .take(self.corners.len())
            .filter_map(|corner| self.corners.get(corner).copied())
            .collect();
        way.reverse();
        way
    }
}

/// Corners that reach into the region: only there a shortest way bends.
fn inward_corners(region: &Region) -> Vec<Point> {
    region
        .rings()
        .flat_map(|ring| {
            let next = ring.iter().cycle().skip(1);
            let after = ring.iter().cycle().skip(2);
            ring.iter()
                .zip(next)
                .zip(after)
                .filter(|((a, b), c)| b.minus(**a).cross(c.minus(**b)) < 0.0)
                .map(|((_, b), _)| *b)
        })
        .collect()
}

/// Where transits may lead: all areas together, without their obstacles.
pub(super) fn drivable(map: &Map) -> Region {
    let all: Vec<Vec<Point>> = map.areas.iter().map(|area| area.outline.clone()).collect();
    let obstacles: Vec<Vec<Point>> = map
        .areas
        .iter()
        .flat_map(|area| area.obstacles.iter().cloned())
        .collect();
    let blocked = Region::union(&obstacles).grown(MARGIN_M);
    Region::union(&all).grown(-MARGIN_M).minus(&blocked)
}

//! In which order the parts of an area are driven, and how one comes from one
//! to the next.

use uuid::Uuid;

use crate::contract::{LegKind, Point};
use crate::sim::coverage::PlannedLeg;
use crate::sim::coverage::estimate::{Tally, turn_between};
use crate::sim::coverage::lanes::{Cell, Lane};
use crate::sim::coverage::region::Region;
use crate::sim::coverage::rings::Ring;
use crate::sim::coverage::route::Router;
use crate::sim::geometry::length;

/// A mower that walks through a plan.
pub(super) struct Walk<'a> {
    pub(super) router: &'a mut Router,
    pub(super) area_id: Uuid,
    /// Where it is; nowhere before the first leg.
    pub(super) at: Option<Point>,
    /// For choosing where to begin.
    pub(super) dock: Point,
    pub(super) legs: Vec<PlannedLeg>,
    pub(super) tally: Tally,
}

impl Walk<'_> {
    /// A lap, from its corner that is nearest.
    pub(super) fn lap(&mut self, ring: &Ring) {
        let here = self.at.unwrap_or(self.dock);
        let nearest = ring
            .corners
            .iter()
            .enumerate()
            .min_by(|(_, a), (_, b)| a.distance(here).total_cmp(&b.distance(here)))
            .map(|(index, _)| index);
        let Some(nearest) = nearest else { return };
        let mut points: Vec<Point> = ring.corners.clone();
        points.rotate_left(nearest);
        points.extend(points.first().copied());
        self.tally.lap(&points);
        self.leg(ring.kind, points);
    }

    /// Cells, each time the one that begins nearest.
    pub(super) fn cells(&mut self, mut cells: Vec<Cell>, inside: &Region) {
        while !cells.is_empty() {
            let here = self.at.unwrap_or(self.dock);
            let nearest = cells
                .iter()
                .enumerate()
                .flat_map(|(index, cell)| entries(cell).map(move |entry| (index, entry)))
                .min_by(|(_, a), (_, b)| a.point.distance(here).total_cmp(&b.point.distance(here)));
            let Some((index, entry)) = nearest else {
                return;
            };
            let mut cell = cells.remove(index);
            if entry.last_first {
                cell.reverse();
            }
            self.cell(&cell, entry.backward, inside);
        }
    }

    /// Back and forth through a cell. A lane that cannot be turned into
    /// directly begins a leg of its own.
    fn cell(&mut self, cell: &[Lane], mut backward: bool, inside: &Region) {
        let mut points: Vec<Point> = Vec::new();
        for lane in cell {
            let (from, to) = if backward {
                (lane.to, lane.from)
            } else {
                (lane.from, lane.to)
            };
            let turns_in = points
                .last()
                .is_some_and(|last| links(*last, from, to, inside));
            if !turns_in {
                self.leg(LegKind::Lane, std::mem::take(&mut points));
            }
            points.extend([from, to]);
            self.tally.lanes += 1;
            backward = !backward;
        }
        self.leg(LegKind::Lane, points);
    }

    /// Adds a leg, and the transit to it when it does not begin here.
    fn leg(&mut self, kind: LegKind, points: Vec<Point>) {
        let (Some(first), Some(last)) = (points.first().copied(), points.last().copied()) else {
            return;
        };
        if let Some(here) = self.at
            && here.distance(first) > 0.0005
        {
            let mut transit = vec![here];
            transit.extend(self.router.way(here, first));
            self.tally.transit(&transit);
            self.push(LegKind::Transit, transit);
        }
        if kind == LegKind::Lane {
            self.tally.lane_chain(&points);
        }
        self.at = Some(last);
        self.push(kind, points);
    }

    fn push(&mut self, kind: LegKind, points: Vec<Point>) {
        self.legs.push(PlannedLeg {
            kind,
            area_id: self.area_id,
            points,
        });
    }
}

/// One of the four ways into a cell.
struct Entry {
    point: Point,
    last_first: bool,
    backward: bool,
}

fn entries(cell: &[Lane]) -> impl Iterator<Item = Entry> {
    let ends = [(cell.first(), false), (cell.last(), true)];
    ends.into_iter().flat_map(|(lane, last_first)| {
        lane.into_iter().flat_map(move |lane| {
            [(lane.from, false), (lane.to, true)].map(|(point, backward)| Entry {
                point,
                last_first,
                backward,
            })
        })
    })
}

/// Whether a lane can be turned into directly: near, inside, and without
/// turning back on the way.
fn links(last: Point, from: Point, to: Point, inside: &Region) -> bool {
    let lane = length(&[from, to]);
    last.distance(from) <= lane.max(0.5)
        && turn_between(last, from, to) < 2.8
        && inside.allows(last, from)
}

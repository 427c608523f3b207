//! The job a mower holds: what it was told, the path, how far it is. All but
//! the path outlives a loss of power; the path is planned anew and must be the
//! same.

use std::sync::Arc;

use uuid::Uuid;

use crate::contract::{LegKind, Pattern, Point};
use crate::sim::coverage::Plan;

/// One straight of a course: its end, and how it is reached.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::sim) struct Mark {
    pub(in crate::sim) to: Point,
    pub(in crate::sim) cut: bool,
    pub(in crate::sim) area: Uuid,
    /// Meters of the course up to here, and those cut.
    pub(in crate::sim) way_m: f64,
    pub(in crate::sim) cut_m: f64,
}

/// A plan as consecutive straights.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::sim) struct Course(Vec<Mark>);

impl Course {
    pub(in crate::sim) fn of(plan: &Plan) -> Self {
        let mut marks: Vec<Mark> = Vec::new();
        for leg in &plan.legs {
            let cut = leg.kind != LegKind::Transit;
            for (index, point) in leg.points.iter().enumerate() {
                let last = marks.last().copied();
                let step = last.map_or(0.0, |mark| mark.to.distance(*point));
                if last.is_some() && index == 0 && step < 1e-6 {
                    continue;
                }
                let (way_m, cut_m) = last.map_or((0.0, 0.0), |mark| (mark.way_m, mark.cut_m));
                let cut = cut && index > 0;
                marks.push(Mark {
                    to: *point,
                    cut,
                    area: leg.area_id,
                    way_m: way_m + step,
                    cut_m: cut_m + if cut { step } else { 0.0 },
                });
            }
        }
        Self(marks)
    }

    pub(in crate::sim) fn mark(&self, index: usize) -> Option<Mark> {
        self.0.get(index).copied()
    }

    pub(in crate::sim) fn last(&self) -> Option<Mark> {
        self.0.last().copied()
    }
}

/// A job.
#[derive(Clone, Debug)]
pub(in crate::sim) struct Job {
    /// The command that began it.
    pub(in crate::sim) id: Uuid,
    pub(in crate::sim) area_ids: Vec<Uuid>,
    pub(in crate::sim) pattern: Pattern,
    pub(in crate::sim) duration_s: Option<f64>,
    pub(in crate::sim) path_hash: String,
    /// Of the map it was planned on.
    pub(in crate::sim) map_revision: u64,
    pub(in crate::sim) area_m2: f64,
    /// Lost with the power.
    pub(in crate::sim) course: Option<Arc<Course>>,
    /// The mark it drives to.
    pub(in crate::sim) next: usize,
    /// Where on the way to it the mower left off.
    pub(in crate::sim) left_at: Option<Point>,
    /// Seconds on the job.
    pub(in crate::sim) worked_s: f64,
}

impl Job {
    /// Meters driven, meters cut, and meters in all, with the mower at `at`.
    pub(in crate::sim) fn progress(&self, at: Point) -> (f64, f64, f64) {
        let Some(course) = &self.course else {
            return (0.0, 0.0, 0.0);
        };
        let whole = course.last().map_or(0.0, |mark| mark.way_m);
        let Some(mark) = course.mark(self.next) else {
            let cut = course.last().map_or(0.0, |mark| mark.cut_m);
            return (whole, cut, whole);
        };
        let before = self
            .next
            .checked_sub(1)
            .and_then(|index| course.mark(index))
            .unwrap_or(mark);
        let point = self.left_at.unwrap_or(at);
        let stretch = mark.way_m - before.way_m;
        let done = (stretch - point.distance(mark.to)).clamp(0.0, stretch);
        let cut = before.cut_m + if mark.cut { done } else { 0.0 };
        (before.way_m + done, cut, whole)
    }
}

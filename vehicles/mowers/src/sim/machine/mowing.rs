//! Following the course of a job.

use std::sync::Arc;

use uuid::Uuid;

use crate::contract::{InactiveReason, Map, Path, Pattern, Point, Start};
use crate::sim::coverage::{self, Figures, PlanError};
use crate::sim::geometry::nearest_on;
use crate::sim::machine::body::{Straight, Wheels};
use crate::sim::machine::job::{Course, Mark};
use crate::sim::machine::{Machine, Mode, STEP_S};

/// A mower farther than this beside its course drives back to it first.
const OFF_COURSE_M: f64 = 0.25;

/// A path to be planned.
pub(in crate::sim) struct Planning {
    map: Arc<Map>,
    area_ids: Vec<Uuid>,
    pattern: Pattern,
    figures: Figures,
    duration_min: Option<u16>,
}

impl Planning {
    /// Plans it.
    ///
    /// # Errors
    /// Areas or pattern are not possible.
    pub(in crate::sim) fn path(&self) -> Result<Path, PlanError> {
        let plan = coverage::plan(&self.map, &self.area_ids, &self.pattern, &self.figures)?;
        let path = plan.into_path();
        Ok(match self.duration_min {
            Some(minutes) => ending_after(path, minutes),
            None => path,
        })
    }
}

impl Machine {
    /// What it needs to plan the path of a start, taken out so that the planning
    /// holds nothing up.
    ///
    /// # Errors
    /// The code of what it cannot do.
    pub(in crate::sim) fn planning(&self, start: &Start) -> Result<Planning, &'static str> {
        Ok(Planning {
            map: Arc::clone(&self.map),
            area_ids: self.areas(&start.area_ids),
            pattern: self.possible(start)?,
            figures: self.figures(start.speed_mps),
            duration_min: start.duration_min,
        })
    }

    /// Goes to where the job begins or was left off, and mows on.
    pub(super) fn begin_mowing(&mut self) {
        self.enter(Mode::Mowing);
        self.rejoin();
    }

    /// Remembers where on the course the mower leaves off.
    pub(super) fn leave_off(&mut self) {
        let seen = self.locator.seen(&self.body).at;
        if self.mode == Mode::Mowing
            && self.detour.is_empty()
            && let Some(job) = &mut self.job
            && let Some((course, mark)) = job
                .course
                .clone()
                .and_then(|course| course.mark(job.next).map(|mark| (course, mark)))
        {
            let from = origin(&course, job.next, mark);
            job.left_at = Some(nearest_on(from, mark.to, seen));
        }
    }

    /// Plans the way back onto the course.
    pub(super) fn rejoin(&mut self) {
        let seen = self.locator.seen(&self.body).at;
        let Some(job) = &self.job else { return };
        let Some(course) = job.course.clone() else {
            return;
        };
        let Some(mark) = course.mark(job.next) else {
            return;
        };
        let goal = job
            .left_at
            .unwrap_or_else(|| origin(&course, job.next, mark));
        if seen.distance(goal) > 0.02 {
            let route = coverage::route(&self.map, seen, goal);
            self.detour_along(&route);
        }
    }

    /// One step along the course.
    pub(super) fn mow(&mut self) -> (Wheels, bool) {
        if !self.detour.is_empty()
            && let Some(wheels) = self.detour(self.speed_mps)
        {
            return (wheels, false);
        }
        let seen = self.locator.seen(&self.body);
        loop {
            let Some(job) = &mut self.job else {
                self.enter(Mode::Paused);
                return (Wheels::default(), false);
            };
            let Some(course) = job.course.clone() else {
                self.enter(Mode::Paused);
                return (Wheels::default(), false);
            };
            let Some(mark) = course.mark(job.next) else {
                self.finish();
                return (Wheels::default(), false);
            };
            let from = origin(&course, job.next, mark);
            let nearest = nearest_on(from, mark.to, seen.at);
            if nearest.distance(seen.at) > OFF_COURSE_M {
                job.left_at.get_or_insert(nearest);
                self.rejoin();
                return (Wheels::default(), false);
            }
            job.left_at = None;
            // The blade cuts before the wheels turn.
            if mark.cut && !self.blade.cuts() {
                return (Wheels::default(), true);
            }
            let straight = Straight {
                from,
                to: mark.to,
                limit_mps: self.speed_mps,
                backward: false,
                then: flows_into(&course, job.next, mark),
            };
            if let Some(wheels) = self.pilot.steer(seen, self.body.speed, straight, STEP_S) {
                job.worked_s += STEP_S;
                return (wheels, mark.cut);
            }
            job.next += 1;
            self.pilot
                .next(straight.then.is_some() && self.body.speed > 0.05);
        }
    }

    /// The job is done.
    pub(super) fn finish(&mut self) {
        self.job = None;
        self.begin_returning(None, InactiveReason::JobDone);
    }

    /// Plans the kept job anew after a loss of power; false when the path is
    /// not the one it had.
    pub(super) fn recall(&mut self) -> bool {
        let figures = self.figures(None);
        let Some(job) = &mut self.job else {
            return false;
        };
        if job.course.is_some() && self.map.revision == job.map_revision {
            return true;
        }
        match coverage::plan(&self.map, &job.area_ids, &job.pattern, &figures) {
            Ok(plan) if plan.hash == job.path_hash => {
                job.course = Some(Arc::new(Course::of(&plan)));
                true
            }
            Ok(_) | Err(_) => false,
        }
    }
}

/// The path of a job that ends after so many minutes, done or not.
fn ending_after(path: Path, minutes: u16) -> Path {
    let limit_s = f64::from(minutes) * 60.0;
    if path.est_duration_s <= limit_s {
        return path;
    }
    let share = limit_s / path.est_duration_s;
    let mut assumptions = path.assumptions;
    assumptions.push(format!(
        "ends after {minutes} min, before the end of the path"
    ));
    Path {
        est_duration_s: limit_s,
        est_battery_percent: path.est_battery_percent * share,
        assumptions,
        ..path
    }
}

/// Where the straight to a mark begins.
fn origin(course: &Course, index: usize, mark: Mark) -> Point {
    index
        .checked_sub(1)
        .and_then(|before| course.mark(before))
        .unwrap_or(mark)
        .to
}

/// The end of the next straight when the blade stays as it is.
fn flows_into(course: &Course, index: usize, mark: Mark) -> Option<Point> {
    course
        .mark(index + 1)
        .filter(|next| next.cut == mark.cut)
        .map(|next| next.to)
}

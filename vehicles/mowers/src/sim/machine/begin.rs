//! Beginning a job, and going on with one.

use std::sync::Arc;

use uuid::Uuid;

use crate::contract::{Pattern, Start};
use crate::sim::coverage::{self, Figures};
use crate::sim::machine::commands::{Reply, executed, rejected};
use crate::sim::machine::job::{Course, Job};
use crate::sim::machine::{Machine, Mode};

impl Machine {
    /// What plans are made with: the speed that is set where none is named.
    pub(in crate::sim) fn figures(&self, named_mps: Option<f64>) -> Figures {
        Figures::of(&self.profile, named_mps.unwrap_or(self.speed_mps))
    }

    /// The pattern of a start, all of which is possible.
    ///
    /// # Errors
    /// The code of what it cannot do.
    pub(in crate::sim) fn possible(&self, start: &Start) -> Result<Pattern, &'static str> {
        let capabilities = &self.profile.capabilities;
        let (lowest, highest) = capabilities.speed_mps;
        let speed = start.speed_mps;
        if speed.is_some_and(|mps| !(lowest..=highest).contains(&mps)) {
            return Err("speed-out-of-range");
        }
        let (lowest, highest) = capabilities.blade_height_mm;
        let height = start.blade_height_mm;
        if height.is_some_and(|height| !(lowest..=highest).contains(&height)) {
            return Err("height-out-of-range");
        }
        self.pattern(start.pattern.as_ref())
    }

    /// The pattern that is meant: the mower's own where none is named.
    ///
    /// # Errors
    /// The code of what it cannot do.
    fn pattern(&self, named: Option<&Pattern>) -> Result<Pattern, &'static str> {
        let Some(pattern) = named else {
            return Ok(Pattern {
                spacing_cm: self.profile.spacing_m * 100.0,
                border_laps: self.profile.border_laps,
                ..Pattern::default()
            });
        };
        let (least, most) = self.profile.capabilities.spacing_cm;
        if !self.profile.capabilities.patterns {
            Err("unsupported")
        } else if !(least..=most).contains(&pattern.spacing_cm) {
            Err("spacing-out-of-range")
        } else {
            Ok(pattern.clone())
        }
    }

    pub(super) fn start(&mut self, id: Uuid, start: &Start) -> Reply {
        if self.battery.percent < super::LOW_PERCENT {
            return rejected("low-battery");
        }
        if self.sensors.wet() {
            return rejected("rain");
        }
        let pattern = match self.possible(start) {
            Ok(pattern) => pattern,
            Err(code) => return rejected(code),
        };
        let areas = self.areas(&start.area_ids);
        let figures = self.figures(start.speed_mps);
        let plan = match coverage::plan(&self.map, &areas, &pattern, &figures) {
            Ok(plan) => plan,
            Err(error) => return rejected(error.code()),
        };
        if start
            .expected_path_hash
            .as_ref()
            .is_some_and(|hash| *hash != plan.hash)
        {
            return rejected("path-changed");
        }
        self.speed_mps = figures.speed_mps;
        if let Some(height) = start.blade_height_mm {
            self.blade.wanted_height_mm = height;
        }
        self.job = Some(Job {
            id,
            area_ids: areas,
            pattern,
            duration_s: start.duration_min.map(|minutes| f64::from(minutes) * 60.0),
            path_hash: plan.hash.clone(),
            map_revision: plan.map_revision,
            area_m2: plan.estimate.area_m2,
            course: Some(Arc::new(Course::of(&plan))),
            next: 0,
            left_at: None,
            worked_s: 0.0,
        });
        self.go_on();
        executed()
    }

    /// A mower without areas of its own mows all it has.
    pub(in crate::sim) fn areas(&self, named: &[Uuid]) -> Vec<Uuid> {
        if self.profile.capabilities.areas {
            named.to_vec()
        } else {
            self.map.areas.iter().map(|area| area.id).collect()
        }
    }

    pub(super) fn resume(&mut self, expected: Option<&str>) -> Reply {
        let Some(job) = &self.job else {
            return rejected("no-job");
        };
        if expected.is_some_and(|hash| hash != job.path_hash) {
            return rejected("path-changed");
        }
        if self.battery.calls_home() {
            return rejected("low-battery");
        }
        if self.sensors.wet() {
            return rejected("rain");
        }
        if !self.recall() {
            return rejected("path-changed");
        }
        self.go_on();
        executed()
    }

    fn go_on(&mut self) {
        self.bumps = 0;
        if self.mode == Mode::Docked {
            self.begin_undocking();
        } else {
            self.begin_mowing();
        }
    }
}

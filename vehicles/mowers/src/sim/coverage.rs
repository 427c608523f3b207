//! The coverage planner.

use uuid::Uuid;

use crate::contract::{LegKind, Map, Pattern, Point};
use crate::sim::profile::Profile;

/// stub
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) map_revision: u64,
    pub(super) legs: Vec<PlannedLeg>,
    pub(super) hash: String,
    pub(super) estimate: Estimate,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedLeg {
    pub(super) kind: LegKind,
    pub(super) area_id: Uuid,
    pub(super) points: Vec<Point>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Estimate {
    pub(super) area_m2: f64,
    pub(super) length_m: f64,
    pub(super) duration_s: f64,
    pub(super) battery_percent: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Figures {
    speed_mps: f64,
    cutting_minutes: f64,
}

impl Figures {
    pub(super) fn of(profile: &Profile, speed_mps: f64) -> Self {
        Self {
            speed_mps,
            cutting_minutes: profile.cutting_minutes,
        }
    }
}

#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum PlanError {
    #[error("no area `{0}` in the map")]
    UnknownArea(Uuid),
}

impl PlanError {
    pub(super) fn code(&self) -> &'static str {
        "unknown-area"
    }
}

pub(super) fn plan(
    map: &Map,
    area_ids: &[Uuid],
    pattern: &Pattern,
    figures: &Figures,
) -> Result<Plan, PlanError> {
    let mut legs = Vec::new();
    let mut area_m2 = 0.0;
    for id in area_ids {
        let area = map
            .areas
            .iter()
            .find(|area| area.id == *id)
            .ok_or(PlanError::UnknownArea(*id))?;
        let low =
            |f: fn(&Point) -> f64| area.outline.iter().map(f).fold(f64::INFINITY, f64::min) + 0.3;
        let high = |f: fn(&Point) -> f64| {
            area.outline.iter().map(f).fold(f64::NEG_INFINITY, f64::max) - 0.3
        };
        let (x0, x1, mut y, y1) = (low(|p| p.x), high(|p| p.x), low(|p| p.y), high(|p| p.y));
        area_m2 += super::geometry::signed_area(&area.outline).abs();
        let mut points = Vec::new();
        let mut back = false;
        while y <= y1 {
            let (a, b) = if back { (x1, x0) } else { (x0, x1) };
            points.push(Point::new(a, y));
            points.push(Point::new(b, y));
            back = !back;
            y += (pattern.spacing_cm / 100.0).max(0.05);
        }
        legs.push(PlannedLeg {
            kind: LegKind::Lane,
            area_id: *id,
            points,
        });
    }
    let length_m: f64 = legs
        .iter()
        .map(|leg| super::geometry::length(&leg.points))
        .sum();
    let duration_s = length_m / figures.speed_mps;
    use sha2::Digest as _;
    let hash = sha2::Sha256::digest(format!(
        "{} {area_ids:?} {pattern:?} {legs:?}",
        map.revision
    ));
    Ok(Plan {
        map_revision: map.revision,
        legs,
        hash: hash.iter().map(|byte| format!("{byte:02x}")).collect(),
        estimate: Estimate {
            area_m2,
            length_m,
            duration_s,
            battery_percent: duration_s / 0.6 / figures.cutting_minutes,
        },
    })
}

pub(super) fn route(_map: &Map, _from: Point, to: Point) -> Vec<Point> {
    vec![to]
}

impl Plan {
    pub(super) fn into_path(self) -> crate::contract::Path {
        let points_total = self.legs.iter().map(|leg| leg.points.len()).sum::<usize>();
        crate::contract::Path {
            legs: self
                .legs
                .into_iter()
                .map(|leg| crate::contract::Leg {
                    kind: leg.kind,
                    points: leg.points,
                })
                .collect(),
            points_total: u32::try_from(points_total).unwrap_or(u32::MAX),
            path_hash: self.hash,
            length_m: self.estimate.length_m,
            area_m2: self.estimate.area_m2,
            est_duration_s: self.estimate.duration_s,
            est_battery_percent: self.estimate.battery_percent,
            map_revision: self.map_revision,
            assumptions: Vec::new(),
            truncated: false,
        }
    }
}

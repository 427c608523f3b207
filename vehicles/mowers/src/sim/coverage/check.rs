//! What can be planned at all, and why not.

use uuid::Uuid;

use crate::contract::{Area, Map, Pattern, PatternKind, Point};
use crate::sim::coverage::PlanError;
use crate::sim::coverage::region::{self, Region};
use crate::sim::coverage::rings::Ground;
use crate::sim::geometry::signed_area;

const AREA_LIMIT: usize = 60;
const CORNER_LIMIT: usize = 2_000;
const LEAST_M2: f64 = 0.25;

/// Whether every number of a pattern is in its range.
pub(super) fn pattern(pattern: &Pattern) -> Result<(), PlanError> {
    let ranges = [
        ("angle_deg", pattern.angle_deg, -180.0, 180.0),
        ("spacing_cm", pattern.spacing_cm, 5.0, 35.0),
        ("border_laps", f64::from(pattern.border_laps), 0.0, 4.0),
        ("obstacle_laps", f64::from(pattern.obstacle_laps), 0.0, 4.0),
    ];
    for (name, value, least, most) in ranges {
        if !(least..=most).contains(&value) {
            return Err(PlanError::Pattern(name));
        }
    }
    if pattern.kind == PatternKind::BorderOnly && pattern.border_laps == 0 {
        return Err(PlanError::NoLaps);
    }
    Ok(())
}

/// Whether every area of a map can be planned, and its dock is a place.
///
/// # Errors
/// The first that cannot.
pub(in crate::sim) fn map(map: &Map) -> Result<(), PlanError> {
    if !region::near(map.dock) {
        return Err(PlanError::Dock);
    }
    map.areas.iter().try_for_each(|area| ground(area).map(drop))
}

/// The named areas, each once.
pub(super) fn named<'a>(map: &'a Map, area_ids: &[Uuid]) -> Result<Vec<&'a Area>, PlanError> {
    if !(1..=AREA_LIMIT).contains(&area_ids.len()) {
        return Err(PlanError::AreaCount(area_ids.len()));
    }
    let mut areas: Vec<&Area> = Vec::new();
    for id in area_ids {
        if areas.iter().any(|area| area.id == *id) {
            return Err(PlanError::AreaTwice(*id));
        }
        let area = map.areas.iter().find(|area| area.id == *id);
        areas.push(area.ok_or(PlanError::UnknownArea(*id))?);
    }
    Ok(areas)
}

/// Checks an area and takes it apart.
pub(super) fn ground(area: &Area) -> Result<Ground, PlanError> {
    let refuse = |reason| Err(refused(area.id, reason));
    let corners = area.outline.len() + area.obstacles.iter().map(Vec::len).sum::<usize>();
    if area.outline.len() < 3 {
        return refuse("its outline has fewer than three points");
    }
    if corners > CORNER_LIMIT {
        return refuse("its outline and obstacles have more than 2,000 points");
    }
    let far = |point: &Point| !region::near(*point);
    if area
        .outline
        .iter()
        .chain(area.obstacles.iter().flatten())
        .any(far)
    {
        return refuse("a point is not within 10 km of the origin");
    }
    let lawn = Region::inside(&area.outline);
    let enclosed = lawn.area_m2();
    if (enclosed - signed_area(&area.outline).abs()).abs() > 0.01 * enclosed + 0.01 {
        return refuse("its outline crosses itself");
    }
    let ground = Ground {
        lawn,
        blocked: Region::union(&area.obstacles),
    };
    if ground.clear(0.0, 0.0).area_m2() < LEAST_M2 {
        return refuse("it has less than a quarter of a square meter of lawn");
    }
    Ok(ground)
}

pub(super) fn refused(area: Uuid, reason: &'static str) -> PlanError {
    PlanError::Area { area, reason }
}

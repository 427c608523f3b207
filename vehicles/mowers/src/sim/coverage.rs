//! The coverage planner: what a mower drives to cover areas in a pattern.
//!
//! Pure: the same map, areas, pattern and figures give the same plan. Laps run
//! inward from the border and outward from obstacles, lanes lie parallel in what
//! the laps leave, transits join them with the blade off.

use uuid::Uuid;

use crate::contract::{Area, LegKind, Map, Order, Pattern, PatternKind, Point};
use crate::sim::geometry::signed_area;

mod digest;
mod estimate;
mod lanes;
mod region;
mod rings;
mod route;
mod view;
mod walk;

#[cfg(test)]
pub(super) mod tests;

pub(super) use estimate::{Estimate, Figures, Tally};

use region::Region;
use rings::Ground;
use route::Router;
use walk::Walk;

/// Limits of what is planned.
const AREA_LIMIT: usize = 60;
const CORNER_LIMIT: usize = 2_000;
const LEAST_M2: f64 = 0.25;
/// Lanes of one plan.
const LANE_LIMIT: u32 = 100_000;
/// Lanes times corners of one area; beyond it planning takes too long.
const WORK_LIMIT: f64 = 20_000_000.0;

/// A planned path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Plan {
    pub(super) map_revision: u64,
    pub(super) legs: Vec<PlannedLeg>,
    pub(super) hash: String,
    pub(super) estimate: Estimate,
    pub(super) assumptions: Vec<String>,
}

/// One polyline of it. Points lie on whole millimeters.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlannedLeg {
    pub(super) kind: LegKind,
    pub(super) area_id: Uuid,
    pub(super) points: Vec<Point>,
}

/// Why nothing can be planned.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub(super) enum PlanError {
    /// None or too many.
    #[error("{0} areas are named; give 1 to 60")]
    AreaCount(usize),
    /// Not in the map.
    #[error("the map has no area `{0}`")]
    UnknownArea(Uuid),
    /// The same one again.
    #[error("area `{0}` is named twice")]
    AreaTwice(Uuid),
    /// A number out of its range.
    #[error("`{0}` is out of its range")]
    Pattern(&'static str),
    /// A border pattern without laps.
    #[error("`border_only` needs at least one border lap")]
    NoLaps,
    /// Too many inward corners to find a way around them.
    #[error("the map has more than 600 inward corners; draw it more simply")]
    TooDetailed,
    /// An outline that encloses nothing to mow.
    #[error("area `{area}`: {reason}")]
    Area {
        /// Which.
        area: Uuid,
        /// What is wrong with it.
        reason: &'static str,
    },
}

impl PlanError {
    /// The machine code.
    pub(super) const fn code(&self) -> &'static str {
        match self {
            Self::AreaCount(_) => "area-count",
            Self::UnknownArea(_) => "unknown-area",
            Self::AreaTwice(_) => "area-twice",
            Self::Pattern(_) | Self::NoLaps => "pattern-not-possible",
            Self::TooDetailed => "map-too-detailed",
            Self::Area { .. } => "area-not-possible",
        }
    }
}

/// Plans a path over areas, in the order in which they are named.
///
/// # Errors
/// Areas, pattern or an outline are not possible; the error says why.
pub(super) fn plan(
    map: &Map,
    area_ids: &[Uuid],
    pattern: &Pattern,
    figures: &Figures,
) -> Result<Plan, PlanError> {
    check_pattern(pattern)?;
    let areas = named(map, area_ids)?;
    let mut router = Router::new(route::drivable(map));
    let mut legs = Vec::new();
    let mut tally = Tally::default();
    let mut area_m2 = 0.0;
    let mut at = None;
    for area in areas {
        let ground = ground(area)?;
        area_m2 += ground.clear(0.0, 0.0).area_m2();
        let mut walk = Walk {
            router: &mut router,
            area_id: area.id,
            at,
            dock: map.dock,
            legs: Vec::new(),
            tally,
        };
        let before = walk.legs.len();
        cover(&ground, pattern, &mut walk, area.id)?;
        if walk.legs.len() == before {
            return Err(refused(area.id, "it is too narrow for this pattern"));
        }
        at = walk.at;
        tally = walk.tally;
        legs.append(&mut walk.legs);
        if tally.lanes > LANE_LIMIT {
            return Err(refused(
                area.id,
                "with it the plan has more than 100,000 lanes",
            ));
        }
    }
    if router.gave_up {
        return Err(PlanError::TooDetailed);
    }
    for point in legs
        .iter_mut()
        .flat_map(|leg: &mut PlannedLeg| leg.points.iter_mut())
    {
        *point = Point::new(millimeters(point.x), millimeters(point.y));
    }
    Ok(Plan {
        map_revision: map.revision,
        hash: digest::path_hash(map.revision, area_ids, pattern, &legs),
        estimate: Estimate::of(tally, area_m2, figures),
        assumptions: assumptions(figures),
        legs,
    })
}

/// The way between two points of the garden, without the first of them.
pub(super) fn route(map: &Map, from: Point, to: Point) -> Vec<Point> {
    Router::new(route::drivable(map)).way(from, to)
}

fn cover(
    ground: &Ground,
    pattern: &Pattern,
    walk: &mut Walk<'_>,
    area_id: Uuid,
) -> Result<(), PlanError> {
    let spacing_m = pattern.spacing_cm / 100.0;
    let mut pattern = pattern.clone();
    if pattern.kind == PatternKind::None {
        pattern.border_laps = 0;
    }
    let corners: usize = ground
        .lawn
        .rings()
        .chain(ground.blocked.rings())
        .map(Vec::len)
        .sum();
    let margin = (spacing_m / 4.0).min(lanes::MARGIN_M);
    let inside = ground.clear(margin, margin);
    let mut passes = Vec::new();
    if pattern.kind != PatternKind::BorderOnly {
        passes.push(pattern.angle_deg);
    }
    if pattern.kind == PatternKind::Double {
        passes.push(pattern.angle_deg + 90.0);
    }
    let lanes = lanes::lane_count(diameter(&ground.lawn), spacing_m);
    #[expect(clippy::cast_precision_loss, reason = "at most some thousands")]
    if lanes * corners as f64 > WORK_LIMIT || lanes > f64::from(LANE_LIMIT) {
        return Err(refused(area_id, "it is too large for this spacing"));
    }
    let laps = |walk: &mut Walk<'_>| {
        for ring in rings::border_laps(ground, &pattern, spacing_m) {
            walk.lap(&ring);
        }
        for ring in rings::obstacle_laps(ground, &pattern, spacing_m) {
            walk.lap(&ring);
        }
    };
    if pattern.order == Order::BorderFirst {
        laps(walk);
    }
    for angle in &passes {
        walk.cells(lanes::cells(ground, &pattern, *angle, spacing_m), &inside);
    }
    if pattern.order == Order::LanesFirst {
        laps(walk);
    }
    Ok(())
}

fn check_pattern(pattern: &Pattern) -> Result<(), PlanError> {
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

fn named<'a>(map: &'a Map, area_ids: &[Uuid]) -> Result<Vec<&'a Area>, PlanError> {
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
fn ground(area: &Area) -> Result<Ground, PlanError> {
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

fn refused(area: Uuid, reason: &'static str) -> PlanError {
    PlanError::Area { area, reason }
}

fn diameter(region: &Region) -> f64 {
    let spread = |axis: fn(&Point) -> f64| {
        let values = || region.rings().flatten().map(axis);
        let low = values().fold(f64::INFINITY, f64::min);
        values().fold(f64::NEG_INFINITY, f64::max) - low
    };
    spread(|point| point.x).hypot(spread(|point| point.y))
}

fn millimeters(meters: f64) -> f64 {
    // Adding zero turns a negative zero into zero.
    (meters * 1_000.0).round() / 1_000.0 + 0.0
}

fn assumptions(figures: &Figures) -> Vec<String> {
    vec![
        format!("working speed {} m/s", figures.speed_mps),
        format!(
            "{} min of cutting on a full battery",
            figures.cutting_minutes
        ),
        "turns in place at 0.8 rad/s, without speeding up and slowing down".to_owned(),
        "without the way from and to the dock and without charging".to_owned(),
        "straight between areas that do not touch".to_owned(),
    ]
}

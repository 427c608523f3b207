//! The coverage planner: what a mower drives to cover areas in a pattern.
//!
//! Pure: the same map, areas, pattern and figures give the same plan. Laps run
//! inward from the border and outward from obstacles, lanes lie parallel in what
//! the laps leave, transits join them with the blade off.

use uuid::Uuid;

use crate::contract::{LegKind, Map, Order, Pattern, PatternKind, Point};

mod check;
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

pub(super) use check::map as check_map;
pub(super) use estimate::{Estimate, Figures, Tally};

use region::Region;
use rings::Ground;
use route::Router;
use walk::Walk;

/// Limits of what is planned: lanes of one plan.
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
    /// Not a place in a garden.
    #[error("the dock is not within 10 km of the origin")]
    Dock,
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
            Self::Dock => "dock-not-possible",
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
    check::pattern(pattern)?;
    let areas = check::named(map, area_ids)?;
    let mut router = Router::new(route::drivable(map));
    let mut legs = Vec::new();
    let mut tally = Tally::default();
    let mut area_m2 = 0.0;
    let mut at = None;
    for area in areas {
        let ground = check::ground(area)?;
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
            return Err(check::refused(area.id, "it is too narrow for this pattern"));
        }
        at = walk.at;
        tally = walk.tally;
        legs.append(&mut walk.legs);
        if tally.lanes > LANE_LIMIT {
            return Err(check::refused(
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
        return Err(check::refused(area_id, "it is too large for this spacing"));
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

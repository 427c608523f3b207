//! Lawns that are no rectangles.

use proptest::prelude::*;

use super::raster::{blade_on, cut};
use super::{LegKind, Map, Order, Pattern, PatternKind, Plan, Point, lawn, planned};
use crate::sim::coverage::route;
use crate::sim::geometry::{contains, nearest_on_outline};

/// A blade of 14 cm on lanes of 13 cm.
const WIDTH_M: f64 = 0.14;

const L: [[f64; 2]; 6] = [
    [0.0, 0.0],
    [9.0, 0.0],
    [9.0, 4.1],
    [5.0, 4.1],
    [5.0, 8.0],
    [0.0, 8.0],
];
const U: [[f64; 2]; 8] = [
    [0.0, 0.0],
    [10.0, 0.0],
    [10.0, 7.0],
    [7.0, 7.0],
    [6.5, 3.0],
    [3.5, 3.0],
    [3.0, 7.0],
    [0.0, 7.0],
];
/// Two lawns joined by a neck of a meter.
const NECK: [[f64; 2]; 12] = [
    [0.0, 0.0],
    [4.0, 0.0],
    [4.0, 2.0],
    [6.0, 2.0],
    [6.0, 0.0],
    [10.0, 0.0],
    [10.0, 5.0],
    [6.0, 5.0],
    [6.0, 3.0],
    [4.0, 3.0],
    [4.0, 5.0],
    [0.0, 5.0],
];
const SQUARE: [[f64; 2]; 4] = [[0.0, 0.0], [10.0, 0.0], [10.0, 8.0], [0.0, 8.0]];
const POND: [[f64; 2]; 5] = [[4.0, 3.0], [6.0, 2.6], [6.6, 4.2], [5.2, 5.4], [3.8, 4.6]];
/// Stands half over the border.
const TREE: [[f64; 2]; 4] = [[8.5, 3.0], [11.0, 3.0], [11.0, 4.0], [8.5, 4.0]];

fn narrow(angle_deg: f64) -> Pattern {
    Pattern {
        angle_deg,
        spacing_cm: 13.0,
        border_laps: 2,
        ..Pattern::default()
    }
}

/// Samples each leg: transits and cuts stay inside and out of obstacles.
fn stays_inside(map: &Map, plan: &Plan) {
    let area = &map.areas[0];
    for leg in &plan.legs {
        assert!(leg.points.len() >= 2);
        for (a, b) in leg.points.iter().zip(leg.points.iter().skip(1)) {
            let steps = (a.distance(*b) / 0.02).ceil().max(1.0) as u32;
            for step in 0..=steps {
                let point = a.between(*b, f64::from(step) / f64::from(steps));
                let beside =
                    |outline: &[Point]| nearest_on_outline(outline, point).unwrap().distance(point);
                let inside = contains(&area.outline, point) || beside(&area.outline) < 0.002;
                assert!(inside, "{:?} leaves the area at {point:?}", leg.kind);
                for obstacle in &area.obstacles {
                    let hit = contains(obstacle, point) && beside(obstacle) > 0.002;
                    assert!(!hit, "{:?} hits an obstacle at {point:?}", leg.kind);
                }
            }
        }
    }
}

/// Legs join: each begins where the last one ends.
fn is_one_way(plan: &Plan) {
    for (before, after) in plan.legs.iter().zip(plan.legs.iter().skip(1)) {
        let gap = before.points.last().unwrap().distance(after.points[0]);
        assert!(gap < 0.0025, "a gap of {gap} m");
    }
}

fn check(map: &Map, pattern: &Pattern) {
    let plan = planned(map, pattern).unwrap();
    stays_inside(map, &plan);
    is_one_way(&plan);
    let cut = cut(map, &blade_on(&plan.legs), WIDTH_M);
    assert!(cut.covered >= 0.99, "covers {}", cut.covered);
    assert!(cut.overlap <= 0.15, "overlaps {}", cut.overlap);
}

#[test]
fn a_rectangle_is_covered() {
    check(&lawn(&SQUARE, &[]), &narrow(0.0));
}

#[test]
fn an_l_is_covered() {
    check(&lawn(&L, &[]), &narrow(0.0));
    check(&lawn(&L, &[]), &narrow(90.0));
}

/// A step of the border that runs with the lanes and lies anywhere between two
/// of them leaves no strip.
#[test]
fn no_strip_is_left_along_a_step() {
    for centimeters in 400..413 {
        let step = f64::from(centimeters) / 100.0;
        let outline = [
            [0.0, 0.0],
            [9.0, 0.0],
            [9.0, step],
            [5.0, step],
            [5.0, 8.0],
            [0.0, 8.0],
        ];
        let map = lawn(&outline, &[]);
        let plan = planned(&map, &narrow(0.0)).unwrap();
        let cut = cut(&map, &blade_on(&plan.legs), WIDTH_M);
        assert!(
            cut.covered >= 0.9998,
            "covers {} with a step at {step}",
            cut.covered
        );
    }
}

#[test]
fn a_u_is_covered_at_an_angle() {
    check(&lawn(&U, &[]), &narrow(0.0));
    check(&lawn(&U, &[]), &narrow(37.0));
    check(&lawn(&U, &[]), &narrow(-90.0));
}

#[test]
fn a_neck_is_covered() {
    check(&lawn(&NECK, &[]), &narrow(15.0));
}

#[test]
fn obstacles_are_driven_around() {
    check(&lawn(&SQUARE, &[&POND]), &narrow(0.0));
    check(&lawn(&SQUARE, &[&POND, &TREE]), &narrow(60.0));
}

#[test]
fn an_outline_may_run_either_way() {
    let mut clockwise = lawn(&L, &[]);
    clockwise.areas[0].outline.reverse();
    check(&clockwise, &narrow(0.0));
}

#[test]
fn a_pattern_says_what_comes_and_in_which_order() {
    let map = lawn(&SQUARE, &[&POND]);
    let kinds = |pattern: Pattern| {
        let plan = planned(&map, &pattern).unwrap();
        stays_inside(&map, &plan);
        let mut kinds: Vec<LegKind> = Vec::new();
        for leg in plan.legs.iter().filter(|leg| leg.kind != LegKind::Transit) {
            if kinds.last() != Some(&leg.kind) {
                kinds.push(leg.kind);
            }
        }
        (kinds, plan.estimate.lanes)
    };
    let of = |kind, order| Pattern {
        kind,
        order,
        ..narrow(0.0)
    };
    use LegKind::{Border, Lane, ObstacleLap};
    let (parallel, lanes) = kinds(of(PatternKind::Parallel, Order::BorderFirst));
    assert_eq!(parallel, [Border, ObstacleLap, Lane]);
    let (lanes_first, _) = kinds(of(PatternKind::Parallel, Order::LanesFirst));
    assert_eq!(lanes_first, [Lane, Border, ObstacleLap]);
    let (border_only, none) = kinds(of(PatternKind::BorderOnly, Order::BorderFirst));
    assert_eq!((border_only, none), (vec![Border, ObstacleLap], 0));
    let (without_border, _) = kinds(of(PatternKind::None, Order::BorderFirst));
    assert_eq!(without_border, [ObstacleLap, Lane]);
    let (double, both_ways) = kinds(of(PatternKind::Double, Order::BorderFirst));
    assert_eq!(double, [Border, ObstacleLap, Lane]);
    assert!(both_ways > 2 * lanes - 10, "{both_ways} after {lanes}");
}

#[test]
fn without_laps_the_lanes_are_still_one_leg() {
    let pattern = Pattern {
        kind: PatternKind::None,
        obstacle_laps: 0,
        spacing_cm: 30.0,
        ..Pattern::default()
    };
    let plan = planned(&lawn(&SQUARE, &[]), &pattern).unwrap();
    let kinds: Vec<LegKind> = plan.legs.iter().map(|leg| leg.kind).collect();
    assert_eq!(kinds, [LegKind::Lane]);
}

#[test]
fn the_way_home_leads_around_the_notch() {
    let map = lawn(&U, &[]);
    let (from, to) = (Point::new(1.0, 6.5), Point::new(9.0, 6.5));
    let way = route(&map, from, to);
    assert_eq!(way.last(), Some(&to));
    assert!(way.len() >= 3, "{way:?}");
    let points: Vec<Point> = std::iter::once(from).chain(way).collect();
    let length = crate::sim::geometry::length(&points);
    // Around the two lower corners of the notch.
    let corners = [from, Point::new(3.5, 3.0), Point::new(6.5, 3.0), to];
    let shortest = crate::sim::geometry::length(&corners);
    assert!(
        (shortest - 0.2..shortest + 0.4).contains(&length),
        "{length} for {shortest}"
    );
}

fn star() -> impl Strategy<Value = Vec<[f64; 2]>> {
    prop::collection::vec(2.0..9.0_f64, 3..14).prop_map(|radii| {
        let step = std::f64::consts::TAU / radii.len() as f64;
        let corner = |(index, radius): (usize, &f64)| {
            let (sin, cos) = (index as f64 * step).sin_cos();
            [radius * cos, radius * sin]
        };
        radii.iter().enumerate().map(corner).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    #[test]
    fn any_star_is_planned_inside_itself(
        outline in star(),
        angle in -180.0..=180.0_f64,
        spacing in 15.0..=35.0_f64,
        laps in 0..=4_u8,
    ) {
        let pattern = Pattern { angle_deg: angle, spacing_cm: spacing, border_laps: laps, ..Pattern::default() };
        let map = lawn(&outline, &[&[[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]]]);
        if let Ok(plan) = planned(&map, &pattern) {
            stays_inside(&map, &plan);
            is_one_way(&plan);
            prop_assert_eq!(&planned(&map, &pattern).unwrap().hash, &plan.hash);
        }
    }

    #[test]
    fn any_points_are_planned_or_refused(
        outline in prop::collection::vec([-20.0..20.0_f64, -20.0..20.0_f64], 0..9),
        obstacle in prop::collection::vec([-20.0..20.0_f64, -20.0..20.0_f64], 0..6),
        laps in 0..=4_u8,
    ) {
        let pattern = Pattern { spacing_cm: 30.0, border_laps: laps, obstacle_laps: laps, ..Pattern::default() };
        if let Ok(plan) = planned(&lawn(&outline, &[&obstacle]), &pattern) {
            prop_assert!(plan.legs.iter().flat_map(|leg| &leg.points).all(|point| point.is_finite()));
            is_one_way(&plan);
        }
    }
}

use proptest::prelude::*;

use super::{EPSILON_METERS, Motion, closest};
use crate::geometry::Point;
use crate::paths::length;
use crate::paths::tests::walk;
use crate::preview::NOMINAL_SPEED;

fn points(coordinates: &[[f64; 3]]) -> Vec<Point> {
    coordinates
        .iter()
        .map(|[x, y, z]| Point::new(*x, *y, *z))
        .collect()
}

fn check(a: &[[f64; 3]], b: &[[f64; 3]], seconds: f64, meters: f64) {
    let motion = |path| Motion::along(&points(path), NOMINAL_SPEED);
    for found in [
        closest(&motion(a), &motion(b)),
        closest(&motion(b), &motion(a)),
    ] {
        assert!((found.meters - meters).abs() < 1e-6, "{found:?}");
        assert!((found.seconds - seconds).abs() < 1e-6, "{found:?}");
    }
}

#[test]
fn crossing_paths_meet() {
    check(
        &[[-10.0, 0.0, 5.0], [10.0, 0.0, 5.0]],
        &[[0.0, -10.0, 5.0], [0.0, 10.0, 5.0]],
        5.0,
        0.0,
    );
    check(
        &[[-2.0, 0.0, 5.0], [10.0, 0.0, 5.0]],
        &[[0.0, -30.0, 5.0], [0.0, 10.0, 5.0]],
        15.0,
        10.0,
    );
}

/// The lengths and durations of the same two examples.
#[test]
fn crossing_paths_have_their_lengths() {
    for (path, expected) in [
        ([[-10.0, 0.0, 5.0], [10.0, 0.0, 5.0]], 20.0),
        ([[-2.0, 0.0, 5.0], [10.0, 0.0, 5.0]], 12.0),
        ([[0.0, -30.0, 5.0], [0.0, 10.0, 5.0]], 40.0),
    ] {
        assert_eq!(length(&points(&path)), expected);
    }
}

#[test]
fn the_first_of_many_equal_minima_is_named() {
    // Side by side all the way: the minimum is there from the start.
    check(
        &[[0.0, 0.0, 5.0], [20.0, 0.0, 5.0], [20.0, 0.0, 35.0]],
        &[[0.0, 2.0, 5.0], [20.0, 2.0, 5.0], [20.0, 2.0, 35.0]],
        0.0,
        2.0,
    );
    // It passes the hovering one three times.
    check(
        &[
            [-10.0, 1.0, 5.0],
            [10.0, 1.0, 5.0],
            [-10.0, 1.0, 5.0],
            [10.0, 1.0, 5.0],
        ],
        &[[0.0, 0.0, 5.0]],
        5.0,
        1.0,
    );
}

#[test]
fn a_drone_that_has_arrived_still_counts() {
    check(
        &[[0.0, 0.0, 5.0], [2.0, 0.0, 5.0]],
        &[[2.0, 40.0, 5.0], [2.0, 0.5, 5.0]],
        19.75,
        0.5,
    );
    check(&[[0.0, 0.0, 0.0]], &[[3.0, 0.0, 4.0]], 0.0, 5.0);
}

#[test]
fn points_given_twice_take_no_time() {
    check(
        &[
            [-4.0, 0.0, 5.0],
            [0.0, 0.0, 5.0],
            [0.0, 0.0, 5.0],
            [4.0, 0.0, 5.0],
        ],
        &[[2.0, 0.0, 5.0]],
        3.0,
        0.0,
    );
}

fn path() -> impl Strategy<Value = Vec<Point>> {
    let point = (-30.0..30.0, -30.0..30.0, 0.0..30.0)
        .prop_map(|(x, y, z): (f64, f64, f64)| Point::new(x, y, z));
    prop::collection::vec(point, 1..6)
}

proptest! {
    /// Two drones close in at 4 m/s at most, so a sample every 1/128 s is at
    /// most 1/64 m above a minimum between two samples, and never below it.
    #[test]
    fn dense_sampling_agrees(a in path(), b in path()) {
        let found = closest(
            &Motion::along(&a, NOMINAL_SPEED),
            &Motion::along(&b, NOMINAL_SPEED),
        );
        let step = 1.0 / 128.0;
        let end = length(&a).max(length(&b)) / NOMINAL_SPEED + 2.0 * step;
        let mut sampled = f64::INFINITY;
        let mut tick = 0.0;
        while tick * step <= end {
            let way = tick * step * NOMINAL_SPEED;
            sampled = sampled.min(walk(&a, way).distance(walk(&b, way)));
            tick += 1.0;
        }
        prop_assert!(sampled >= found.meters - 2.0 * EPSILON_METERS, "{sampled} {found:?}");
        prop_assert!(sampled <= found.meters + 2.0 * NOMINAL_SPEED * step / 2.0 + 1e-9);
        let way = found.seconds * NOMINAL_SPEED;
        let there = walk(&a, way).distance(walk(&b, way));
        prop_assert!((there - found.meters).abs() < 1e-6, "{there} {found:?}");
    }
}

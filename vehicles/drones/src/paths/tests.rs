use super::{length, offset, pad, segments};
use crate::contract::{Formation, MissionType};
use crate::geometry::Point;

/// The place `distance` meters along `points`.
pub(crate) fn walk(points: &[Point], distance: f64) -> Point {
    let mut left = distance;
    for (from, to) in segments(points) {
        let length = from.distance(to);
        if left < length {
            return from.plus(to.minus(from).times(left / length));
        }
        left -= length;
    }
    points.last().copied().unwrap_or_default()
}

fn check(kind: MissionType, formation: Formation, count: u32, expected: &[(f64, f64)]) {
    let found: Vec<(f64, f64)> = (0..count)
        .map(|index| {
            let point = offset(kind, formation, 3.0, index);
            assert_eq!(point.z, 0.0);
            (point.x, point.y)
        })
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn every_drone_has_its_lane_or_slot() {
    check(
        MissionType::Waypoint,
        Formation::V,
        3,
        &[(0.0, 0.0), (0.0, 3.0), (0.0, 6.0)],
    );
    check(
        MissionType::Formation,
        Formation::Line,
        5,
        &[
            (0.0, 0.0),
            (-3.0, 0.0),
            (-6.0, 0.0),
            (-9.0, 0.0),
            (-12.0, 0.0),
        ],
    );
    check(
        MissionType::Formation,
        Formation::V,
        6,
        &[
            (0.0, 0.0),
            (-3.0, 3.0),
            (-3.0, -3.0),
            (-6.0, 6.0),
            (-6.0, -6.0),
            (-9.0, 9.0),
        ],
    );
}

#[test]
fn pads_are_three_meters_apart() {
    assert_eq!(pad(0), Point::new(0.0, 0.0, 0.0));
    assert_eq!(pad(4), Point::new(0.0, 12.0, 0.0));
}

#[test]
fn a_length_adds_up_every_straight_piece() {
    let path = [
        Point::new(0.0, 0.0, 0.0),
        Point::new(0.0, 0.0, 4.0),
        Point::new(3.0, 0.0, 4.0),
    ];
    assert_eq!(length(&path), 7.0);
    assert_eq!(length(&[]), 0.0);
}

use super::{length, offset, pad, walk};
use crate::contract::{Formation, MissionType};
use crate::geometry::Point;

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
fn a_walk_follows_the_path_and_stays_at_its_end() {
    let path = [
        Point::new(0.0, 0.0, 0.0),
        Point::new(0.0, 0.0, 4.0),
        Point::new(3.0, 0.0, 4.0),
    ];
    assert_eq!(length(&path), 7.0);
    assert_eq!(walk(&path, 2.0), Point::new(0.0, 0.0, 2.0));
    assert_eq!(walk(&path, 5.0), Point::new(1.0, 0.0, 4.0));
    assert_eq!(walk(&path, 99.0), Point::new(3.0, 0.0, 4.0));
    assert_eq!(walk(&path, -1.0), Point::new(0.0, 0.0, 0.0));
    let still = [Point::new(1.0, 1.0, 1.0), Point::new(1.0, 1.0, 1.0)];
    assert_eq!(walk(&still, 0.0), Point::new(1.0, 1.0, 1.0));
    assert_eq!(walk(&[], 1.0), Point::default());
}

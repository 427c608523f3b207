use std::f64::consts::{FRAC_PI_2, PI};

use super::{contains, nearest_on, signed_area, wrapped};
use crate::contract::Point;

fn square() -> Vec<Point> {
    [[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]]
        .map(Point::from)
        .to_vec()
}

#[test]
fn angles_wrap_around() {
    let check = |radians: f64, expected: f64| {
        assert!((wrapped(radians) - expected).abs() < 1e-12, "{radians}");
    };
    check(0.0, 0.0);
    check(PI + 0.1, 0.1 - PI);
    check(-PI - 0.1, PI - 0.1);
    check(5.0 * PI + FRAC_PI_2, -FRAC_PI_2);
    check(f64::NAN, 0.0);
    check(f64::INFINITY, 0.0);
}

#[test]
fn a_point_is_inside_or_not() {
    assert!(contains(&square(), Point::new(1.0, 1.0)));
    assert!(!contains(&square(), Point::new(2.1, 1.0)));
    assert!(!contains(&square(), Point::new(1.0, -0.1)));
    assert!(!contains(&[], Point::new(0.0, 0.0)));
}

#[test]
fn the_nearest_point_stays_between_the_ends() {
    let (a, b) = (Point::new(0.0, 0.0), Point::new(2.0, 0.0));
    assert_eq!(nearest_on(a, b, Point::new(1.0, 3.0)), Point::new(1.0, 0.0));
    assert_eq!(nearest_on(a, b, Point::new(5.0, 3.0)), b);
    assert_eq!(nearest_on(a, a, Point::new(5.0, 3.0)), a);
}

#[test]
fn the_sign_of_an_area_is_its_direction() {
    let mut square = square();
    assert!((signed_area(&square) - 4.0).abs() < 1e-12);
    square.reverse();
    assert!((signed_area(&square) + 4.0).abs() < 1e-12);
    assert_eq!(signed_area(&[]), 0.0);
}

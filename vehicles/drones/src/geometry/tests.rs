use super::{Point, round};

fn check(value: f64, digits: i32, expected: f64) {
    assert_eq!(round(value, digits), expected, "{value} to {digits}");
}

#[test]
fn rounding_is_half_to_even_after_scaling() {
    check(0.125, 2, 0.12);
    check(0.375, 2, 0.38);
    check(2.5, 0, 2.0);
    check(1.3456, 2, 1.35);
    check(-0.125, 2, -0.12);
    check(18.36, 1, 18.4);
}

#[test]
fn a_negative_zero_has_the_bits_of_zero() {
    let point = Point::new(-0.0, 0.0, -0.0);
    assert_eq!(point.x.to_bits(), 0.0_f64.to_bits());
    assert_eq!(point.z.to_bits(), 0.0_f64.to_bits());
}

#[test]
fn distances_are_euclidean() {
    let a = Point::new(1.0, 2.0, 3.0);
    let b = Point::new(3.0, 5.0, 9.0);
    assert_eq!(a.distance(b), 7.0);
    assert_eq!(Point::new(3.0, 4.0, 100.0).horizontal(), 5.0);
}

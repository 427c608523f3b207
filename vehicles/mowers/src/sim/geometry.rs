//! Points of the plane as vectors, in meters.

use std::f64::consts::{PI, TAU};

use crate::contract::Point;

#[cfg(test)]
mod tests;

impl Point {
    pub(super) const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    pub(super) fn plus(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y)
    }

    pub(super) fn minus(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y)
    }

    pub(super) fn times(self, factor: f64) -> Self {
        Self::new(self.x * factor, self.y * factor)
    }

    pub(super) fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y
    }

    /// Positive when `other` lies to the left of this direction.
    pub(super) fn cross(self, other: Self) -> f64 {
        self.x * other.y - self.y * other.x
    }

    pub(super) fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    pub(super) fn distance(self, other: Self) -> f64 {
        self.minus(other).length()
    }

    /// Radians, 0 = east, counter-clockwise.
    pub(super) fn direction(self) -> f64 {
        self.y.atan2(self.x)
    }

    /// One meter in that direction.
    pub(super) fn toward(radians: f64) -> Self {
        Self::new(radians.cos(), radians.sin())
    }

    /// A quarter turn to the left.
    pub(super) fn left(self) -> Self {
        Self::new(-self.y, self.x)
    }

    /// Turned to the left around the origin, by the angle with this cosine and sine.
    pub(super) fn turned(self, cos: f64, sin: f64) -> Self {
        Self::new(self.x * cos - self.y * sin, self.x * sin + self.y * cos)
    }

    /// The point between this one (0) and `other` (1).
    pub(super) fn between(self, other: Self, share: f64) -> Self {
        self.plus(other.minus(self).times(share))
    }

    pub(super) fn is_finite(self) -> bool {
        self.x.is_finite() && self.y.is_finite()
    }
}

/// The same angle from -π up to π.
pub(super) fn wrapped(radians: f64) -> f64 {
    let turned = (radians + PI).rem_euclid(TAU) - PI;
    if turned.is_finite() { turned } else { 0.0 }
}

/// The nearest point of the straight between `a` and `b`.
pub(super) fn nearest_on(a: Point, b: Point, point: Point) -> Point {
    let way = b.minus(a);
    let square = way.dot(way);
    if square <= f64::MIN_POSITIVE {
        return a;
    }
    a.between(b, (point.minus(a).dot(way) / square).clamp(0.0, 1.0))
}

/// The edges of an outline, the closing one included.
pub(super) fn edges(outline: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    let next = outline.iter().cycle().skip(1);
    outline.iter().copied().zip(next.copied())
}

/// Square meters, positive when the outline runs counter-clockwise.
pub(super) fn signed_area(outline: &[Point]) -> f64 {
    edges(outline).map(|(a, b)| a.cross(b)).sum::<f64>() / 2.0
}

/// Whether a point lies in an outline, by the even-odd rule.
pub(super) fn contains(outline: &[Point], point: Point) -> bool {
    edges(outline)
        .filter(|(a, b)| (a.y > point.y) != (b.y > point.y))
        .filter(|(a, b)| point.x < a.x + (point.y - a.y) / (b.y - a.y) * (b.x - a.x))
        .count()
        % 2
        == 1
}

/// The nearest point of an outline; `None` when it has no points.
pub(super) fn nearest_on_outline(outline: &[Point], point: Point) -> Option<Point> {
    edges(outline)
        .map(|(a, b)| nearest_on(a, b, point))
        .min_by(|a, b| a.distance(point).total_cmp(&b.distance(point)))
}

/// The sum of the straights between consecutive points.
pub(super) fn length(points: &[Point]) -> f64 {
    points
        .iter()
        .zip(points.iter().skip(1))
        .map(|(a, b)| a.distance(*b))
        .sum()
}

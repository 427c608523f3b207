//! Points and vectors in the world frame, in meters.

use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// A position or a displacement, in meters: x east, y north, z up.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// East of the origin.
    pub x: f64,
    /// North of the origin.
    pub y: f64,
    /// Above the origin.
    pub z: f64,
}

impl Point {
    /// The point with these coordinates; a negative zero becomes zero, so that
    /// equal points have equal bits.
    #[must_use]
    pub fn new(x: f64, y: f64, z: f64) -> Self {
        Self {
            x: x + 0.0,
            y: y + 0.0,
            z: z + 0.0,
        }
    }

    /// The sum of both.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }

    /// The displacement from `other` to this point.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }

    /// This vector, `factor` times as long.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self::new(self.x * factor, self.y * factor, self.z * factor)
    }

    /// The scalar product.
    #[must_use]
    pub fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }

    /// The length of this vector.
    #[must_use]
    pub fn length(self) -> f64 {
        self.dot(self).sqrt()
    }

    /// The length of its shadow on the ground.
    #[must_use]
    pub fn horizontal(self) -> f64 {
        self.x.hypot(self.y)
    }

    /// The distance to `other`.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        self.minus(other).length()
    }
}

/// Rounds to `digits` decimals: scale, round half to even, scale back.
#[must_use]
pub fn round(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round_ties_even() / scale
}

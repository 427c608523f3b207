//! The mower's map in its local frame.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A point: `[x, y]`, meters east and north of the map's origin.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "[f64; 2]", into = "[f64; 2]")]
pub struct Point {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
}

impl From<[f64; 2]> for Point {
    fn from([x, y]: [f64; 2]) -> Self {
        Point { x, y }
    }
}

impl From<Point> for [f64; 2] {
    fn from(point: Point) -> Self {
        [point.x, point.y]
    }
}

/// What a mower knows of its garden.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Map {
    /// Rises when the map changes.
    pub revision: u64,
    /// Where the dock stands.
    pub dock: Point,
    /// The areas it can mow.
    pub areas: Vec<Area>,
}

/// One area.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Area {
    /// Its id.
    pub id: Uuid,
    /// Its name.
    pub name: String,
    /// The outline, counter-clockwise, without repeating the first point.
    pub outline: Vec<Point>,
    /// What stands in it, each an outline of its own.
    #[serde(default)]
    pub obstacles: Vec<Vec<Point>>,
}

//! The garden a simulated mower is given when no map is.

use uuid::Uuid;

use super::geometry::{contains, nearest_on_outline, signed_area};
use crate::contract::{Area, Map, Point};

/// A rectangle of lawn with the dock in the middle of its southern border.
/// The area's id follows from the mower's, so that it is the same at each start.
pub(super) fn rectangle(mower_id: Uuid, width_m: f64, height_m: f64) -> Map {
    Map {
        revision: 1,
        dock: Point::new(width_m / 2.0, 0.0),
        areas: vec![Area {
            id: area_id(mower_id, 1),
            name: "Lawn".to_owned(),
            outline: vec![
                Point::new(0.0, 0.0),
                Point::new(width_m, 0.0),
                Point::new(width_m, height_m),
                Point::new(0.0, height_m),
            ],
            obstacles: Vec::new(),
        }],
    }
}

/// The id of the `number`th area of a mower's own garden, from 1.
#[must_use]
pub fn area_id(mower_id: Uuid, number: u32) -> Uuid {
    Uuid::new_v5(&mower_id, format!("area-{number}").as_bytes())
}

/// The direction out of the dock: into the nearest area, square to its border.
pub(super) fn way_out(map: &Map) -> Point {
    let nearest = map
        .areas
        .iter()
        .filter_map(|area| {
            let point = nearest_on_outline(&area.outline, map.dock)?;
            Some((area, point, point.distance(map.dock)))
        })
        .min_by(|a, b| a.2.total_cmp(&b.2));
    let Some((area, border, distance)) = nearest else {
        return Point::new(0.0, 1.0);
    };
    if distance > 0.01 {
        // A dock inside the area looks away from its border.
        let out = border.minus(map.dock).times(1.0 / distance);
        return if contains(&area.outline, map.dock) {
            out.times(-1.0)
        } else {
            out
        };
    }
    super::geometry::edges(&area.outline)
        .filter(|(a, b)| a.distance(*b) > 0.0)
        .min_by(|(a, b), (c, d)| {
            let to = |p: &Point, q: &Point| {
                super::geometry::nearest_on(*p, *q, map.dock).distance(map.dock)
            };
            to(a, b).total_cmp(&to(c, d))
        })
        .map_or(Point::new(0.0, 1.0), |(a, b)| {
            let along = b.minus(a).times(1.0 / a.distance(b));
            let inward = if signed_area(&area.outline) >= 0.0 {
                1.0
            } else {
                -1.0
            };
            along.left().times(inward)
        })
}

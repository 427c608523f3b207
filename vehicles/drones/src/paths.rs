//! The path each drone of a mission flies: start, then every waypoint shifted
//! to its lane or slot.

use crate::contract::state::SwarmState;
use crate::contract::{Formation, MissionRequest, MissionType, drone_id};
use crate::geometry::{Point, round};

#[cfg(test)]
pub(crate) mod tests;

/// Distance between neighboring pads, in meters.
pub const PAD_SPACING_METERS: f64 = 3.0;

/// One drone's path.
#[derive(Debug, Clone, PartialEq)]
pub struct FlownPath {
    /// Which drone.
    pub drone_id: String,
    /// Its start was reported by the swarm; false: it is assumed on its pad.
    pub reported: bool,
    /// The start, then every point it flies to, in straight lines.
    pub points: Vec<Point>,
}

impl FlownPath {
    /// Length in meters, not rounded.
    #[must_use]
    pub fn length(&self) -> f64 {
        length(&self.points)
    }

    /// Length in meters, to two decimals, as previews state it.
    #[must_use]
    pub fn stated_length(&self) -> f64 {
        round(self.length(), 2)
    }

    /// Where it starts.
    #[must_use]
    pub fn start(&self) -> Point {
        self.points.first().copied().unwrap_or_default()
    }
}

/// The launch pad of the drone with this index.
#[must_use]
pub fn pad(index: u32) -> Point {
    Point::new(0.0, PAD_SPACING_METERS * f64::from(index), 0.0)
}

/// How far the drone with this index flies beside the route. Fixed in the world
/// frame: lanes and slots do not turn with the direction of travel.
#[must_use]
pub fn offset(kind: MissionType, formation: Formation, spacing: f64, index: u32) -> Point {
    match (kind, formation) {
        (MissionType::Waypoint, _) => Point::new(0.0, f64::from(index) * spacing, 0.0),
        (MissionType::Formation, Formation::Line) => {
            Point::new(-spacing * f64::from(index), 0.0, 0.0)
        }
        (MissionType::Formation, Formation::V) => {
            let rank = f64::from(index.div_ceil(2));
            let side = if index % 2 == 1 { 1.0 } else { -1.0 };
            Point::new(-spacing * rank, side * spacing * rank, 0.0)
        }
    }
}

/// The paths of all drones of a mission, from where the swarm reports them.
#[must_use]
pub fn flown_paths(request: &MissionRequest, state: &SwarmState) -> Vec<FlownPath> {
    (0..request.drone_count)
        .map(|index| {
            let id = drone_id(index);
            let report = state.drone(&id);
            let shift = offset(
                request.kind,
                request.formation,
                request.spacing_meters,
                index,
            );
            let start = report.map_or_else(|| pad(index), |drone| drone.position);
            let route = request.waypoints.iter().map(|point| point.plus(shift));
            FlownPath {
                drone_id: id,
                reported: report.is_some(),
                points: std::iter::once(start).chain(route).collect(),
            }
        })
        .collect()
}

/// The length of a walk along `points`, in meters.
#[must_use]
pub fn length(points: &[Point]) -> f64 {
    segments(points).map(|(from, to)| from.distance(to)).sum()
}

/// The straight pieces between neighboring points.
pub(crate) fn segments(points: &[Point]) -> impl Iterator<Item = (Point, Point)> + '_ {
    points.iter().copied().zip(points.iter().copied().skip(1))
}

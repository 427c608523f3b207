//! The limits of a mission, and the reading of requests against them.
//!
//! Every fault of a request is found and said together. Limits bind what is
//! flown: each lane- or slot-shifted point of each drone, not only the route,
//! and the place each drone starts from.

use interlock_guard::json::Json;
use serde::{Deserialize, Serialize};

use crate::contract::{Command, Formation, MissionRequest, MissionType, drone_id};
use crate::fence::Placed;
use crate::geometry::Point;
use crate::paths::offset;

mod fields;

#[cfg(test)]
mod tests;

use fields::{Fields, quoted};

/// Bounds that every mission keeps. Configured, and checked at start.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Most drones in one mission.
    pub max_drone_count: u32,
    /// Highest point, in meters.
    pub max_altitude_meters: f64,
    /// Farthest from the origin on the ground plane, in meters.
    pub geofence_radius_meters: f64,
    /// Most waypoints in one route.
    pub max_waypoints: usize,
    /// Longest name, in characters.
    pub max_name_length: usize,
    /// Widest lanes or slots, in meters.
    pub max_spacing_meters: f64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_drone_count: 5,
            max_altitude_meters: 120.0,
            geofence_radius_meters: 1000.0,
            max_waypoints: 100,
            max_name_length: 200,
            max_spacing_meters: 200.0,
        }
    }
}

/// Lanes and slots are this far apart when a request does not say.
pub const DEFAULT_SPACING_METERS: f64 = 2.0;

/// The most drones a configuration may allow: the check of one pair costs the
/// length of both routes, and all pairs are checked.
const MOST_DRONES: u32 = 100;

/// Everything wrong with a request, one sentence each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Faults(pub Vec<String>);

impl Limits {
    /// Checks the limits themselves.
    ///
    /// # Errors
    /// Every limit that is not a positive, finite number or is out of reason.
    pub fn check(&self) -> Result<(), Faults> {
        let mut faults = Vec::new();
        for (name, value, most) in [
            ("max_altitude_meters", self.max_altitude_meters, 10_000.0),
            (
                "geofence_radius_meters",
                self.geofence_radius_meters,
                100_000.0,
            ),
            ("max_spacing_meters", self.max_spacing_meters, 100_000.0),
        ] {
            if !(value > 0.0 && value <= most) {
                faults.push(format!(
                    "`{name}` must be above 0 and at most {most}, not {value}"
                ));
            }
        }
        if !(1..=MOST_DRONES).contains(&self.max_drone_count) {
            let count = self.max_drone_count;
            faults.push(format!(
                "`max_drone_count` must be 1 to {MOST_DRONES}, not {count}"
            ));
        }
        for (name, value) in [
            ("max_waypoints", self.max_waypoints),
            ("max_name_length", self.max_name_length),
        ] {
            if !(1..=10_000).contains(&value) {
                faults.push(format!("`{name}` must be 1 to 10000, not {value}"));
            }
        }
        finish(faults, ())
    }

    /// Reads the body of a mission or plan request.
    ///
    /// # Errors
    /// Every fault found; the JSON parser's own message when it is not JSON.
    pub fn read_mission(&self, body: &[u8]) -> Result<MissionRequest, Faults> {
        let mut faults = Vec::new();
        let Some(mut fields) = Fields::open(body, &mut faults) else {
            return Err(Faults(faults));
        };
        let name = self.name(fields.take("name"), &mut faults);
        let kind = choice(
            "type",
            fields.take("type"),
            "`waypoint` or `formation`",
            MissionType::from_request_name,
            &mut faults,
        );
        let formation = match fields.take("formation") {
            None | Some(Json::Null) => Some(Formation::Line),
            given => choice(
                "formation",
                given,
                "`line`, `v` or null",
                Formation::from_request_name,
                &mut faults,
            ),
        };
        let waypoints = self.waypoints(fields.take("waypoints"), &mut faults);
        let drone_count = self.drone_count(fields.take("droneCount"), &mut faults);
        let spacing_meters = self.spacing(fields.take("spacingMeters"), &mut faults);
        fields.refuse_rest(&mut faults);
        let (
            Some(name),
            Some(kind),
            Some(formation),
            Some(waypoints),
            Some(drone_count),
            Some(spacing_meters),
        ) = (
            name,
            kind,
            formation,
            waypoints,
            drone_count,
            spacing_meters,
        )
        else {
            return Err(Faults(faults));
        };
        let request = MissionRequest {
            name,
            kind,
            formation,
            waypoints,
            drone_count,
            spacing_meters,
        };
        self.check_flown(&request, &mut faults);
        finish(faults, request)
    }

    fn name(&self, given: Option<Json>, faults: &mut Vec<String>) -> Option<String> {
        let name = fields::text("name", given, faults)?;
        let length = name.chars().count();
        let trimmed = name.trim();
        if length > self.max_name_length {
            let most = self.max_name_length;
            faults.push(format!(
                "`name` must have at most {most} characters, not {length}"
            ));
            return None;
        }
        if trimmed.is_empty() {
            faults.push("`name` must not be blank".to_owned());
            return None;
        }
        Some(trimmed.to_owned())
    }

    fn waypoints(&self, given: Option<Json>, faults: &mut Vec<String>) -> Option<Vec<Point>> {
        let list = fields::list("waypoints", given, faults)?;
        let most = self.max_waypoints;
        if list.is_empty() || list.len() > most {
            let count = list.len();
            faults.push(format!(
                "`waypoints` must have 1 to {most} points, not {count}"
            ));
            return None;
        }
        let count = list.len();
        let mut points = Vec::with_capacity(count);
        for (index, item) in list.into_iter().enumerate() {
            let Some(point) = fields::point(index, item, faults) else {
                continue;
            };
            let found = self.point_faults(&format!("`waypoints[{index}]`"), point);
            if found.is_empty() {
                points.push(point);
            }
            faults.extend(found);
        }
        (points.len() == count).then_some(points)
    }

    fn drone_count(&self, given: Option<Json>, faults: &mut Vec<String>) -> Option<u32> {
        let most = self.max_drone_count;
        let fault = match given {
            None => "`droneCount` is required".to_owned(),
            Some(Json::Number(number)) => {
                match number.as_u64().and_then(|n| u32::try_from(n).ok()) {
                    Some(count) if (1..=most).contains(&count) => return Some(count),
                    _ => format!(
                        "`droneCount` must be a whole number from 1 to {most}, not {number}"
                    ),
                }
            }
            Some(other) => format!("`droneCount` must be a whole number, not {}", other.kind()),
        };
        faults.push(fault);
        None
    }

    fn spacing(&self, given: Option<Json>, faults: &mut Vec<String>) -> Option<f64> {
        let Some(given) = given else {
            return Some(DEFAULT_SPACING_METERS);
        };
        let meters = fields::number("`spacingMeters`", given, faults)?;
        let most = self.max_spacing_meters;
        if meters > 0.0 && meters <= most {
            return Some(meters);
        }
        faults.push(format!(
            "`spacingMeters` must be above 0 and at most {most} m, not {meters}"
        ));
        None
    }

    /// One sentence for each drone that would start outside these limits. On the ground, or in a
    /// hollow below the origin, is no fault.
    #[must_use]
    pub fn start_faults(&self, starts: &[Placed]) -> Vec<String> {
        let faults = starts.iter().flat_map(|start| {
            let point = start.point();
            let lifted = Point {
                z: if point.z <= 0.0 {
                    self.max_altitude_meters
                } else {
                    point.z
                },
                ..point
            };
            self.point_faults(&format!("the start of {}", start.drone_id), lifted)
        });
        faults.collect()
    }

    fn point_faults(&self, what: &str, point: Point) -> Vec<String> {
        let mut faults = Vec::new();
        let (highest, radius) = (self.max_altitude_meters, self.geofence_radius_meters);
        if !(point.z > 0.0 && point.z <= highest) {
            let z = point.z;
            faults.push(format!(
                "{what} must be above 0 m and at most {highest} m high, not {z} m"
            ));
        }
        let out = point.horizontal();
        if out.is_nan() || out > radius {
            faults.push(format!(
                "{what} is {out:.1} m from the origin, outside the geofence of {radius} m"
            ));
        }
        faults
    }

    /// One sentence for each drone whose shifted route leaves the geofence.
    fn check_flown(&self, request: &MissionRequest, faults: &mut Vec<String>) {
        for drone in 0..request.drone_count {
            let shift = offset(
                request.kind,
                request.formation,
                request.spacing_meters,
                drone,
            );
            let mut outside = request
                .waypoints
                .iter()
                .enumerate()
                .map(|(index, point)| (index, point.plus(shift)))
                .filter(|(_, flown)| !self.point_faults("", *flown).is_empty());
            let Some((index, flown)) = outside.next() else {
                continue;
            };
            let more = outside.count();
            let id = drone_id(drone);
            let also = if more == 0 {
                String::new()
            } else {
                format!(" (and {more} more of its points)")
            };
            for fault in self.point_faults(&format!("`waypoints[{index}]` as {id} flies it"), flown)
            {
                faults.push(format!("{fault}{also}"));
            }
        }
    }
}

/// Reads the optional body of an abort; none, `{}`, null and `""` mean [`Command::Rtl`].
///
/// # Errors
/// An unknown action or field, or a body that is not a JSON object.
pub fn read_abort(body: &[u8]) -> Result<Command, Faults> {
    if body.trim_ascii().is_empty() {
        return Ok(Command::Rtl);
    }
    let mut faults = Vec::new();
    let Some(mut fields) = Fields::open(body, &mut faults) else {
        return Err(Faults(faults));
    };
    let command = match fields.take("action") {
        None | Some(Json::Null) => Some(Command::Rtl),
        Some(Json::Text(text)) if text.is_empty() => Some(Command::Rtl),
        given => choice(
            "action",
            given,
            "`rtl`, `land` or `hold`",
            Command::from_request_name,
            &mut faults,
        ),
    };
    fields.refuse_rest(&mut faults);
    match command {
        Some(command) if faults.is_empty() => Ok(command),
        _ => Err(Faults(faults)),
    }
}

fn choice<T>(
    name: &str,
    given: Option<Json>,
    choices: &str,
    read: impl FnOnce(&str) -> Option<T>,
    faults: &mut Vec<String>,
) -> Option<T> {
    let text = fields::text(name, given, faults)?;
    let chosen = read(&text);
    if chosen.is_none() {
        let text = quoted(&text);
        faults.push(format!("`{name}` must be {choices}, not {text}"));
    }
    chosen
}

fn finish<T>(faults: Vec<String>, value: T) -> Result<T, Faults> {
    if faults.is_empty() {
        Ok(value)
    } else {
        Err(Faults(faults))
    }
}

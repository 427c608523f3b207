//! What a mission would do if it started now, for a person to judge.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::approach::{Approach, EPSILON_METERS, Motion, closest};
use crate::contract::MissionRequest;
use crate::contract::state::{DroneReport, SwarmState};
use crate::fence::Fence;
use crate::geometry::{Point, round};
use crate::paths::{FlownPath, flown_paths};

mod assumptions;

#[cfg(test)]
mod tests;

/// Two drones closer than this conflict; exactly this far apart is allowed.
pub const MIN_SEPARATION_METERS: f64 = 2.0;

/// The speed all drones are assumed to keep, in meters per second.
pub const NOMINAL_SPEED: f64 = 2.0;

/// The answer to a preview.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Previewed {
    /// What would happen.
    pub preview: Preview,
    /// What is compared before the mission is flown.
    pub fence: Fence,
    /// Some drones would come too close: the mission must not be flown.
    pub conflicted: bool,
}

/// What a mission would do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// Every drone's path.
    pub drones: Vec<DronePreview>,
    /// Until the last drone is at its last point, to one decimal.
    pub estimated_duration_seconds: f64,
    /// The smallest distance of any planned drone to any other drone, to two
    /// decimals; null when there is no other.
    pub min_separation_meters: Option<f64>,
    /// Every pair that comes too close, in order of time.
    pub conflicts: Vec<Conflict>,
    /// What the above takes for granted, in sentences.
    pub assumptions: Vec<String>,
}

/// One drone's path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DronePreview {
    /// Which drone.
    pub drone_id: String,
    /// Its start and every point it flies to.
    pub path: Vec<Point>,
    /// To two decimals.
    pub length_meters: f64,
}

/// Two drones that come too close.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Conflict {
    /// A drone of the mission.
    pub drone_a: String,
    /// Another one, or a drone that is not part of the mission.
    pub drone_b: String,
    /// When they are closest for the first time, to one decimal.
    pub at_seconds: f64,
    /// How close, to two decimals.
    pub distance_meters: f64,
}

/// Previews a mission from where the swarm is reported, at stop epoch
/// `stop_epoch`. Drones that are not part of it count where they are.
#[must_use]
pub fn preview(
    request: &MissionRequest,
    state: &SwarmState,
    stop_epoch: u64,
    now: Timestamp,
) -> Previewed {
    let paths = flown_paths(request, state);
    let others: Vec<&DroneReport> = state
        .drones
        .iter()
        .filter(|drone| !paths.iter().any(|path| path.drone_id == drone.id))
        .collect();
    let pairs = approaches(&paths, &others);
    let conflicts = conflicts(&pairs);
    let longest = paths
        .iter()
        .map(FlownPath::stated_length)
        .fold(0.0, f64::max);
    Previewed {
        fence: Fence::take(&paths, &others, state, stop_epoch, now),
        conflicted: !conflicts.is_empty(),
        preview: Preview {
            estimated_duration_seconds: round(longest / NOMINAL_SPEED, 1),
            min_separation_meters: pairs
                .iter()
                .map(|pair| pair.approach.meters)
                .reduce(f64::min)
                .map(|meters| round(meters, 2)),
            conflicts,
            assumptions: assumptions::sentences(&paths, &others, state, now),
            drones: paths
                .into_iter()
                .map(|path| DronePreview {
                    length_meters: path.stated_length(),
                    drone_id: path.drone_id,
                    path: path.points,
                })
                .collect(),
        },
    }
}

struct Pair<'a> {
    a: &'a str,
    b: &'a str,
    approach: Approach,
}

/// The closest approach of each planned drone to each later planned drone and
/// to each drone outside the plan.
fn approaches<'a>(paths: &'a [FlownPath], others: &[&'a DroneReport]) -> Vec<Pair<'a>> {
    let planned: Vec<(&str, Motion)> = paths
        .iter()
        .map(|path| {
            let motion = Motion::along(&path.points, NOMINAL_SPEED);
            (path.drone_id.as_str(), motion)
        })
        .collect();
    let obstacles: Vec<(&str, Motion)> = others
        .iter()
        .map(|drone| (drone.id.as_str(), Motion::hovering(drone.position)))
        .collect();
    let mut pairs = Vec::new();
    let mut rest = planned.as_slice();
    while let [(a, motion), later @ ..] = rest {
        pairs.extend(later.iter().chain(&obstacles).map(|(b, other)| Pair {
            a,
            b,
            approach: closest(motion, other),
        }));
        rest = later;
    }
    pairs
}

fn conflicts(pairs: &[Pair<'_>]) -> Vec<Conflict> {
    let mut close: Vec<&Pair<'_>> = pairs
        .iter()
        .filter(|pair| pair.approach.meters < MIN_SEPARATION_METERS - EPSILON_METERS)
        .collect();
    close.sort_by(|one, two| one.approach.seconds.total_cmp(&two.approach.seconds));
    close
        .into_iter()
        .map(|pair| Conflict {
            drone_a: pair.a.to_owned(),
            drone_b: pair.b.to_owned(),
            at_seconds: round(pair.approach.seconds, 1),
            distance_meters: round(pair.approach.meters, 2),
        })
        .collect()
}

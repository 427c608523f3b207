//! What a preview takes for granted, said so that a person can doubt it.

use jiff::Timestamp;

use super::NOMINAL_SPEED;
use crate::contract::state::{DroneReport, DroneStatus, SwarmState};
use crate::fence::STALE_AFTER_SECONDS;
use crate::geometry::Point;
use crate::paths::FlownPath;

/// The sentences, general ones first.
pub(super) fn sentences(
    paths: &[FlownPath],
    others: &[&DroneReport],
    state: &SwarmState,
    now: Timestamp,
) -> Vec<String> {
    let mut said = vec![
        format!(
            "{} fly it; the swarm may put another drone in the place of one with a low battery.",
            names(paths.iter().map(|path| path.drone_id.as_str()))
        ),
        format!(
            "All leave together, keep {NOMINAL_SPEED:.1} m/s in straight lines from where they \
             stand, and hover at their last point; followers that chase their leader instead \
             may come closer than said here."
        ),
        "Returning and landing are not part of the check.".to_owned(),
    ];
    if !state.bridge.is_live() {
        said.push(match state.age_seconds(now) {
            Some(age) => format!(
                "The swarm link is disconnected: every position is the last one reported, \
                 {age:.1} s ago."
            ),
            None => "The swarm link is disconnected and no position was ever reported.".to_owned(),
        });
    }
    let absent: Vec<String> = paths
        .iter()
        .filter(|path| !path.reported)
        .map(|path| format!("{} at {}", path.drone_id, place(path.start())))
        .collect();
    if !absent.is_empty() {
        said.push(format!(
            "Not reported by the swarm and placed on their pads: {}.",
            absent.join(", ")
        ));
    }
    for drone in &state.drones {
        let age = drone.age_seconds(now);
        if age > STALE_AFTER_SECONDS {
            said.push(format!("The position of {} is {age:.1} s old.", drone.id));
        }
    }
    for drone in others {
        let (id, at) = (&drone.id, place(drone.position));
        said.push(if stays(drone.status()) {
            format!("{id} is not part of the mission and counts as an obstacle at {at}.")
        } else {
            format!(
                "{id} is not part of the mission and moves; it counts as an obstacle at {at}, \
                 where it was last reported."
            )
        });
    }
    said
}

fn stays(status: DroneStatus) -> bool {
    matches!(
        status,
        DroneStatus::Idle | DroneStatus::Holding | DroneStatus::Landed
    )
}

fn names<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    ids.collect::<Vec<_>>().join(", ")
}

fn place(point: Point) -> String {
    format!("({:.1}, {:.1}, {:.1})", point.x, point.y, point.z)
}

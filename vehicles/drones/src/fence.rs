//! What a preview saw, kept to be compared with what is there when the mission
//! is about to be flown.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::contract::state::{BridgeMode, DroneReport, DroneStatus, SwarmState};
use crate::geometry::{Point, round};
use crate::paths::FlownPath;
use crate::preview::{Conflict, Previewed};

#[cfg(test)]
mod tests;

/// A report older than this, in seconds, is no ground to fly on.
pub const STALE_AFTER_SECONDS: f64 = 2.0;

/// A drone may have moved this far, in meters, since it was previewed.
pub const START_TOLERANCE_METERS: f64 = 0.5;

/// What a preview saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Fence {
    /// The number of stops so far.
    pub stop_epoch: u64,
    /// See [`path_hash`].
    pub path_hash: String,
    /// Where each drone of the mission starts.
    pub starts: Vec<Placed>,
    /// When the preview was made.
    pub taken_at: Timestamp,
    /// How the service was tied to the swarm.
    pub bridge_mode: BridgeMode,
    /// Where each drone outside the mission was.
    pub others: Vec<Placed>,
}

/// A drone at a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Placed {
    /// Which drone.
    pub drone_id: String,
    /// East, in meters.
    pub x: f64,
    /// North, in meters.
    pub y: f64,
    /// Up, in meters.
    pub z: f64,
    /// How old the report was, to one decimal; null: not reported, assumed on
    /// its pad.
    pub age_seconds: Option<f64>,
}

/// Why a mission must not be flown as previewed.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum FenceBreach {
    /// A stop, or a crash that may have hidden one, came after the preview.
    #[error(
        "the swarm was stopped, or its service broke off, after the preview \
         (stop epoch {then}, now {now})"
    )]
    StoppedSince {
        /// Stops at the preview.
        then: u64,
        /// Stops now.
        now: u64,
    },
    /// No live link, or the last report is too old.
    #[error("{}", stale_sentence(*.age))]
    Stale {
        /// Age of the oldest report that matters, in seconds; `None`: there is none.
        age: Option<f64>,
    },
    /// The swarm does not report a drone that should fly.
    #[error("the swarm does not report {drone}")]
    Unreported {
        /// Which drone.
        drone: String,
    },
    /// A drone is not at rest, so where it is says nothing of where it will be.
    #[error("{drone} is not at rest ({status:?}); every drone must have landed or hold its place")]
    Moving {
        /// Which drone.
        drone: String,
        /// What it does.
        status: DroneStatus,
    },
    /// A drone is not where the preview saw it.
    #[error(
        "{drone} is {meters:.2} m from where the preview saw it; \
         {START_TOLERANCE_METERS} m are allowed"
    )]
    Moved {
        /// Which drone.
        drone: String,
        /// How far, in meters.
        meters: f64,
    },
    /// The planner now gives other paths for the same mission.
    #[error("the paths are not those that were previewed")]
    PathChanged,
    /// From where the drones are now, some would come too close.
    #[error("{} pair(s) of drones would come too close", .0.len())]
    Conflicting(Vec<Conflict>),
}

fn stale_sentence(age: Option<f64>) -> String {
    match age {
        Some(age) => format!(
            "the swarm's positions are {age:.1} s old or its link is down; \
             at most {STALE_AFTER_SECONDS} s are allowed"
        ),
        None => "the swarm has not reported any position".to_owned(),
    }
}

impl Fence {
    /// What a preview made `now` saw.
    #[must_use]
    pub fn take(
        paths: &[FlownPath],
        others: &[&DroneReport],
        state: &SwarmState,
        stop_epoch: u64,
        now: Timestamp,
    ) -> Self {
        let age = |drone: &DroneReport| round(drone.age_seconds(now), 1);
        Self {
            stop_epoch,
            path_hash: path_hash(paths),
            starts: paths
                .iter()
                .map(|path| {
                    let report = state.drone(&path.drone_id);
                    Placed::at(&path.drone_id, path.start(), report.map(age))
                })
                .collect(),
            taken_at: now,
            bridge_mode: state.bridge,
            others: others
                .iter()
                .map(|drone| Placed::at(&drone.id, drone.position, Some(age(drone))))
                .collect(),
        }
    }

    /// Compares this fence with a preview of the same mission made just now
    /// from `state`.
    ///
    /// # Errors
    /// The first reason not to fly: stopped since, unreported, stale, moving, moved,
    /// path changed, conflicting, in this order.
    pub fn compare(
        &self,
        fresh: &Previewed,
        state: &SwarmState,
        now: Timestamp,
    ) -> Result<(), FenceBreach> {
        if self.stop_epoch != fresh.fence.stop_epoch {
            return Err(FenceBreach::StoppedSince {
                then: self.stop_epoch,
                now: fresh.fence.stop_epoch,
            });
        }
        check_present(fresh, state, now)?;
        for start in &fresh.fence.starts {
            let seen = self
                .starts
                .iter()
                .find(|old| old.drone_id == start.drone_id);
            let seen = seen.ok_or(FenceBreach::PathChanged)?;
            let meters = seen.point().distance(start.point());
            // A NaN, which no preview writes, must not pass as near.
            if meters.is_nan() || meters > START_TOLERANCE_METERS {
                return Err(FenceBreach::Moved {
                    drone: start.drone_id.clone(),
                    meters,
                });
            }
        }
        if self.path_hash != fresh.fence.path_hash || self.starts.len() != fresh.fence.starts.len()
        {
            return Err(FenceBreach::PathChanged);
        }
        check_conflicts(fresh)
    }
}

impl Previewed {
    /// Whether a mission that nobody previewed before, `self` being its preview
    /// made just now from `state`, may fly.
    ///
    /// # Errors
    /// Unreported, stale, moving or conflicting, in this order.
    pub fn check_direct(&self, state: &SwarmState, now: Timestamp) -> Result<(), FenceBreach> {
        check_present(self, state, now)?;
        check_conflicts(self)
    }
}

impl Placed {
    fn at(id: &str, point: Point, age_seconds: Option<f64>) -> Self {
        Self {
            drone_id: id.to_owned(),
            x: point.x,
            y: point.y,
            z: point.z,
            age_seconds,
        }
    }

    /// The place.
    #[must_use]
    pub fn point(&self) -> Point {
        Point::new(self.x, self.y, self.z)
    }
}

/// Present positions of all drones that matter: those that are to fly, and
/// those outside the mission that were not on the ground when last heard. All
/// of them at rest.
fn check_present(fresh: &Previewed, state: &SwarmState, now: Timestamp) -> Result<(), FenceBreach> {
    let mut oldest = state.age_seconds(now);
    if oldest.is_none() || !state.bridge.is_live() {
        return Err(FenceBreach::Stale { age: oldest });
    }
    for start in &fresh.fence.starts {
        if state.drone(&start.drone_id).is_none() {
            return Err(FenceBreach::Unreported {
                drone: start.drone_id.clone(),
            });
        }
    }
    for drone in &state.drones {
        let flies = fresh
            .fence
            .starts
            .iter()
            .any(|start| start.drone_id == drone.id);
        if flies || drone.status() != DroneStatus::Landed {
            oldest = oldest.map(|age| age.max(drone.age_seconds(now)));
        }
    }
    if oldest.is_none_or(|age| age.is_nan() || age > STALE_AFTER_SECONDS) {
        return Err(FenceBreach::Stale { age: oldest });
    }
    // The preview takes every other drone for standing where it is, and every start for a start.
    let moving = state.drones.iter().find(|drone| {
        let status = drone.status();
        !matches!(
            status,
            DroneStatus::Landed | DroneStatus::Idle | DroneStatus::Holding
        )
    });
    match moving {
        None => Ok(()),
        Some(drone) => Err(FenceBreach::Moving {
            drone: drone.id.clone(),
            status: drone.status(),
        }),
    }
}

fn check_conflicts(fresh: &Previewed) -> Result<(), FenceBreach> {
    if fresh.preview.conflicts.is_empty() {
        Ok(())
    } else {
        Err(FenceBreach::Conflicting(fresh.preview.conflicts.clone()))
    }
}

/// The hash of everything the drones are told to fly to: hex SHA-256 over each
/// drone's id and points, lengths and counts as 32-bit and coordinates as
/// IEEE 754 64-bit numbers, big-endian.
///
/// Starts are left out. They are compared on their own, with a tolerance: a
/// drone on its pad is never twice at the very same place.
#[must_use]
pub fn path_hash(paths: &[FlownPath]) -> String {
    let mut hash = Sha256::new();
    hash.update(b"interlock-drones paths 1\n");
    hash.update(count(paths.len()));
    for path in paths {
        let flown = path.points.get(1..).unwrap_or_default();
        hash.update(count(path.drone_id.len()));
        hash.update(path.drone_id.as_bytes());
        hash.update(count(flown.len()));
        for point in flown {
            for coordinate in [point.x, point.y, point.z] {
                hash.update(coordinate.to_be_bytes());
            }
        }
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Limits keep every count far below this; saturating beats a panic.
fn count(length: usize) -> [u8; 4] {
    u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes()
}

//! What callers ask and what they are answered, with the names JSON uses.
//!
//! Requests are read in [`crate::limits`]; a value of a type here is valid.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::geometry::Point;

pub mod state;

#[cfg(test)]
mod tests;

/// How the drones of a mission share its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MissionType {
    /// Each drone flies the route on a lane of its own.
    #[serde(rename = "WaypointFollow")]
    Waypoint,
    /// The first drone flies the route, the others keep a slot behind it.
    #[serde(rename = "LeaderFollowerFormation")]
    Formation,
}

impl MissionType {
    /// The name a request and the swarm link use.
    #[must_use]
    pub fn request_name(self) -> &'static str {
        match self {
            Self::Waypoint => "waypoint",
            Self::Formation => "formation",
        }
    }

    /// The type a request calls `name`.
    #[must_use]
    pub fn from_request_name(name: &str) -> Option<Self> {
        match name {
            "waypoint" => Some(Self::Waypoint),
            "formation" => Some(Self::Formation),
            _ => None,
        }
    }
}

/// The shape of a formation; without meaning for a waypoint mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Formation {
    /// One behind the other.
    Line,
    /// Two wings behind the leader.
    V,
}

impl Formation {
    /// The name a request and the swarm link use.
    #[must_use]
    pub fn request_name(self) -> &'static str {
        match self {
            Self::Line => "line",
            Self::V => "v",
        }
    }

    /// The formation a request calls `name`.
    #[must_use]
    pub fn from_request_name(name: &str) -> Option<Self> {
        match name {
            "line" => Some(Self::Line),
            "v" => Some(Self::V),
            _ => None,
        }
    }
}

/// A mission as asked for: valid, and within the limits on every flown path.
/// Only [`crate::limits`] makes one.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct MissionRequest {
    /// Trimmed, not blank; a label without effect.
    pub name: String,
    /// How the drones share the route.
    pub kind: MissionType,
    /// The shape; [`Formation::Line`] when none was given.
    pub formation: Formation,
    /// The route, 1 or more points.
    pub waypoints: Vec<Point>,
    /// How many drones fly, 1 or more.
    pub drone_count: u32,
    /// Distance between lanes or slots, in meters.
    pub spacing_meters: f64,
}

/// The name of the drone with this index, counted from 0: `drone_1`, `drone_2`.
#[must_use]
pub fn drone_id(index: u32) -> String {
    format!("drone_{}", u64::from(index) + 1)
}

/// Where a mission stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MissionStatus {
    /// Sent to the swarm and not known to have ended.
    Active,
    /// All its drones have landed after the route.
    Completed,
    /// Ended by a stop.
    Aborted,
}

/// A mission as answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Mission {
    /// The operation that started it; also its id on the swarm link.
    pub id: Uuid,
    /// Its label.
    pub name: String,
    /// How the drones share the route.
    #[serde(rename = "type")]
    pub kind: MissionType,
    /// The shape.
    pub formation: Formation,
    /// The route as asked.
    pub waypoints: Vec<Point>,
    /// How many drones fly.
    pub drone_count: u32,
    /// Distance between lanes or slots, in meters.
    pub spacing_meters: f64,
    /// When it was started.
    pub created_at_utc: Timestamp,
    /// Where it stands.
    pub status: MissionStatus,
    /// When it ended, if it has.
    pub ended_at_utc: Option<Timestamp>,
}

impl Mission {
    /// The mission that `request` becomes when it is started `now`.
    #[must_use]
    pub fn started(id: Uuid, request: &MissionRequest, now: Timestamp) -> Self {
        Self {
            id,
            name: request.name.clone(),
            kind: request.kind,
            formation: request.formation,
            waypoints: request.waypoints.clone(),
            drone_count: request.drone_count,
            spacing_meters: request.spacing_meters,
            created_at_utc: now,
            status: MissionStatus::Active,
            ended_at_utc: None,
        }
    }
}

/// What makes flying drones stop flying a mission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Command {
    /// Return to the launch pad and land there.
    Rtl,
    /// Land in place.
    Land,
    /// Stay in place in the air.
    Hold,
}

impl Command {
    /// The name a request and the swarm link use.
    #[must_use]
    pub fn request_name(self) -> &'static str {
        match self {
            Self::Rtl => "rtl",
            Self::Land => "land",
            Self::Hold => "hold",
        }
    }

    /// The command a request calls `name`.
    #[must_use]
    pub fn from_request_name(name: &str) -> Option<Self> {
        match name {
            "rtl" => Some(Self::Rtl),
            "land" => Some(Self::Land),
            "hold" => Some(Self::Hold),
            _ => None,
        }
    }
}

/// Whether one drone acknowledged a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DroneAck {
    /// Which drone.
    pub drone_id: String,
    /// False: it may still fly as before.
    pub acknowledged: bool,
}

/// The answer to a land-all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LandAnswer {
    /// Always [`Command::Land`].
    pub command: Command,
    /// False: sent, but the stop is not yet durable at the service.
    pub recorded: bool,
    /// What each drone acknowledged.
    pub drones: Vec<DroneAck>,
}

/// A mission that an abort ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Aborted {
    /// One of this service's.
    Mission(Mission),
    /// One the swarm reports and this service knows nothing more of.
    Reported {
        /// Its id.
        id: Uuid,
        /// Always [`MissionStatus::Aborted`].
        status: MissionStatus,
    },
}

/// The answer to an abort: the mission, and what was sent for it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AbortAnswer {
    /// The mission, ended.
    #[serde(flatten)]
    pub mission: Aborted,
    /// What was sent.
    pub command: Command,
    /// False: sent, but the stop is not yet durable at the service.
    pub recorded: bool,
    /// What each drone acknowledged.
    pub drones: Vec<DroneAck>,
}

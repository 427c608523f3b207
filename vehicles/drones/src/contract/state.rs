//! What the swarm last reported, and the form in which callers see it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::geometry::Point;

/// How the service is tied to the swarm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum BridgeMode {
    /// A live link to vehicles.
    Connected,
    /// No live link: what is known is what was last reported.
    Disconnected,
    /// A live link to a simulator, which says so itself.
    Simulated,
}

impl BridgeMode {
    /// Whether reports arrive now.
    #[must_use]
    pub fn is_live(self) -> bool {
        self != Self::Disconnected
    }
}

/// What a drone is doing, as callers see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DroneStatus {
    /// It does not say whether its motors are armed.
    Unknown,
    /// On its pad with nothing to do.
    Idle,
    /// Armed and about to lift, or lifting.
    TakingOff,
    /// Flying its mission.
    InFlight,
    /// Staying in place.
    Holding,
    /// On its way back to its pad.
    Returning,
    /// On its way down.
    Landing,
    /// Motors off.
    Landed,
    /// It reports a fault.
    Error,
}

/// One drone as last reported.
#[derive(Debug, Clone, PartialEq)]
pub struct DroneReport {
    /// `drone_<n>`.
    pub id: String,
    /// Where it was.
    pub position: Point,
    /// Whether its motors were armed, where it says.
    pub armed: Option<bool>,
    /// Its flight mode in PX4's words, where it says.
    pub mode: Option<String>,
    /// Charge, where it says.
    pub battery_percent: Option<f64>,
    /// The waypoint it flies to, counted from 0.
    pub waypoint_index: u32,
    /// When this was true: the report's arrival less the age it gave.
    pub updated_at: Timestamp,
}

impl DroneReport {
    /// What the drone is doing, from PX4's flight modes.
    #[must_use]
    pub fn status(&self) -> DroneStatus {
        match (self.armed, self.mode.as_deref()) {
            (None, _) => DroneStatus::Unknown,
            (Some(false), _) => DroneStatus::Landed,
            (Some(true), Some("AUTO.TAKEOFF")) => DroneStatus::TakingOff,
            (Some(true), Some("AUTO.LAND")) => DroneStatus::Landing,
            (Some(true), Some("AUTO.RTL")) => DroneStatus::Returning,
            (Some(true), Some("AUTO.LOITER")) => DroneStatus::Holding,
            (Some(true), _) => DroneStatus::InFlight,
        }
    }

    /// How old this report is, in seconds. A report from the future, left by a
    /// clock set back, is as untrustworthy as one equally far in the past.
    #[must_use]
    pub fn age_seconds(&self, now: Timestamp) -> f64 {
        now.duration_since(self.updated_at).as_secs_f64().abs()
    }
}

/// The mission the swarm says it flies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReportedMission {
    /// Its id on the link.
    pub id: Uuid,
    /// All its drones have landed.
    pub complete: bool,
}

/// Everything the swarm last reported. Kept when the link breaks, and marked.
#[derive(Debug, Clone, PartialEq)]
pub struct SwarmState {
    /// How the service is tied to the swarm now.
    pub bridge: BridgeMode,
    /// Why there is no live link, where that is known.
    pub reason: Option<String>,
    /// Which connection brought the last report, counted from 1; 0: none did.
    ///
    /// A swarm that reports on a new connection obeys nothing that is still on
    /// its way on an older one. What it then does not know, it will never do.
    pub connection: u64,
    /// When the last report arrived; none since start: `None`.
    pub received_at: Option<Timestamp>,
    /// Every drone that reported.
    pub drones: Vec<DroneReport>,
    /// The mission the swarm flies, or flew last.
    pub mission: Option<ReportedMission>,
    /// The last 64 mission ids the swarm ever accepted.
    pub known_missions: Vec<Uuid>,
}

impl SwarmState {
    /// The state before the first report.
    #[must_use]
    pub fn unknown() -> Self {
        Self {
            bridge: BridgeMode::Disconnected,
            reason: Some("no report has arrived yet".to_owned()),
            connection: 0,
            received_at: None,
            drones: Vec::new(),
            mission: None,
            known_missions: Vec::new(),
        }
    }

    /// The drone with this id.
    #[must_use]
    pub fn drone(&self, id: &str) -> Option<&DroneReport> {
        self.drones.iter().find(|drone| drone.id == id)
    }

    /// Seconds since the last report; `None` before the first.
    #[must_use]
    pub fn age_seconds(&self, now: Timestamp) -> Option<f64> {
        self.received_at
            .map(|at| now.duration_since(at).as_secs_f64().abs())
    }

    /// The answer to `GET /api/swarm/state`.
    #[must_use]
    pub fn view(&self, now: Timestamp) -> SwarmView {
        let active = self.mission.filter(|mission| !mission.complete);
        SwarmView {
            drones: self.drones.iter().map(DroneView::from).collect(),
            active_mission_id: active.map(|mission| mission.id),
            active_mission_complete: self.mission.is_some_and(|mission| mission.complete),
            timestamp_utc: now,
            bridge_mode: self.bridge,
            last_state_age_seconds: self.age_seconds(now),
        }
    }
}

/// The swarm as callers see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SwarmView {
    /// Every drone that ever reported on this link.
    pub drones: Vec<DroneView>,
    /// The mission that flies now.
    pub active_mission_id: Option<Uuid>,
    /// The last mission's drones have all landed.
    pub active_mission_complete: bool,
    /// When this was answered.
    pub timestamp_utc: Timestamp,
    /// How the service is tied to the swarm.
    pub bridge_mode: BridgeMode,
    /// Seconds since the last report; null before the first.
    pub last_state_age_seconds: Option<f64>,
}

/// One drone as callers see it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DroneView {
    /// `drone_<n>`.
    pub id: String,
    /// Where it was last.
    pub position: Point,
    /// Charge, where it says.
    pub battery_percent: Option<f64>,
    /// What it is doing.
    pub status: DroneStatus,
    /// Whether its motors are armed, where it says.
    pub armed: Option<bool>,
    /// Its flight mode in PX4's words, where it says.
    pub flight_mode: Option<String>,
    /// The waypoint it flies to, counted from 0.
    pub current_waypoint_index: u32,
    /// When this was true.
    pub last_updated_utc: Timestamp,
}

impl From<&DroneReport> for DroneView {
    fn from(report: &DroneReport) -> Self {
        Self {
            id: report.id.clone(),
            position: report.position,
            battery_percent: report.battery_percent,
            status: report.status(),
            armed: report.armed,
            flight_mode: report.mode.clone(),
            current_waypoint_index: report.waypoint_index,
            last_updated_utc: report.updated_at,
        }
    }
}

//! The one way from the service to the swarm.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::contract::state::SwarmState;
use crate::contract::{Command, DroneAck, Formation, MissionRequest, MissionType};
use crate::geometry::Point;

pub mod protocol;
pub mod tcp;

/// A mission as the swarm gets it.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkMission {
    /// The operation id: the swarm flies an id at most once, ever.
    pub id: Uuid,
    /// How the drones share the route.
    pub kind: MissionType,
    /// The shape.
    pub formation: Formation,
    /// The route, not shifted.
    pub waypoints: Vec<Point>,
    /// How many drones fly.
    pub drone_count: u32,
    /// Distance between lanes or slots, in meters.
    pub spacing_meters: f64,
    /// Where each drone is believed to be, in order of the drones.
    pub starts: Vec<Point>,
}

impl LinkMission {
    /// The mission `request` asks for, from `starts`.
    #[must_use]
    pub fn new(id: Uuid, request: &MissionRequest, starts: Vec<Point>) -> Self {
        Self {
            id,
            kind: request.kind,
            formation: request.formation,
            waypoints: request.waypoints.clone(),
            drone_count: request.drone_count,
            spacing_meters: request.spacing_meters,
            starts,
        }
    }
}

/// What became of something sent to the swarm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LinkOutcome {
    /// Not one byte reached the wire: nothing happened.
    NotSent {
        /// Why.
        reason: String,
    },
    /// The swarm took it.
    Acknowledged {
        /// What each drone said.
        drones: Vec<DroneAck>,
        /// The swarm knew this mission already and did not start it again.
        already_known: bool,
    },
    /// The swarm answered that it does not do it: nothing happened.
    Refused {
        /// Why, in the swarm's words.
        reason: String,
        /// What each drone said.
        drones: Vec<DroneAck>,
    },
    /// Sent at least in part, and no answer in time: it may have happened.
    Unknown {
        /// What is missing.
        reason: String,
    },
}

/// Stands at the wire: what a start must pass in the last instant before its
/// first byte. Neither method may wait.
pub trait StartGate: Send + Sync {
    /// Whether the start is still wanted, now that its turn has come on this
    /// connection. If not, nothing is sent.
    fn wanted(&self, connection: u64) -> bool;

    /// Its last byte has been written.
    fn written(&self) {}
}

/// A link to one swarm.
#[async_trait]
pub trait SwarmLink: Send + Sync {
    /// What the swarm last reported. Never waits.
    fn state(&self) -> Arc<SwarmState>;

    /// Starts a mission if it is still wanted when its turn on the wire comes;
    /// otherwise nothing is sent. Waits at most `deadline` for the swarm's answer.
    async fn start(
        &self,
        mission: &LinkMission,
        gate: Arc<dyn StartGate>,
        deadline: Duration,
    ) -> LinkOutcome;

    /// Stops what flies, whatever that is; `mission` says which mission the
    /// caller meant, for the record. Never waits behind a start.
    async fn command(
        &self,
        command: Command,
        mission: Option<Uuid>,
        deadline: Duration,
    ) -> LinkOutcome;
}

//! The frames on the link: newline-delimited JSON over TCP.
//!
//! Requests go to the swarm, reports come from it. A request with an unknown
//! field is refused, since it may mean something that would not be done; an
//! unknown field in a report is ignored, so that swarms may learn to say more.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use uuid::Uuid;

use super::LinkMission;
use crate::contract::state::{BridgeMode, DroneReport, ReportedMission, SwarmState};
use crate::contract::{Command, DroneAck, Formation, MissionType};
use crate::geometry::Point;

#[cfg(test)]
mod tests;

/// The longest frame, in bytes without its newline.
pub const MAX_FRAME_BYTES: usize = 1024 * 1024;

/// Coordinates beyond this, in meters, are a fault of the sender.
const FARTHEST_METERS: f64 = 1_000_000.0;

/// More drones than this are a fault of the sender.
const MOST_DRONES: usize = 1000;

/// More waypoints than this are a fault of the sender.
const MOST_WAYPOINTS: usize = 10_000;

/// What the service asks of the swarm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "op",
    rename_all = "lowercase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Request {
    /// To be the swarm's one writer.
    Claim {
        /// The service that asks, one id over all its starts.
        writer: Uuid,
        /// The swarm it means.
        swarm: String,
        /// Grows with every start of the same service.
        epoch: u64,
    },
    /// To fly a mission.
    Start {
        /// Names the answer.
        seq: u64,
        /// The mission.
        mission: WireMission,
    },
    /// To stop what flies.
    Command {
        /// Names the answer.
        seq: u64,
        /// How.
        #[serde(with = "command_name")]
        command: Command,
        /// The mission the caller meant.
        #[serde(default)]
        mission_id: Option<Uuid>,
    },
    /// To say how many frames came so far; needs no claim.
    Counters,
}

/// What the swarm says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum Report {
    /// The answer to a claim, or the notice that it is lost.
    Claimed {
        /// Whether this connection writes.
        accepted: bool,
        /// Why not.
        reason: Option<String>,
    },
    /// Where everything is.
    State {
        /// When, in milliseconds since the epoch, by the swarm's clock.
        taken_at_ms: i64,
        /// It is a simulator that reports.
        #[serde(default)]
        simulated: bool,
        /// Every drone.
        drones: Vec<WireDrone>,
        /// The mission it flies, or flew last. Null where there is none; leaving
        /// it out would say nothing, and silence settles no start.
        #[serde(deserialize_with = "Option::deserialize")]
        mission: Option<WireProgress>,
        /// The last 64 mission ids ever accepted, also before a restart of the
        /// swarm. Never left out, as above.
        known_missions: Vec<Uuid>,
    },
    /// The answer to a start or a command.
    Ack {
        /// Of the request.
        seq: u64,
        /// What each drone said.
        drones: Vec<WireAck>,
        /// False: not done, and it will not be.
        accepted: bool,
        /// The mission was accepted before and is not flown again.
        #[serde(default)]
        already_known: bool,
        /// Why not.
        reason: Option<String>,
    },
    /// Frames so far, over all connections.
    Counters {
        /// Start frames, repeated and refused ones too.
        starts: u64,
        /// Missions that began to fly.
        flights: u64,
        /// Command frames.
        commands: u64,
        /// Frames that were not obeyed.
        refused: u64,
        /// Frames that could not be read; they are among the refused.
        #[serde(default)]
        malformed: u64,
    },
    /// A frame could not be read.
    Error {
        /// Why.
        reason: String,
    },
}

/// A mission on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WireMission {
    /// The operation id.
    pub id: Uuid,
    /// `waypoint` or `formation`.
    #[serde(rename = "type", with = "type_name")]
    pub kind: MissionType,
    /// `line` or `v`.
    #[serde(with = "formation_name")]
    pub formation: Formation,
    /// The route in meters.
    pub waypoints: Vec<[f64; 3]>,
    /// How many drones fly.
    pub drone_count: u32,
    /// Distance between lanes or slots, in meters.
    pub spacing_meters: f64,
    /// Where each drone is believed to be; empty: not said.
    #[serde(default)]
    pub starts: Vec<[f64; 3]>,
}

/// A drone on the wire.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WireDrone {
    /// `drone_<n>`.
    pub id: String,
    /// East, in meters.
    pub x: f64,
    /// North, in meters.
    pub y: f64,
    /// Up, in meters.
    pub z: f64,
    /// Whether its motors are armed.
    #[serde(default)]
    pub armed: Option<bool>,
    /// Its flight mode in PX4's words.
    #[serde(default)]
    pub mode: Option<String>,
    /// Charge.
    #[serde(default)]
    pub battery_percent: Option<f64>,
    /// The waypoint it flies to, counted from 0.
    #[serde(default)]
    pub waypoint_index: u32,
    /// How old this is, in milliseconds.
    #[serde(default)]
    pub age_ms: u64,
}

/// The mission the swarm flies, on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireProgress {
    /// Its id.
    pub id: Uuid,
    /// All its drones have landed.
    pub complete: bool,
}

/// One drone's answer on the wire.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireAck {
    /// Which drone.
    pub id: String,
    /// Whether it obeys.
    pub acknowledged: bool,
}

/// Why a frame is refused.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// Not JSON, or not a frame.
    #[error("malformed frame: {0}")]
    Json(#[from] serde_json::Error),
    /// A value no sane sender writes.
    #[error("frame out of bounds: {0}")]
    Bounds(String),
}

/// Reads a request.
///
/// # Errors
/// What is wrong with it.
pub fn read_request(frame: &[u8]) -> Result<Request, ProtocolError> {
    Ok(serde_json::from_slice(frame)?)
}

/// Reads a report.
///
/// # Errors
/// What is wrong with it.
pub fn read_report(frame: &[u8]) -> Result<Report, ProtocolError> {
    Ok(serde_json::from_slice(frame)?)
}

/// A frame as it goes over the wire, newline included.
///
/// # Errors
/// None for the types here, whose every value has a JSON form.
pub fn encode(frame: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(frame)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// What came over the wire.
#[derive(Debug, PartialEq, Eq)]
pub enum Incoming {
    /// A frame is in the buffer.
    Frame,
    /// A frame was longer than [`MAX_FRAME_BYTES`]; the rest is unread.
    TooLong,
    /// The other side is gone; a frame without its newline is dropped.
    Closed,
}

/// Reads the next frame into `buffer`, without its newline.
///
/// # Errors
/// The connection's.
pub async fn receive<R: AsyncBufRead + Unpin>(
    reader: &mut R,
    buffer: &mut Vec<u8>,
) -> std::io::Result<Incoming> {
    buffer.clear();
    // One more for the newline, and one more to tell "too long" from "full".
    let most = MAX_FRAME_BYTES as u64 + 2;
    reader.take(most).read_until(b'\n', buffer).await?;
    if buffer.pop_if(|last| *last == b'\n').is_some() {
        return Ok(if buffer.len() > MAX_FRAME_BYTES {
            Incoming::TooLong
        } else {
            Incoming::Frame
        });
    }
    Ok(if buffer.len() > MAX_FRAME_BYTES {
        Incoming::TooLong
    } else {
        Incoming::Closed
    })
}

impl From<&LinkMission> for WireMission {
    fn from(mission: &LinkMission) -> Self {
        let wire = |points: &[Point]| points.iter().map(|p| [p.x, p.y, p.z]).collect();
        Self {
            id: mission.id,
            kind: mission.kind,
            formation: mission.formation,
            waypoints: wire(&mission.waypoints),
            drone_count: mission.drone_count,
            spacing_meters: mission.spacing_meters,
            starts: wire(&mission.starts),
        }
    }
}

impl TryFrom<WireMission> for LinkMission {
    type Error = ProtocolError;

    fn try_from(wire: WireMission) -> Result<Self, ProtocolError> {
        let bounds = |what: &str| ProtocolError::Bounds(what.to_owned());
        if !(1..=MOST_WAYPOINTS).contains(&wire.waypoints.len()) {
            return Err(bounds("number of waypoints"));
        }
        let count = usize::try_from(wire.drone_count).unwrap_or(usize::MAX);
        if !(1..=MOST_DRONES).contains(&count) {
            return Err(bounds("number of drones"));
        }
        if !(wire.spacing_meters > 0.0 && wire.spacing_meters <= FARTHEST_METERS) {
            return Err(bounds("spacing"));
        }
        if !wire.starts.is_empty() && wire.starts.len() != count {
            return Err(bounds("number of starts"));
        }
        let points = |wire: Vec<[f64; 3]>| {
            wire.into_iter()
                .map(|[x, y, z]| near(Point::new(x, y, z)))
                .collect::<Result<Vec<Point>, ProtocolError>>()
        };
        Ok(Self {
            id: wire.id,
            kind: wire.kind,
            formation: wire.formation,
            waypoints: points(wire.waypoints)?,
            drone_count: wire.drone_count,
            spacing_meters: wire.spacing_meters,
            starts: points(wire.starts)?,
        })
    }
}

/// The state that a report which arrived at `now` on this connection describes.
///
/// # Errors
/// A repeated or nameless drone, or a number out of bounds: then nothing of
/// the report is believed.
pub fn state_of(
    simulated: bool,
    drones: Vec<WireDrone>,
    mission: Option<WireProgress>,
    known_missions: Vec<Uuid>,
    connection: u64,
    now: Timestamp,
) -> Result<SwarmState, ProtocolError> {
    if drones.len() > MOST_DRONES {
        return Err(ProtocolError::Bounds("number of drones".to_owned()));
    }
    let mut seen = HashSet::new();
    let drones = drones
        .into_iter()
        .map(|drone| {
            if drone.id.is_empty() || drone.id.len() > 64 || !seen.insert(drone.id.clone()) {
                let id: String = drone.id.chars().take(64).collect();
                return Err(ProtocolError::Bounds(format!("drone id `{id}`")));
            }
            report_of(drone, now)
        })
        .collect::<Result<Vec<DroneReport>, ProtocolError>>()?;
    Ok(SwarmState {
        bridge: if simulated {
            BridgeMode::Simulated
        } else {
            BridgeMode::Connected
        },
        reason: None,
        connection,
        received_at: Some(now),
        drones,
        mission: mission.map(|mission| ReportedMission {
            id: mission.id,
            complete: mission.complete,
        }),
        known_missions,
    })
}

fn report_of(drone: WireDrone, now: Timestamp) -> Result<DroneReport, ProtocolError> {
    let position = near(Point::new(drone.x, drone.y, drone.z))?;
    let updated_at = i64::try_from(drone.age_ms)
        .ok()
        .and_then(|age| now.checked_sub(SignedDuration::from_millis(age)).ok())
        .ok_or_else(|| ProtocolError::Bounds(format!("age {} ms", drone.age_ms)))?;
    Ok(DroneReport {
        id: drone.id,
        position,
        armed: drone.armed,
        mode: drone.mode,
        battery_percent: drone.battery_percent,
        waypoint_index: drone.waypoint_index,
        updated_at,
    })
}

fn near(point: Point) -> Result<Point, ProtocolError> {
    let far = |value: f64| value.is_nan() || value.abs() > FARTHEST_METERS;
    if far(point.x) || far(point.y) || far(point.z) {
        return Err(ProtocolError::Bounds("coordinate".to_owned()));
    }
    Ok(point)
}

impl From<WireAck> for DroneAck {
    fn from(ack: WireAck) -> Self {
        Self {
            drone_id: ack.id,
            acknowledged: ack.acknowledged,
        }
    }
}

/// On the wire an enum has the name requests use, not the name answers use.
macro_rules! wire_name {
    ($module:ident, $type:ty) => {
        mod $module {
            use serde::{Deserialize, Deserializer, Serializer, de::Error};

            pub(super) fn serialize<S: Serializer>(
                value: &$type,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                to.serialize_str(value.request_name())
            }

            pub(super) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<$type, D::Error> {
                let name = String::deserialize(from)?;
                <$type>::from_request_name(&name)
                    .ok_or_else(|| D::Error::custom(format_args!("unknown name `{name}`")))
            }
        }
    };
}

wire_name!(command_name, crate::contract::Command);
wire_name!(type_name, crate::contract::MissionType);
wire_name!(formation_name, crate::contract::Formation);

//! A previewed path: asked of the one device gateway that holds the mower.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::command::Start;
use super::map::Point;

/// The request, on `gateway.mower.<id>.path.preview`. Nothing of it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathRequest {
    /// Names this very request, for who wants it no more.
    #[serde(default)]
    pub request_id: Uuid,
    /// Which mower.
    pub mower_id: Uuid,
    /// Its account.
    pub account_id: String,
    /// The start that it would be: `area_ids`, `pattern` and the rest.
    #[serde(flatten)]
    pub start: Start,
    /// For the device gateway's log.
    pub requested_by: String,
}

/// Nobody waits for the reply any more; on `gateway.mower.<id>.path.over`. The
/// mower is free to plan something else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathOver {
    /// Of the request.
    pub request_id: Uuid,
}

/// The reply: a path or an error, never both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathReply {
    /// What a start would drive.
    Path(Path),
    /// Why there is none.
    Error(PathError),
}

/// A path in local meters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Path {
    /// The way, in driving order.
    pub legs: Vec<Leg>,
    /// Points of all legs before thinning.
    pub points_total: u32,
    /// SHA-256 of map revision, sorted areas, pattern and points in millimeters.
    pub path_hash: String,
    /// Meters.
    pub length_m: f64,
    /// Square meters.
    pub area_m2: f64,
    /// Seconds of mowing, without recharging.
    pub est_duration_s: f64,
    /// Share of a full battery; more than 100 means recharging on the way.
    pub est_battery_percent: f64,
    /// Revision of the map it was planned on.
    pub map_revision: u64,
    /// What the plan takes for granted.
    pub assumptions: Vec<String>,
    /// Whether points were left out to keep the answer small.
    pub truncated: bool,
}

/// One polyline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Leg {
    /// What it is.
    pub kind: LegKind,
    /// At least two points.
    pub points: Vec<Point>,
}

/// The kinds of leg.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LegKind {
    /// Along the border, blade on.
    Border,
    /// A lane, blade on.
    Lane,
    /// Between two others, blade off.
    Transit,
    /// Around an obstacle, blade on.
    ObstacleLap,
}

/// Why there is no path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathError {
    /// Machine code.
    pub code: PathErrorCode,
    /// For people.
    pub detail: String,
}

/// The codes of a failed preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathErrorCode {
    /// The mower cannot preview.
    Unsupported,
    /// Not now or not so: job running, unknown area, impossible pattern.
    Rejected,
    /// It plans another path at this moment.
    PreviewRunning,
    /// The mower did not finish planning.
    Timeout,
    /// The mower cannot be reached.
    Unavailable,
    /// No device gateway holds the mower.
    NotFound,
    /// Planning failed.
    Failed,
    /// The device gateway does not know the mower in this account.
    Forbidden,
}

//! The state of a mower as its device gateway last knew it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Published on `telemetry.mower.<id>` on change and as a heartbeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MowerState {
    /// Which mower.
    pub mower_id: Uuid,
    /// What it does.
    pub activity: Activity,
    /// The same in the five words of common home automation: `mowing`,
    /// `docked`, `paused`, `returning`, `error`.
    pub ha_activity: String,
    /// Why it does nothing.
    pub inactive_reason: InactiveReason,
    /// Where it is.
    pub position: Pose,
    /// Meters; 0.02 with a fix, 1.0 without.
    pub position_accuracy_m: f64,
    /// Quality of the position.
    pub fix: Fix,
    /// 0 to 100.
    pub battery_percent: f64,
    /// Volts.
    pub battery_v: f64,
    /// Whether current flows into the battery.
    pub charging: bool,
    /// Seconds until full, while charging.
    pub remaining_charge_s: Option<f64>,
    /// Meters per second.
    pub speed_mps: f64,
    /// Whether the blade is asked to turn.
    pub blade_on: bool,
    /// Revolutions per minute.
    pub blade_rpm: u32,
    /// Millimeters.
    pub blade_height_mm: u16,
    /// The job it holds.
    pub job: Option<Job>,
    /// The emergency latch.
    pub emergency: Emergency,
    /// The fault it is in.
    pub error: Option<Fault>,
    /// How it is reached.
    pub link: Link,
    /// Rises strictly per mower; a lower one is stale.
    pub seq: u64,
    /// When it was so.
    pub at: Timestamp,
}

/// What a mower does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Activity {
    Docked,
    Charging,
    Undocking,
    Mowing,
    Paused,
    Returning,
    DrivingManual,
    Stopped,
    Error,
    Updating,
    Offline,
}

impl Activity {
    /// The nearest of the five words of common home automation.
    #[must_use]
    pub const fn ha(self) -> &'static str {
        match self {
            Self::Docked | Self::Charging | Self::Updating => "docked",
            Self::Undocking | Self::Mowing | Self::DrivingManual => "mowing",
            Self::Paused => "paused",
            Self::Returning => "returning",
            Self::Stopped | Self::Error | Self::Offline => "error",
        }
    }
}

/// Why a mower does nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum InactiveReason {
    None,
    Schedule,
    Rain,
    QuietHours,
    Frost,
    LowBattery,
    DailyLimit,
    WaitingForFix,
    JobDone,
    EmergencyLatched,
    MotorHot,
}

/// Position and heading.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Pose {
    /// Meters east of the map's origin.
    pub x: f64,
    /// Meters north of it.
    pub y: f64,
    /// Degrees, 0 = east, counter-clockwise.
    pub heading: f64,
}

/// Quality of a position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Fix {
    RtkFixed,
    RtkFloat,
    Single,
    None,
}

/// The job a mower holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// The command or plan that began it.
    pub plan_id: Uuid,
    /// The path it drives.
    pub path_hash: String,
    /// The area it is in.
    pub area_id: Option<Uuid>,
    /// 0 to 100.
    pub progress_percent: f64,
    /// Square meters.
    pub mowed_m2: f64,
    /// Seconds until its end.
    pub eta_s: f64,
}

/// The emergency latch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Emergency {
    /// Whether a cause is present.
    pub active: bool,
    /// Whether the latch holds until somebody resets it on site.
    pub latched: bool,
    /// The cause.
    pub reason: Option<String>,
    /// Since when.
    pub since: Option<Timestamp>,
}

/// A fault of the mower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fault {
    /// The vendor's code.
    pub code: String,
    /// A neutral key.
    pub key: String,
    /// Whether it can be confirmed away from afar.
    pub confirmable: bool,
    /// Since when.
    pub at: Timestamp,
}

/// How a mower is reached.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Link {
    /// Whether it answers.
    pub online: bool,
    /// Signal strength.
    pub rssi_dbm: Option<i32>,
    /// Round trip in milliseconds.
    pub rtt_ms: Option<f64>,
    /// When it was last heard.
    pub last_seen: Option<Timestamp>,
}

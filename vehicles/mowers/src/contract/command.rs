//! Commands: a union tagged by `kind`. A kind that is not in it does not exist.

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// One command with its parameters. Limits are checked where a request is
/// read; each is narrowed again by the mower's capabilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Mow areas, from the dock or from where the mower stands paused.
    StartMow(Start),
    /// Go on with the job that was paused or kept.
    ResumeMow {
        /// The path the mower must still hold, lower-case hexadecimal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expected_path_hash: Option<String>,
    },
    /// Stand still where it is.
    PauseMow {},
    /// Drive home.
    ReturnToDock {},
    /// Set the cutting height.
    SetBladeHeight {
        /// Millimeters, 15 to 100.
        height_mm: u16,
    },
    /// Set the working speed.
    SetSpeed {
        /// Meters per second, 0.1 to 1.2.
        speed_mps: f64,
    },
    /// One frame of manual driving; only inside a drive session.
    ManualDrive(Drive),
    /// Motors off, latched.
    EmergencyStop {
        /// At most 200 characters.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Take the latch off; somebody stands next to the mower.
    ResetEmergency {
        /// Must be true.
        on_site_confirmed: bool,
    },
    /// Leave the dock and wait.
    LeaveDock {},
    /// Fetch the map again.
    SyncMap {},
    /// Find a position fix again.
    ResyncRtk {},
    /// Learn the dock's place again.
    RelocateDock {},
    /// Restart the mower's computer.
    RestartMower {},
}

/// Parameters of a start.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Start {
    /// 1 to 60 areas of the mower's map.
    pub area_ids: Vec<Uuid>,
    /// How to cover them; the mower's own pattern when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<Pattern>,
    /// Millimeters, 15 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blade_height_mm: Option<u16>,
    /// Meters per second, 0.1 to 1.2.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mps: Option<f64>,
    /// Minutes, 1 to 1,440; without end when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_min: Option<u16>,
    /// The previewed path; the mower refuses to drive another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_path_hash: Option<String>,
}

/// How an area is covered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pattern {
    /// Which pattern.
    pub kind: PatternKind,
    /// Direction of the lanes in degrees, -180 to 180.
    pub angle_deg: f64,
    /// Distance between lanes in centimeters, 5 to 35.
    pub spacing_cm: f64,
    /// Laps along the border, 0 to 4.
    pub border_laps: u8,
    /// Laps around each obstacle, 0 to 4.
    pub obstacle_laps: u8,
    /// What comes first.
    pub order: Order,
}

impl Default for Pattern {
    fn default() -> Self {
        Pattern {
            kind: PatternKind::Parallel,
            angle_deg: 0.0,
            spacing_cm: 25.0,
            border_laps: 2,
            obstacle_laps: 1,
            order: Order::BorderFirst,
        }
    }
}

/// The patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PatternKind {
    /// Parallel lanes.
    Parallel,
    /// Parallel lanes, then once more across.
    Double,
    /// The border laps only.
    BorderOnly,
    /// Lanes without border laps.
    None,
}

/// What of an area is mown first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// The border, then the lanes.
    BorderFirst,
    /// The lanes, then the border.
    LanesFirst,
}

/// One frame of manual driving. Never stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Drive {
    /// The session the frame belongs to.
    pub session_id: Uuid,
    /// Rises with every frame of a session; a lower one is dropped.
    pub sequence: u64,
    /// Share of the mower's largest speed, -1 to 1.
    pub linear: f64,
    /// Share of the mower's largest turn rate, -1 to 1, positive to the left.
    pub angular: f64,
    /// Whether the blade turns.
    #[serde(default)]
    pub blade_on: bool,
    /// Dead-man time in milliseconds, 100 to 2,000.
    #[serde(default = "dead_man_ms")]
    pub ttl_ms: u16,
}

fn dead_man_ms() -> u16 {
    1_000
}

/// The name of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CommandKind {
    /// [`Command::StartMow`]
    StartMow,
    /// [`Command::ResumeMow`]
    ResumeMow,
    /// [`Command::PauseMow`]
    PauseMow,
    /// [`Command::ReturnToDock`]
    ReturnToDock,
    /// [`Command::SetBladeHeight`]
    SetBladeHeight,
    /// [`Command::SetSpeed`]
    SetSpeed,
    /// [`Command::ManualDrive`]
    ManualDrive,
    /// [`Command::EmergencyStop`]
    EmergencyStop,
    /// [`Command::ResetEmergency`]
    ResetEmergency,
    /// [`Command::LeaveDock`]
    LeaveDock,
    /// [`Command::SyncMap`]
    SyncMap,
    /// [`Command::ResyncRtk`]
    ResyncRtk,
    /// [`Command::RelocateDock`]
    RelocateDock,
    /// [`Command::RestartMower`]
    RestartMower,
}

impl CommandKind {
    /// Every kind, in the order of the union.
    pub const ALL: [Self; 14] = [
        Self::StartMow,
        Self::ResumeMow,
        Self::PauseMow,
        Self::ReturnToDock,
        Self::SetBladeHeight,
        Self::SetSpeed,
        Self::ManualDrive,
        Self::EmergencyStop,
        Self::ResetEmergency,
        Self::LeaveDock,
        Self::SyncMap,
        Self::ResyncRtk,
        Self::RelocateDock,
        Self::RestartMower,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::StartMow => "start_mow",
            Self::ResumeMow => "resume_mow",
            Self::PauseMow => "pause_mow",
            Self::ReturnToDock => "return_to_dock",
            Self::SetBladeHeight => "set_blade_height",
            Self::SetSpeed => "set_speed",
            Self::ManualDrive => "manual_drive",
            Self::EmergencyStop => "emergency_stop",
            Self::ResetEmergency => "reset_emergency",
            Self::LeaveDock => "leave_dock",
            Self::SyncMap => "sync_map",
            Self::ResyncRtk => "resync_rtk",
            Self::RelocateDock => "relocate_dock",
            Self::RestartMower => "restart_mower",
        }
    }

    /// Whether it calms a mower: then it goes at once, and undoes what was asked
    /// before it and has not gone out.
    #[must_use]
    pub const fn calms(self) -> bool {
        matches!(self, Self::PauseMow | Self::ReturnToDock)
    }

    /// Whether it may set a mower in motion, or takes off what holds it.
    #[must_use]
    pub const fn moves(self) -> bool {
        match self {
            Self::StartMow
            | Self::ResumeMow
            | Self::ReturnToDock
            | Self::ManualDrive
            | Self::ResetEmergency
            | Self::LeaveDock
            | Self::RelocateDock
            | Self::RestartMower => true,
            Self::PauseMow
            | Self::SetBladeHeight
            | Self::SetSpeed
            | Self::EmergencyStop
            | Self::SyncMap
            | Self::ResyncRtk => false,
        }
    }

    /// Whether a calming command that was asked after it ends it, as long as it
    /// has not gone out. A reset sets nothing in motion.
    #[must_use]
    pub const fn yields_to_calming(self) -> bool {
        self.moves() && !matches!(self, Self::ResetEmergency)
    }

    /// The kind of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

impl Command {
    /// Its kind.
    #[must_use]
    pub const fn kind(&self) -> CommandKind {
        match self {
            Self::StartMow(_) => CommandKind::StartMow,
            Self::ResumeMow { .. } => CommandKind::ResumeMow,
            Self::PauseMow {} => CommandKind::PauseMow,
            Self::ReturnToDock {} => CommandKind::ReturnToDock,
            Self::SetBladeHeight { .. } => CommandKind::SetBladeHeight,
            Self::SetSpeed { .. } => CommandKind::SetSpeed,
            Self::ManualDrive(_) => CommandKind::ManualDrive,
            Self::EmergencyStop { .. } => CommandKind::EmergencyStop,
            Self::ResetEmergency { .. } => CommandKind::ResetEmergency,
            Self::LeaveDock {} => CommandKind::LeaveDock,
            Self::SyncMap {} => CommandKind::SyncMap,
            Self::ResyncRtk {} => CommandKind::ResyncRtk,
            Self::RelocateDock {} => CommandKind::RelocateDock,
            Self::RestartMower {} => CommandKind::RestartMower,
        }
    }
}

#[cfg(test)]
mod tests;

//! What kinds of mower are simulated: their capabilities and their figures.
//!
//! The figures follow what the makers and their communities publish; where
//! nothing is published a round number stands.

use serde::{Deserialize, Serialize};

use crate::contract::{Capabilities, CommandKind, StopSemantics};

#[cfg(test)]
mod tests;

/// The name of a profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfileName {
    /// Areas, patterns, preview, manual driving.
    #[default]
    Luba,
    /// Work areas and durations, no free path, no emergency stop of its own,
    /// a monthly call budget.
    Automower,
    /// Start, pause, home; a stop is a pause and a lock.
    Landroid,
    /// Areas in order, a latched emergency, narrow lanes.
    Openmower,
}

impl ProfileName {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Luba, Self::Automower, Self::Landroid, Self::Openmower];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Luba => "luba",
            Self::Automower => "automower",
            Self::Landroid => "landroid",
            Self::Openmower => "openmower",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|known| known.as_str() == name)
    }
}

/// One kind of mower.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// What it declares.
    pub capabilities: Capabilities,
    /// Meters of grass one pass cuts.
    pub cutting_width_m: f64,
    /// Meters between lanes when nobody says otherwise.
    pub spacing_m: f64,
    /// Laps along the border when nobody says otherwise.
    pub border_laps: u8,
    /// Meters per second when nobody says otherwise.
    pub speed_mps: f64,
    /// Meters per second of manual driving at full stick.
    pub manual_speed_mps: f64,
    /// Millimeters when nobody says otherwise.
    pub blade_height_mm: u16,
    /// Minutes of cutting on a full battery.
    pub cutting_minutes: f64,
    /// Minutes from empty to full.
    pub charging_minutes: f64,
    /// The share of its battery that the vendor calls full.
    pub full_percent: f64,
    /// Whether it refuses to go home unless paused before.
    pub pause_before_dock: bool,
    /// Calls to the vendor in 30 days; without a limit when absent.
    pub calls_per_month: Option<u32>,
}

impl Profile {
    /// The profile of that name.
    #[must_use]
    pub fn named(name: ProfileName) -> Self {
        match name {
            ProfileName::Luba => luba(),
            ProfileName::Automower => automower(),
            ProfileName::Landroid => landroid(),
            ProfileName::Openmower => openmower(),
        }
    }
}

fn luba() -> Profile {
    Profile {
        capabilities: Capabilities {
            kinds: CommandKind::ALL.to_vec(),
            path_preview: true,
            areas: true,
            patterns: true,
            blade_height_mm: (25, 70),
            speed_mps: (0.2, 0.6),
            spacing_cm: (20.0, 35.0),
            stop_semantics: StopSemantics::MotorsOff,
        },
        cutting_width_m: 0.40,
        spacing_m: 0.25,
        border_laps: 2,
        speed_mps: 0.3,
        manual_speed_mps: 0.6,
        blade_height_mm: 50,
        cutting_minutes: 120.0,
        charging_minutes: 100.0,
        full_percent: 100.0,
        pause_before_dock: false,
        calls_per_month: None,
    }
}

fn automower() -> Profile {
    Profile {
        capabilities: Capabilities {
            kinds: vec![
                CommandKind::StartMow,
                CommandKind::ResumeMow,
                CommandKind::PauseMow,
                CommandKind::ReturnToDock,
                CommandKind::SetBladeHeight,
                CommandKind::EmergencyStop,
                CommandKind::SyncMap,
            ],
            path_preview: false,
            areas: true,
            patterns: false,
            blade_height_mm: (20, 60),
            speed_mps: (0.4, 0.4),
            spacing_cm: (22.0, 22.0),
            stop_semantics: StopSemantics::Pause,
        },
        cutting_width_m: 0.24,
        spacing_m: 0.22,
        border_laps: 1,
        speed_mps: 0.4,
        manual_speed_mps: 0.4,
        blade_height_mm: 40,
        cutting_minutes: 200.0,
        charging_minutes: 60.0,
        full_percent: 100.0,
        pause_before_dock: false,
        calls_per_month: Some(10_000),
    }
}

fn landroid() -> Profile {
    Profile {
        capabilities: Capabilities {
            kinds: vec![
                CommandKind::StartMow,
                CommandKind::ResumeMow,
                CommandKind::PauseMow,
                CommandKind::ReturnToDock,
                CommandKind::EmergencyStop,
                CommandKind::ResetEmergency,
                CommandKind::RestartMower,
            ],
            path_preview: false,
            areas: false,
            patterns: false,
            blade_height_mm: (30, 60),
            speed_mps: (0.35, 0.35),
            spacing_cm: (18.0, 18.0),
            stop_semantics: StopSemantics::PauseThenLock,
        },
        cutting_width_m: 0.20,
        spacing_m: 0.18,
        border_laps: 1,
        speed_mps: 0.35,
        manual_speed_mps: 0.35,
        blade_height_mm: 40,
        cutting_minutes: 90.0,
        charging_minutes: 90.0,
        full_percent: 80.0,
        pause_before_dock: false,
        calls_per_month: None,
    }
}

fn openmower() -> Profile {
    Profile {
        capabilities: Capabilities {
            kinds: CommandKind::ALL
                .into_iter()
                .filter(|kind| !matches!(kind, CommandKind::SetBladeHeight | CommandKind::SyncMap))
                .collect(),
            path_preview: true,
            areas: true,
            patterns: true,
            blade_height_mm: (38, 38),
            speed_mps: (0.1, 0.5),
            spacing_cm: (10.0, 18.0),
            stop_semantics: StopSemantics::MotorsOff,
        },
        cutting_width_m: 0.14,
        spacing_m: 0.13,
        border_laps: 4,
        speed_mps: 0.3,
        manual_speed_mps: 0.5,
        blade_height_mm: 38,
        cutting_minutes: 90.0,
        charging_minutes: 90.0,
        full_percent: 100.0,
        pause_before_dock: false,
        calls_per_month: None,
    }
}

//! What a mower declares it can do. What it does not declare is refused before
//! its vendor is asked.

use serde::{Deserialize, Serialize};

use super::command::CommandKind;

/// A mower's declaration.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Capabilities {
    /// The kinds it takes.
    pub kinds: Vec<CommandKind>,
    /// Whether it can show a path before driving it.
    pub path_preview: bool,
    /// Whether areas can be named.
    pub areas: bool,
    /// Whether a pattern can be given.
    pub patterns: bool,
    /// Cutting heights in millimeters, lowest and highest.
    pub blade_height_mm: (u16, u16),
    /// Working speeds in meters per second, lowest and highest.
    pub speed_mps: (f64, f64),
    /// Lane spacings in centimeters, lowest and highest.
    pub spacing_cm: (f64, f64),
    /// How an emergency stop is carried out; shown to people.
    pub stop_semantics: StopSemantics,
}

/// What an emergency stop does on this mower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSemantics {
    /// Wheels and blade off.
    MotorsOff,
    /// The nearest thing the vendor offers is a pause.
    Pause,
    /// A pause, then a lock.
    PauseThenLock,
}

//! How long a command lives. Who asks wishes; the configuration caps.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::contract::CommandKind;
use crate::service::settings::Settings;

#[cfg(test)]
mod tests;

/// The longest life of a frame of manual driving.
const FRAME: Duration = Duration::from_secs(2);

/// Life of a reset: somebody stands next to the mower now, not later.
const RESET: Duration = Duration::from_secs(10);

/// The lives that a configuration sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lives {
    /// Of an emergency stop, which no caller chooses.
    pub stop: Duration,
    /// The longest of any other command.
    pub most: Duration,
}

impl Lives {
    /// The life of a command of this kind, with the wished seconds.
    #[must_use]
    pub fn of(self, kind: CommandKind, wished: Option<u16>) -> Duration {
        let usual = match kind {
            CommandKind::EmergencyStop => return self.stop,
            CommandKind::ManualDrive => return FRAME,
            CommandKind::ResetEmergency => return RESET.min(self.most),
            CommandKind::ReturnToDock => 60,
            _ => 30,
        };
        let seconds = wished.unwrap_or(usual);
        Duration::from_secs(u64::from(seconds)).min(self.most)
    }

    /// When a command of this kind that is issued now ends.
    #[must_use]
    pub fn end(self, kind: CommandKind, wished: Option<u16>, issued_at: Timestamp) -> Timestamp {
        after(issued_at, self.of(kind, wished))
    }
}

impl Settings {
    /// The lives that were configured.
    #[must_use]
    pub fn lives(&self) -> Lives {
        Lives {
            stop: self.emergency_stop_ttl,
            most: self.command_ttl_max,
        }
    }
}

/// A while after a time; the end of time at most.
#[must_use]
pub fn after(at: Timestamp, life: Duration) -> Timestamp {
    let life = SignedDuration::try_from(life).unwrap_or(SignedDuration::MAX);
    at.saturating_add(life).unwrap_or(Timestamp::MAX)
}

//! Which mowers a stop of many reaches first: those that move, then those of
//! which nothing is known, then those that stand.

use jiff::Timestamp;

use crate::contract::{Activity, MowerState};
use crate::telemetry::Seen;

#[cfg(test)]
mod tests;

/// How long a mower may wait for its stop behind others; the first is the most
/// urgent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    Moving,
    Unknown,
    Standing,
}

impl Urgency {
    /// By what the mower last said of itself. It decides on the order alone:
    /// each is stopped, whatever was heard.
    pub(super) fn of(seen: Option<&Seen>, now: Timestamp) -> Self {
        match seen {
            Some(seen) if moves(&seen.state) => Self::Moving,
            Some(seen) if !seen.is_stale(now) && stands(&seen.state) => Self::Standing,
            _ => Self::Unknown,
        }
    }
}

/// Also when that was a while ago: it has not said that it stands since.
fn moves(state: &MowerState) -> bool {
    let on_its_way = matches!(
        state.activity,
        Activity::Undocking | Activity::Mowing | Activity::Returning | Activity::DrivingManual
    );
    on_its_way || state.blade_on || state.speed_mps != 0.0
}

fn stands(state: &MowerState) -> bool {
    matches!(
        state.activity,
        Activity::Docked | Activity::Charging | Activity::Paused | Activity::Stopped
    )
}

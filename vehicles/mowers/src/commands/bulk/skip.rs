//! Which members need no command, as far as their last word is fresh.

use jiff::Timestamp;

use crate::contract::{Activity, CommandKind};
use crate::telemetry::Seen;

#[cfg(test)]
mod tests;

/// Why a member is left out; `None`: it is commanded. What moves a mower may be
/// left out, what holds it never.
pub(super) fn reason(
    kind: CommandKind,
    seen: Option<&Seen>,
    now: Timestamp,
) -> Option<&'static str> {
    if !matches!(
        kind,
        CommandKind::StartMow | CommandKind::ResumeMow | CommandKind::ReturnToDock
    ) {
        return None;
    }
    // An old word says nothing: the mower's own gateway decides.
    let state = &seen.filter(|seen| !seen.is_stale(now))?.state;
    if !state.link.online || state.activity == Activity::Offline {
        return Some("offline");
    }
    if state.emergency.latched {
        return Some("emergency-latched");
    }
    let wanted: &[Activity] = match kind {
        CommandKind::StartMow => &[Activity::Mowing, Activity::Undocking],
        CommandKind::ResumeMow => &[Activity::Mowing],
        _ => &[Activity::Docked, Activity::Charging, Activity::Returning],
    };
    wanted
        .contains(&state.activity)
        .then_some("already-in-that-state")
}

/// Whether a kind takes a turn of its vendor account. What holds a mower or
/// sends it home never waits.
pub(super) const fn is_paced(kind: CommandKind) -> bool {
    !kind.calms() && !matches!(kind, CommandKind::EmergencyStop)
}

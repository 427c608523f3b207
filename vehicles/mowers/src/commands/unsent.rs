//! The reasons of commands that this service ended itself, before anybody had
//! them: the whole text tells them from what a device gateway says under the
//! same word.

use super::publish;
use super::record::Outcome;
use crate::contract::Status;

#[cfg(test)]
mod tests;

/// A stop overtook it.
pub(super) const STOPPED: &str = "superseded-by-stop: it was not sent";

/// A calming command overtook it.
pub(super) const CALMED: &str =
    "superseded-by-calming: it was paused or sent home after this was asked; it was not sent";

/// What it was decided on has changed.
pub(super) const STALE: &str =
    "authz-stale: the mower, or what it lies in, changed while this waited; it was not sent";

/// None of its areas is the mower's.
pub(super) const NO_AREA: &str =
    "unknown-area: none of the areas is on the mower's map; it was not sent";

/// Its turn came too late.
pub(super) const LATE: &str = "unsent: its turn came after its life";

/// Nobody could look whether it may be sent.
pub(super) const UNSEEN: &str = "records-unavailable: it was not sent";

/// Nobody holds the mower.
pub(super) const NOT_HELD: &str = "not-held: no device gateway holds the mower; it was not sent";

/// The service ended before its turn.
pub(super) const ENDED: &str = "service-ended: it was not sent";

/// The machine word of a stop that nobody had in its life.
pub(super) const NOT_STOPPED: &str = "not-stopped";

/// All whole texts.
const OURS: [&str; 8] = [
    STOPPED, CALMED, STALE, NO_AREA, LATE, UNSEEN, NOT_HELD, ENDED,
];

/// Who had a command, as far as its record says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Had {
    /// A device gateway did.
    Somebody,
    /// Nobody knows, or nobody has said so yet.
    Unclear,
    /// Certainly nobody.
    Nobody,
}

/// Who had a command with this outcome.
pub(super) fn had(outcome: &Outcome) -> Had {
    let reason = outcome.reason.as_deref().unwrap_or_default();
    let nobody = [publish::REFUSED, NOT_STOPPED];
    match outcome.status {
        _ if outcome.late.is_some() => Had::Somebody,
        Status::Pending => Had::Unclear,
        Status::Failed if reason.starts_with(publish::UNCONFIRMED) => Had::Unclear,
        Status::Failed if nobody.iter().any(|word| reason.starts_with(word)) => Had::Nobody,
        _ if OURS.contains(&reason) => Had::Nobody,
        _ => Had::Somebody,
    }
}

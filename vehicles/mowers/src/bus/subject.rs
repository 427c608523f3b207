//! The subjects, in one place.

use uuid::Uuid;

/// The device gateways ask here at start for the mowers they may hold.
pub const MOWERS_LIST: &str = "fleet.mowers.list";

/// A mower was registered.
pub const MOWER_REGISTERED: &str = "mower.registered";

/// A mower was changed or placed elsewhere.
pub const MOWER_UPDATED: &str = "mower.updated";

/// A mower was removed.
pub const MOWER_REMOVED: &str = "mower.removed";

/// An account was created.
pub const ACCOUNT_CREATED: &str = "identity.account.created";

/// All previews, for a device gateway that listens.
pub const PREVIEWS: &str = "gateway.mower.*.path.preview";

/// All frames of manual driving, for a device gateway that listens.
pub const DRIVES: &str = "drive.mower.*";

/// Everything that is asked or told outside of the streams.
pub const REQUESTS: [&str; 3] = [MOWERS_LIST, PREVIEWS, DRIVES];

/// Commands for a mower, in the stream COMMAND.
#[must_use]
pub fn command(mower: Uuid) -> String {
    format!("command.mower.{mower}")
}

/// Stops for a mower, in the stream STOP.
#[must_use]
pub fn stop(mower: Uuid) -> String {
    format!("command.stop.mower.{mower}")
}

/// What became of a mower's commands, in the stream RESULT.
#[must_use]
pub fn result(mower: Uuid) -> String {
    format!("command.result.mower.{mower}")
}

/// A mower's states, in the stream TELEMETRY.
#[must_use]
pub fn telemetry(mower: Uuid) -> String {
    format!("telemetry.mower.{mower}")
}

/// Asks the one device gateway that holds the mower for a path. In no stream.
#[must_use]
pub fn preview(mower: Uuid) -> String {
    format!("gateway.mower.{mower}.path.preview")
}

/// One frame of manual driving. In no stream: it must never be replayed.
#[must_use]
pub fn drive(mower: Uuid) -> String {
    format!("drive.mower.{mower}")
}

/// The mower that a subject names: its only token that is a UUID.
#[must_use]
pub fn mower(subject: &str) -> Option<Uuid> {
    subject
        .split('.')
        .find_map(|token| Uuid::try_parse(token).ok())
}

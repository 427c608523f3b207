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

/// The device gateways ask here every few seconds which of them they may hold.
pub const LEASES: &str = "fleet.leases";

/// All previews, for a device gateway that listens.
pub const PREVIEWS: &str = "gateway.mower.*.path.preview";

/// All words that nobody waits for a preview any more, for a device gateway that
/// listens.
pub const PREVIEWS_OVER: &str = "gateway.mower.*.path.over";

/// What is asked for a mower's map, for a device gateway that listens.
pub const MAPS: &str = "gateway.mower.*.map";

/// What is asked for a mower's capabilities, for a device gateway that listens.
pub const CAPABILITIES: &str = "gateway.mower.*.capabilities";

/// What is asked for a mower's state, for a device gateway that listens.
pub const STATES: &str = "gateway.mower.*.state";

/// All stops past the streams, for a device gateway that listens.
pub const DIRECT_STOPS: &str = "gateway.mower.*.stop";

/// All frames of manual driving, for a device gateway that listens.
pub const DRIVES: &str = "drive.mower.*";

/// Opening and closing of drive sessions, for a device gateway that listens.
pub const SESSIONS: &str = "drive.session.*";

/// All ends of driving, for a replica that listens.
pub const DRIVES_ENDED: &str = "drive.ended.*";

/// Everything that is asked or told outside of the streams. Where a stream covers
/// one of these its acknowledgment would pass for the answer, a stop's included.
pub const REQUESTS: [&str; 11] = [
    MOWERS_LIST,
    LEASES,
    PREVIEWS,
    PREVIEWS_OVER,
    MAPS,
    CAPABILITIES,
    STATES,
    DIRECT_STOPS,
    DRIVES,
    SESSIONS,
    DRIVES_ENDED,
];

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

/// Says that nobody waits for a preview any more. In no stream.
#[must_use]
pub fn preview_over(mower: Uuid) -> String {
    format!("gateway.mower.{mower}.path.over")
}

/// Asks the holder of a mower for its `map`, `capabilities` or `state` (the
/// `what`). In no stream.
#[must_use]
pub fn ask(mower: Uuid, what: &str) -> String {
    format!("gateway.mower.{mower}.{what}")
}

/// A stop past the streams, to the holder of a mower.
#[must_use]
pub fn direct_stop(mower: Uuid) -> String {
    format!("gateway.mower.{mower}.stop")
}

/// Opens or closes driving. In no stream.
#[must_use]
pub fn session(mower: Uuid) -> String {
    format!("drive.session.{mower}")
}

/// Where a device gateway says that driving is over. In no stream.
#[must_use]
pub fn drive_ended(mower: Uuid) -> String {
    format!("drive.ended.{mower}")
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

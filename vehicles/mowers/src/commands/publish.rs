//! Handing a command to the bus, with its three outcomes.

use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;

use super::record::Outcome;
use crate::bus::{Bus, Message, Published, Stream, subject};
use crate::contract::{Envelope, Priority, Status};
use crate::service::problem::Problem;

/// How long the stream has to confirm.
pub const CONFIRM: Duration = Duration::from_secs(2);

/// The machine word of a command that the bus certainly does not have.
pub const REFUSED: &str = "bus-unavailable";

/// The machine word of a command that the bus may have.
pub const UNCONFIRMED: &str = "publish-unconfirmed";

/// The message of a command; its id is the command's.
#[must_use]
pub fn message(envelope: &Envelope) -> Option<Message> {
    let (stream, subject) = match envelope.priority {
        Priority::Emergency => (Stream::Stop, subject::stop(envelope.mower_id)),
        Priority::Normal => (Stream::Command, subject::command(envelope.mower_id)),
    };
    // Every part of an envelope has a JSON form.
    let payload = serde_json::to_vec(envelope).ok()?;
    Some(Message {
        stream,
        subject,
        id: envelope.command_id.to_string(),
        priority: envelope.priority,
        payload: Bytes::from(payload),
    })
}

/// Publishes a command once, unless its life is over.
pub async fn publish(
    bus: &dyn Bus,
    envelope: &Envelope,
    now: Timestamp,
    within: Duration,
) -> Published {
    if now >= envelope.expires_at {
        return Published::Refused("its life was over before it was sent".to_owned());
    }
    match message(envelope) {
        Some(message) => bus.publish(&message, within).await,
        None => Published::Refused("the command has no JSON form".to_owned()),
    }
}

/// What a publish that was not confirmed makes of the record; `None`: it was.
#[must_use]
pub fn failed(published: &Published, now: Timestamp) -> Option<Outcome> {
    let reason = match published {
        Published::Stored { .. } => return None,
        Published::Refused(why) => format!("{REFUSED}: {why}"),
        Published::Unconfirmed(why) => format!("{UNCONFIRMED}: {why}"),
    };
    Some(Outcome::ended(Status::Failed, reason, now))
}

/// How a publish that was not confirmed is answered; `None`: it was.
#[must_use]
pub fn problem(published: &Published) -> Option<Problem> {
    match published {
        Published::Stored { .. } => None,
        Published::Refused(why) => {
            Some(Problem::BusUnavailable(format!("nothing was sent: {why}")))
        }
        Published::Unconfirmed(why) => Some(Problem::PublishUnconfirmed(format!(
            "the bus did not confirm the command: {why}"
        ))),
    }
}

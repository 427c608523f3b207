//! Reading a command off the bus: an envelope, or what can be said of it.

use serde_json::{Value, json};
use uuid::Uuid;

use crate::bus::{Delivery, subject};
use crate::contract::{CommandKind, Envelope, Priority};

/// What a delivery holds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reading {
    /// A command. Boxed: it is much larger than the rest.
    Command(Box<Envelope>),
    /// The envelope is whole, its command is not ours to understand: a newer
    /// service, or parameters that are none. Holds the envelope with a stand-in
    /// for the command, and the reason to answer with.
    Refused(Box<Envelope>, String),
    /// Nothing can be answered to that.
    Malformed(String),
}

/// Reads a delivery of the stream of commands, or of stops.
pub(crate) fn read(delivery: &Delivery, stop: bool) -> Reading {
    let reading = parse(&delivery.payload);
    let (Reading::Command(envelope) | Reading::Refused(envelope, _)) = &reading else {
        return reading;
    };
    let wrong = if subject::mower(&delivery.subject) != Some(envelope.mower_id) {
        "another mower than its subject"
    } else if delivery.id != envelope.command_id.to_string() {
        "another id than its message"
    } else if envelope.expires_at <= envelope.issued_at {
        "an end before its beginning"
    } else if stop != (envelope.priority == Priority::Emergency) {
        "a priority that does not belong in this stream"
    } else {
        match &reading {
            Reading::Command(command)
                if Priority::of(command.command.kind()) != command.priority =>
            {
                "a priority that is not its kind's"
            }
            _ => return reading,
        }
    };
    Reading::Malformed(format!("the command has {wrong}"))
}

/// Reads an envelope.
pub(crate) fn parse(payload: &[u8]) -> Reading {
    let mut value: Value = match serde_json::from_slice(payload) {
        Ok(value) => value,
        Err(cause) => return Reading::Malformed(cause.to_string()),
    };
    let cause = match serde_json::from_value::<Envelope>(value.clone()) {
        Ok(envelope) => return Reading::Command(Box::new(envelope)),
        Err(cause) => cause,
    };
    // Whether all but the command can be read: then it has an id to answer to.
    let kind = value
        .pointer("/command/kind")
        .and_then(Value::as_str)
        .map(str::to_owned);
    let Some(command) = value.get_mut("command") else {
        return Reading::Malformed(cause.to_string());
    };
    *command = json!({"kind": "pause_mow"});
    match (serde_json::from_value::<Envelope>(value), kind) {
        (Ok(envelope), Some(kind)) => {
            let reason = match CommandKind::named(&kind) {
                Some(_) => format!("invalid-parameters: {cause}"),
                None => format!("unsupported-kind: this device gateway does not know `{kind}`"),
            };
            Reading::Refused(Box::new(envelope), reason)
        }
        _ => Reading::Malformed(cause.to_string()),
    }
}

/// The id that a malformed stop is carried out under: the message's own if it
/// has one.
pub(crate) fn id_of(delivery: &Delivery) -> Uuid {
    Uuid::try_parse(&delivery.id).unwrap_or(Uuid::nil())
}

#[cfg(test)]
mod tests;

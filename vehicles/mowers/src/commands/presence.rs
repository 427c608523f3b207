//! Whether anybody holds a mower. A command to one that nobody holds would be
//! queued, and nobody would ever say what became of it.

use std::time::Duration;

use bytes::Bytes;

use crate::bus::{BusError, subject};
use crate::contract::Envelope;
use crate::device::wire::Ask;
use crate::service::Fleet;

#[cfg(test)]
mod tests;

/// How long the holder of a mower has to say that it is there.
const WITHIN: Duration = Duration::from_secs(1);

/// Whether certainly no device gateway holds the mower of a command. A mower
/// that was heard of lately is held; else its holder is asked for something
/// small. Where the bus cannot ask, publishing will tell.
pub(super) async fn is_nobody(fleet: &Fleet, envelope: &Envelope) -> bool {
    let mower = envelope.mower_id;
    let seen = fleet.telemetry.latest(mower);
    if seen.is_some_and(|seen| !seen.is_stale(fleet.now())) {
        return false;
    }
    let question = Ask {
        account_id: envelope.account_id.clone(),
    };
    let Ok(payload) = serde_json::to_vec(&question) else {
        return false;
    };
    let subject = subject::ask(mower, "capabilities");
    let asked = fleet.bus.request(&subject, Bytes::from(payload), WITHIN);
    // Any answer is one.
    matches!(
        asked.await,
        Err(BusError::TimedOut(_) | BusError::NoResponders(_))
    )
}

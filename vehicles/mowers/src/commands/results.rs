//! What the device gateways say became of commands, taken from the bus.

use std::sync::Arc;
use std::time::Duration;

use super::status::{self, Moved};
use crate::bus::{BusError, Consumer, Delivery, Stream};
use crate::contract::CommandResult;
use crate::records::RecordsError;
use crate::service::Fleet;

#[cfg(test)]
mod tests;

/// Between two attempts at a bus or at records that are gone.
const AGAIN: Duration = Duration::from_millis(500);

/// A stop is published before it is on record. So a result of a command that
/// nobody knows is looked at again a few times before it counts as unknown.
const LOOKS: u64 = 5;

/// The durable consumer that all replicas share.
#[must_use]
pub fn consumer() -> Consumer {
    Consumer {
        stream: Stream::Result,
        durable: Some("fleet-command-results".to_owned()),
        subjects: vec!["command.result.mower.*".to_owned()],
        ack_wait: Duration::from_secs(10),
        max_deliver: 20,
        max_ack_pending: 256,
    }
}

/// Takes results for as long as the service lives.
pub async fn follow(fleet: &Arc<Fleet>) {
    loop {
        match fleet.bus.consume(&consumer()).await {
            Ok(mut reader) => loop {
                match reader.next().await {
                    Ok(delivery) => take(fleet, delivery).await,
                    Err(error) => {
                        lost(&error).await;
                        break;
                    }
                }
            },
            Err(error) => lost(&error).await,
        }
    }
}

async fn lost(error: &BusError) {
    tracing::warn!("results cannot be read: {error}");
    tokio::time::sleep(AGAIN).await;
}

/// What is to be done with a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answered {
    /// Done with it.
    Ack,
    /// Never again.
    Reject,
    /// Again, after so long.
    Retry(Duration),
    /// Nothing was said: it comes again by itself.
    Silent,
}

/// Takes one result.
pub async fn take(fleet: &Fleet, delivery: Delivery) {
    let answered = judge(fleet, &delivery.payload, delivery.attempt).await;
    let said = match answered {
        Answered::Ack => delivery.receipt.ack().await,
        Answered::Reject => delivery.receipt.reject().await,
        Answered::Retry(after) => delivery.receipt.retry(after).await,
        Answered::Silent => Ok(()),
    };
    if let Err(error) = said {
        // It is delivered again, and says nothing new then.
        tracing::debug!("a result could not be acknowledged: {error}");
    }
    if answered == Answered::Silent {
        tokio::time::sleep(AGAIN).await;
    }
}

/// Writes one result, and says what is to be done with its delivery.
pub async fn judge(fleet: &Fleet, payload: &[u8], attempt: u64) -> Answered {
    let counters = &fleet.control.counters;
    let result: CommandResult = match serde_json::from_slice(payload) {
        Ok(result) => result,
        Err(error) => {
            counters.results_unreadable.add();
            tracing::error!("a result cannot be read: {error}");
            return Answered::Reject;
        }
    };
    let id = result.command_id;
    match status::advance(&fleet.records, &result).await {
        Ok(Moved::Forward) => {
            counters.results.add(result.status);
            Answered::Ack
        }
        Ok(Moved::Same) => {
            counters.results_same.add();
            Answered::Ack
        }
        Ok(Moved::Conflict) => {
            counters.results_conflicting.add();
            let late = result.status.as_str();
            tracing::error!(%id, late, "alarm: a command has two ends; the first one stays");
            Answered::Ack
        }
        Ok(Moved::Foreign) => {
            counters.results_foreign.add();
            let mower = result.mower_id;
            tracing::error!(%id, %mower, "alarm: a result from somebody who does not hold the mower");
            Answered::Ack
        }
        Ok(Moved::Unknown) => unknown(fleet, &result, attempt),
        Err(RecordsError::Unavailable(error)) => {
            tracing::warn!(%id, "a result is not written yet: {error}");
            Answered::Silent
        }
        Err(error) => {
            tracing::error!(%id, "a result is not written: {error}");
            Answered::Retry(AGAIN)
        }
    }
}

/// Never makes a row: motion is on record before it is published, so this is
/// another installation's, or a purged one's, or a stop's that is being written.
fn unknown(fleet: &Fleet, result: &CommandResult, attempt: u64) -> Answered {
    let id = result.command_id;
    if fleet.control.spool.holds(id) || attempt < LOOKS {
        let seconds = 1_u64 << attempt.min(4);
        return Answered::Retry(Duration::from_millis(250 * seconds));
    }
    fleet.control.counters.results_unknown.add();
    tracing::warn!(%id, "a result of a command that nobody knows");
    Answered::Ack
}

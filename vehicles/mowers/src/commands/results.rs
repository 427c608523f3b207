//! What the device gateways say became of commands, taken from the bus.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use tokio::sync::mpsc;
use uuid::Uuid;

use super::status::{self, Moved};
use crate::bus::{BusError, Consumer, Delivery, Receipt, Stream};
use crate::contract::CommandResult;
use crate::records::RecordsError;
use crate::service::Fleet;

#[cfg(test)]
mod tests;

/// Between two attempts at a bus or at records that are gone.
const AGAIN: Duration = Duration::from_millis(500);

/// The most results of one transaction, and the most that wait for the next.
const TOGETHER: usize = 64;

/// A stop is published before it is on record. So a result of a command that
/// nobody knows is looked at again a few times before it counts as unknown.
const LOOKS: u32 = 5;

/// Unknown commands remembered; then all are forgotten, and looked for anew.
const UNKNOWN: usize = 4_096;

/// How often the records answered that they have no such command. Deliveries
/// do not count: they come also while the records are away.
#[derive(Debug, Default)]
pub struct Looks(Mutex<HashMap<Uuid, u32>>);

impl Looks {
    /// Once more; how often that is.
    fn again(&self, id: Uuid) -> u32 {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if looks.len() >= UNKNOWN {
            looks.clear();
        }
        let count = looks.entry(id).or_default();
        *count = count.saturating_add(1);
        *count
    }

    /// It is known, or given up.
    fn done(&self, id: Uuid) {
        let mut looks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        looks.remove(&id);
    }
}

/// The durable consumer that all replicas share.
#[must_use]
pub fn consumer() -> Consumer {
    Consumer {
        stream: Stream::Result,
        durable: Some("fleet-command-results".to_owned()),
        subjects: vec!["command.result.mower.*".to_owned()],
        ack_wait: Duration::from_secs(10),
        // However long the records are away, no end of a command is lost.
        max_deliver: 0,
        max_ack_pending: 256,
    }
}

/// Takes results for as long as the service lives: while some are written, the
/// next ones are read.
pub async fn follow(fleet: &Arc<Fleet>) {
    let (heard, mut waiting) = mpsc::channel(TOGETHER);
    let writing = async {
        let mut deliveries = Vec::with_capacity(TOGETHER);
        while waiting.recv_many(&mut deliveries, TOGETHER).await > 0 {
            take(fleet, std::mem::take(&mut deliveries)).await;
        }
    };
    tokio::join!(read(fleet, heard), writing);
}

async fn read(fleet: &Fleet, heard: mpsc::Sender<Delivery>) {
    loop {
        match fleet.bus.consume(&consumer()).await {
            Ok(mut reader) => loop {
                match reader.next().await {
                    Ok(delivery) => {
                        if heard.send(delivery).await.is_err() {
                            return;
                        }
                    }
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

/// The payload of a delivery, and the how-manieth it is.
type Heard = (Bytes, u64);

/// Takes results that came: written together, and acknowledged once they are on
/// record.
pub async fn take(fleet: &Fleet, deliveries: Vec<Delivery>) {
    let heard = deliveries.iter();
    let heard: Vec<Heard> = heard.map(|it| (it.payload.clone(), it.attempt)).collect();
    let answers = judge(fleet, &heard).await;
    let silent = answers.contains(&Answered::Silent);
    let saying = deliveries
        .into_iter()
        .zip(answers)
        .map(|(delivery, answered)| say(delivery.receipt, answered));
    for said in join_all(saying).await {
        if let Err(error) = said {
            // It is delivered again, and says nothing new then.
            tracing::debug!("a result could not be acknowledged: {error}");
        }
    }
    if silent {
        tokio::time::sleep(AGAIN).await;
    }
}

async fn say(receipt: Box<dyn Receipt>, answered: Answered) -> Result<(), BusError> {
    match answered {
        Answered::Ack => receipt.ack().await,
        Answered::Reject => receipt.reject().await,
        Answered::Retry(after) => receipt.retry(after).await,
        Answered::Silent => Ok(()),
    }
}

/// Writes results, and says what is to be done with the delivery of each.
pub async fn judge(fleet: &Fleet, heard: &[Heard]) -> Vec<Answered> {
    let mut answers = vec![Answered::Reject; heard.len()];
    let (mut results, mut places) = (Vec::new(), Vec::new());
    for ((payload, attempt), answered) in heard.iter().zip(&mut answers) {
        match serde_json::from_slice::<CommandResult>(payload) {
            Ok(result) => {
                results.push(result);
                places.push((*attempt, answered));
            }
            Err(error) => {
                fleet.control.counters.results_unreadable.add();
                tracing::error!("a result cannot be read: {error}");
            }
        }
    }
    let written = write(fleet, &results).await;
    for ((result, (attempt, answered)), written) in results.iter().zip(places).zip(written) {
        *answered = answer(fleet, result, attempt, written);
    }
    answers
}

/// Writes results together; where that fails, each by itself, so that one that
/// the records do not take holds up no other.
async fn write(fleet: &Fleet, results: &[CommandResult]) -> Vec<Result<Moved, RecordsError>> {
    match status::advance(&fleet.records, results).await {
        Ok(moved) => moved.into_iter().map(Ok).collect(),
        Err(RecordsError::Unavailable(why)) if !fleet.records.answer().await => results
            .iter()
            .map(|_| Err(RecordsError::Unavailable(why.clone())))
            .collect(),
        Err(error) => {
            tracing::warn!("results are written one by one: {error}");
            let mut written = Vec::with_capacity(results.len());
            for result in results {
                let moved = status::advance(&fleet.records, std::slice::from_ref(result)).await;
                written.push(moved.map(|moved| moved.first().copied().unwrap_or(Moved::Unknown)));
            }
            written
        }
    }
}

/// What is to be done with a delivery whose result was written, or not.
fn answer(
    fleet: &Fleet,
    result: &CommandResult,
    attempt: u64,
    written: Result<Moved, RecordsError>,
) -> Answered {
    let counters = &fleet.control.counters;
    let id = result.command_id;
    if written.as_ref().is_ok_and(|moved| *moved != Moved::Unknown) {
        fleet.control.looks.done(id);
    }
    match written {
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
        Ok(Moved::Unknown) => unknown(fleet, id),
        Err(RecordsError::Unavailable(error)) => {
            tracing::warn!(%id, "a result is not written yet: {error}");
            Answered::Silent
        }
        Err(error) => {
            tracing::error!(%id, "a result is not written: {error}");
            Answered::Retry(AGAIN * 2_u32.saturating_pow(rarer(attempt)))
        }
    }
}

/// What cannot be written for another reason is tried for as long as it lives,
/// and ever more rarely.
fn rarer(attempt: u64) -> u32 {
    u32::try_from(attempt.saturating_sub(1)).map_or(7, |before| before.min(7))
}

/// Never makes a row: motion is on record before it is published, so this is
/// another installation's, or a purged one's, or a stop's that is being written.
fn unknown(fleet: &Fleet, id: Uuid) -> Answered {
    let looks = fleet.control.looks.again(id);
    if fleet.control.spool.holds(id) || looks < LOOKS {
        let quarters = 1_u64 << looks.min(4);
        return Answered::Retry(Duration::from_millis(250 * quarters));
    }
    fleet.control.looks.done(id);
    fleet.control.counters.results_unknown.add();
    tracing::warn!(%id, "a result of a command that nobody knows");
    Answered::Ack
}

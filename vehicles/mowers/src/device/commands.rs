//! Normal commands, from the stream into the queue of their mower.
//!
//! What comes in is answered in this order: what is known already, what another
//! shard must judge, what may not be done, and only then is it accepted. The
//! acceptance is in the stream before the delivery is acknowledged.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::checks;
use super::drive;
use super::held::Held;
use super::ledger::Stage;
use super::reading::{Reading, read};
use super::results;
use super::shared::{Refused, Shared};
use crate::bus::{Consumer, Delivery, Receipt, Stream, subject};
use crate::contract::{CommandResult, Envelope, Status};

/// Redelivered after so long without an answer.
const ACK_WAIT: Duration = Duration::from_secs(5);

/// Between two attempts to publish an acceptance.
const ACCEPT_PAUSE: Duration = Duration::from_millis(250);

/// The consumer of a shard. It takes the commands of all mowers: with a filter
/// for each held one, every change of holder would have to change the consumer,
/// and what is published in between would be lost without a trace.
pub(crate) fn consumer(shard: &str) -> Consumer {
    Consumer {
        stream: Stream::Command,
        durable: Some(format!("gw-{shard}-commands")),
        subjects: vec!["command.mower.*".to_owned()],
        ack_wait: ACK_WAIT,
        max_deliver: 3,
        max_ack_pending: 128,
    }
}

/// Hands each delivery to its mower's own task; what this shard does not hold
/// is somebody else's. It is not kept: a late start is worse than none.
pub(crate) fn route(shared: &Arc<Shared>, inboxes: &super::holding::Inboxes, delivery: Delivery) {
    let Some(mower_id) = subject::mower(&delivery.subject) else {
        shared.metrics.malformed.add();
        shared.spawn(async move { acknowledge(delivery.receipt.reject().await) });
        return;
    };
    if let Err(delivery) = inboxes.give(mower_id, delivery) {
        shared.spawn(async move { acknowledge(delivery.receipt.ack().await) });
    }
}

/// Takes in the deliveries of one mower, one after the other.
pub(crate) async fn take_in(
    shared: Arc<Shared>,
    held: Arc<Held>,
    mut inbox: mpsc::UnboundedReceiver<Delivery>,
) {
    while let Some(delivery) = inbox.recv().await {
        receive(&shared, &held, delivery).await;
    }
}

async fn receive(shared: &Shared, held: &Held, delivery: Delivery) {
    let reading = read(&delivery, false);
    let receipt = delivery.receipt;
    match reading {
        Reading::Malformed(why) => {
            shared.metrics.malformed.add();
            tracing::warn!(mower_id = %held.mower_id, why, "a command cannot be read");
            acknowledge(receipt.reject().await);
        }
        Reading::Refused(envelope, why) => {
            let verdict = Err(Refused(Status::Rejected, why));
            judge(shared, held, *envelope, verdict, receipt).await;
        }
        Reading::Command(envelope) => {
            let verdict = checks::command(
                &envelope.command,
                &held.connection.capabilities(),
                &held.connection.map(),
            )
            .map_err(|why| Refused(Status::Rejected, why));
            judge(shared, held, *envelope, verdict, receipt).await;
        }
    }
}

async fn judge(
    shared: &Shared,
    held: &Held,
    envelope: Envelope,
    verdict: Result<(), Refused>,
    receipt: Box<dyn Receipt>,
) {
    let command_id = envelope.command_id;
    let ours = envelope.account_id == held.account_id;
    if ours && envelope.command.kind().calms() {
        // SAFETY-STOP: at once, whatever becomes of it: somebody wants calm.
        held.calm(envelope.calm_epoch);
        let line = shared.ledger.calm(held.mower_id, envelope.calm_epoch);
        if !matches!(shared.ledger.stage(command_id), Some(Stage::Final(_))) {
            // The next frame would undo it.
            drive::end(shared, held, "calmed", None).await;
        }
        // Not synced: a process that dies leaves it to the system.
        shared.ledger.write(vec![line], false).await;
    }
    match shared.ledger.stage(command_id) {
        Some(Stage::Final(_)) => {
            shared.metrics.redelivered.add();
            shared.ledger.send_again(command_id);
            acknowledge(receipt.ack().await);
            return;
        }
        Some(Stage::Queued | Stage::Acting) => {
            shared.metrics.redelivered.add();
            if results::publish(shared, &accepted(shared, &envelope)).await {
                acknowledge(receipt.ack().await);
            }
            return;
        }
        Some(Stage::Taken) | None => {}
    }
    if envelope.issued_at < held.lease().since {
        // An earlier holder may have acted on it: silence, never a guess.
        shared.metrics.not_ours.add();
        acknowledge(receipt.ack().await);
        return;
    }
    shared.ledger.take(&envelope, shared.time.now()).await;
    let verdict = if ours {
        shared
            .may_act(held, &envelope)
            .and(verdict)
            .map_err(|Refused(status, why)| (status, why))
    } else {
        let why = "other-account: the mower is not of this account".to_owned();
        Err((Status::Rejected, why))
    };
    if let Err((status, why)) = verdict {
        shared.settle(command_id, status, &why).await;
        acknowledge(receipt.ack().await);
        return;
    }
    accept(shared, held, envelope, receipt).await;
}

/// Publishes the acceptance, acknowledges, and puts the command into the queue.
/// As long as the stream does not take the acceptance nothing may be acted on:
/// nobody would hear of it.
async fn accept(shared: &Shared, held: &Held, envelope: Envelope, receipt: Box<dyn Receipt>) {
    let result = accepted(shared, &envelope);
    while !results::publish(shared, &result).await {
        if let Err(Refused(status, why)) = shared.may_act(held, &envelope) {
            shared.settle(envelope.command_id, status, &why).await;
            acknowledge(receipt.ack().await);
            return;
        }
        acknowledge(receipt.progress().await);
        sleep(ACCEPT_PAUSE).await;
    }
    shared.metrics.accepted.add();
    acknowledge(receipt.ack().await);
    let command_id = envelope.command_id;
    shared.ledger.queued(command_id);
    if !held.queue.push(envelope, shared.config.bounds.queue) {
        let why = "queue-full: too many commands wait for this mower";
        shared.settle(command_id, Status::Rejected, why).await;
    }
}

pub(crate) fn accepted(shared: &Shared, envelope: &Envelope) -> CommandResult {
    CommandResult {
        command_id: envelope.command_id,
        mower_id: envelope.mower_id,
        account_id: envelope.account_id.clone(),
        status: Status::Accepted,
        reason: None,
        at: shared.time.now(),
    }
}

/// An acknowledgment that was lost means a redelivery, which is answered.
pub(crate) fn acknowledge(outcome: Result<(), crate::bus::BusError>) {
    if let Err(cause) = outcome {
        tracing::warn!(%cause, "an acknowledgment was not sent");
    }
}

#[cfg(test)]
mod tests;

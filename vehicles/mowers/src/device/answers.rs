//! What the vendor says of commands, whenever it says it.

use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::held::{Held, lock};
use super::ledger::{Settled, Stage};
use super::shared::Shared;
use super::stops;
use crate::connection::{Answer, Verdict};
use crate::contract::Status;

/// Takes answers in until the connection ends, or a while after the mower was
/// let go of: what is under way runs to its end.
pub(crate) async fn take_in(
    shared: Arc<Shared>,
    held: Arc<Held>,
    mut answers: mpsc::UnboundedReceiver<Answer>,
) {
    let mut released = held.released.subscribe();
    let over = async {
        let let_go = released.wait_for(|released| *released).await.is_ok();
        if let_go {
            sleep(shared.config.times.late_answers).await;
        }
    };
    tokio::pin!(over);
    loop {
        tokio::select! {
            answer = answers.recv() => match answer {
                Some(answer) => hear(&shared, &held, answer).await,
                None => return,
            },
            () = &mut over => return,
        }
    }
}

async fn hear(shared: &Shared, held: &Held, answer: Answer) {
    let command_id = answer.command_id;
    match shared.ledger.stage(command_id) {
        Some(Stage::Acting | Stage::Final(_)) => {}
        // It was never sent: the vendor speaks of something else.
        Some(Stage::Taken | Stage::Queued) | None => {
            shared.metrics.stray_answers.add();
            tracing::warn!(%command_id, "an answer to a command that was not sent");
            return;
        }
    }
    let stop = shared.ledger.is_stop(command_id);
    let (status, reason) = match answer.verdict {
        Verdict::Executed(said) if stop => (Status::Executed, stops::done_reason(held, said)),
        Verdict::Executed(said) => (Status::Executed, said),
        refusal if stop && refused(held, command_id, &refusal) => return,
        Verdict::Rejected(code) => (Status::Rejected, Some(code)),
        Verdict::Failed(code) => (Status::Failed, Some(code)),
    };
    let now = shared.time.now();
    let settled = shared.ledger.settle(command_id, status, reason, now).await;
    held.heard.notify_waiters();
    if settled == Settled::Late {
        shared.metrics.late_answers.add();
        tracing::warn!(%command_id, status = status.as_str(), "an answer after another final");
    }
}

/// A stop that the vendor refuses is tried again until its end: the refusal is
/// kept for then. Whether the stop is still under way.
fn refused(held: &Held, command_id: uuid::Uuid, refusal: &Verdict) -> bool {
    let under_way = lock(&held.stops);
    let Some(active) = under_way.get(&command_id) else {
        return false;
    };
    *lock(&active.refusal) = Some(refusal.clone());
    true
}

//! The one worker of a mower: takes its normal commands one after the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::held::Held;
use super::shared::{CALMED, Refused, SUPERSEDED, Shared, calmed};
use crate::connection::Sent;
use crate::contract::{Command, Envelope, PathErrorCode, Start, Status};

/// Works until the mower is let go of.
pub(crate) async fn work(shared: Arc<Shared>, held: Arc<Held>) {
    let mut released = held.released.subscribe();
    while !*released.borrow_and_update() {
        let changed = held.queue.changed.notified();
        match held.queue.pop() {
            Some(envelope) => step(&shared, &held, envelope).await,
            None => tokio::select! {
                () = changed => {}
                _ = released.changed() => {}
            },
        }
    }
}

async fn step(shared: &Shared, held: &Held, envelope: Envelope) {
    let command_id = envelope.command_id;
    let mut stops = held.stopped.subscribe();
    let mut calming = held.calmed.subscribe();
    let verdict = match shared.may_act(held, &envelope) {
        Ok(_) => tokio::select! {
            biased;
            _ = stops.changed() => Err(cancelled(shared, held, &envelope)),
            _ = calming.wait_for(|epoch| calmed(&envelope, *epoch)) => {
                Err(Refused(Status::Rejected, CALMED.to_owned()))
            }
            verdict = path_is_the_same(shared, held, &envelope) => verdict,
        },
        Err(refused) => Err(refused),
    };
    if let Err(Refused(status, why)) = verdict {
        shared.settle(command_id, status, &why).await;
        return;
    }
    if let Some(rest) = shared.limited(held) {
        let why = format!("vendor-limited: retry after {} s", rest.as_secs().max(1));
        shared.settle(command_id, Status::Failed, &why).await;
        return;
    }
    if send(shared, held, &envelope, &mut stops).await {
        wait_for_the_vendor(shared, held, &envelope, &mut stops).await;
    }
}

/// Why a step that was not sent is cancelled: a stop, or the mower is let go of.
fn cancelled(shared: &Shared, held: &Held, envelope: &Envelope) -> Refused {
    match shared.may_act(held, envelope) {
        Err(refused) => refused,
        Ok(_) => Refused(Status::Rejected, SUPERSEDED.to_owned()),
    }
}

/// Hands the command over; whether the vendor may have it.
async fn send(
    shared: &Shared,
    held: &Held,
    envelope: &Envelope,
    stops: &mut watch::Receiver<u64>,
) -> bool {
    let command_id = envelope.command_id;
    // SAFETY-STOP: a stop looks whether this is held. If it is, it cancels what
    // is below and sends itself once more afterwards.
    let wire = held.wire.lock().await;
    let mut calming = held.calmed.subscribe();
    let before = (*calming.borrow_and_update()).max(envelope.calm_epoch);
    if let Err(cause) = shared.ledger.acting(command_id).await {
        let why = format!("not-remembered: {cause}; it was not sent");
        shared.settle(command_id, Status::Failed, &why).await;
        return false;
    }
    // INVARIANT: after every wait, immediately before acting.
    let verdict = match shared.may_act(held, envelope) {
        Ok(_) if stops.has_changed().unwrap_or(true) => Err(cancelled(shared, held, envelope)),
        verdict => verdict,
    };
    let fence = match verdict {
        Ok(fence) => fence,
        Err(Refused(status, why)) => {
            shared.settle(command_id, status, &why).await;
            return false;
        }
    };
    let sending = held.connection.send(fence, command_id, &envelope.command);
    let sent = tokio::select! {
        biased;
        _ = stops.changed() => Sent::Unknown("cancelled on its way".to_owned()),
        // What calms waits for no vendor that does not take this.
        _ = calming.wait_for(|epoch| *epoch > before) => {
            Sent::Unknown("cancelled on its way".to_owned())
        }
        sent = timeout(shared.config.times.send, sending) => {
            sent.unwrap_or_else(|_| Sent::Unknown("the vendor did not take it in time".to_owned()))
        }
    };
    drop(wire);
    match sent {
        Sent::Taken => true,
        Sent::Unknown(why) => {
            tracing::warn!(%command_id, why, "a command may have gone out; it stays accepted");
            true
        }
        Sent::NotSent(why) => {
            let why = format!("offline: {why}");
            shared.settle(command_id, Status::Failed, &why).await;
            false
        }
        Sent::Limited { retry_after_s } => {
            shared.limit(held, retry_after_s);
            let why = format!("vendor-limited: retry after {retry_after_s} s");
            shared.settle(command_id, Status::Failed, &why).await;
            false
        }
    }
}

/// Keeps the next command back until the vendor spoke of this one, but not for
/// long, and not a calming one. The answer itself is taken in elsewhere, and
/// may come at any time later.
async fn wait_for_the_vendor(
    shared: &Shared,
    held: &Held,
    envelope: &Envelope,
    stops: &mut watch::Receiver<u64>,
) {
    let mut changes = shared.ledger.changes();
    let answered = async {
        while shared.ledger.finished(envelope.command_id).is_none() {
            if changes.changed().await.is_err() {
                return;
            }
        }
    };
    let calming = async {
        loop {
            let changed = held.queue.changed.notified();
            if held.queue.calming_next() {
                return;
            }
            changed.await;
        }
    };
    tokio::select! {
        () = answered => {}
        () = calming => {}
        _ = stops.changed() => {}
        () = sleep(shared.config.times.answer) => {}
    }
}

/// A start or resume that names a path drives that path or none.
async fn path_is_the_same(
    shared: &Shared,
    held: &Held,
    envelope: &Envelope,
) -> Result<(), Refused> {
    match &envelope.command {
        Command::StartMow(start) => match &start.expected_path_hash {
            Some(expected) => planned(shared, held, envelope, start, expected).await,
            None => Ok(()),
        },
        Command::ResumeMow {
            expected_path_hash: Some(expected),
        } => {
            let state = held.connection.state();
            let kept = state.borrow().job.as_ref().map(|job| job.path_hash.clone());
            if kept.as_ref() == Some(expected) {
                Ok(())
            } else {
                Err(plan_changed(kept.as_deref()))
            }
        }
        _ => Ok(()),
    }
}

async fn planned(
    shared: &Shared,
    held: &Held,
    envelope: &Envelope,
    start: &Start,
    expected: &str,
) -> Result<(), Refused> {
    if !held.connection.capabilities().path_preview {
        let why = "capability: the mower cannot show the path it would drive";
        return Err(Refused(Status::Rejected, why.to_owned()));
    }
    let left = envelope.expires_at.duration_since(shared.time.now());
    let left = Duration::try_from(left).unwrap_or_default();
    let planning = async {
        // A preview may be under way: the mower plans one path at a time.
        let _turn = held.planning.lock().await;
        held.connection.plan(start).await
    };
    match timeout(left.min(shared.config.times.planning), planning).await {
        Ok(Ok(path)) if path.path_hash == expected => Ok(()),
        Ok(Ok(path)) => Err(plan_changed(Some(&path.path_hash))),
        Ok(Err(cause)) => {
            let status = match cause.code {
                PathErrorCode::Unsupported | PathErrorCode::Rejected => Status::Rejected,
                _ => Status::Failed,
            };
            let why = format!("path-not-checked: {}; it was not sent", cause.detail);
            Err(Refused(status, why))
        }
        Err(_) => {
            shared.may_act(held, envelope)?;
            let why = "path-not-checked: planning took too long; it was not sent";
            Err(Refused(Status::Failed, why.to_owned()))
        }
    }
}

fn plan_changed(now: Option<&str>) -> Refused {
    let why = match now {
        Some(hash) => format!("plan-changed: the mower would drive `{hash}`"),
        None => "plan-changed: the mower keeps no job".to_owned(),
    };
    Refused(Status::Rejected, why)
}

#[cfg(test)]
mod tests;

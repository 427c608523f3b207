//! The beginning of a stop: in memory and without a wait.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio::time::Instant;

use super::carry::Stop;
use crate::bus::Receipt;
use crate::connection::Verdict;
use crate::contract::{Envelope, Status};
use crate::device::drive;
use crate::device::held::{Held, lock};
use crate::device::shared::{SUPERSEDED, Shared};
use crate::device::wire::StopDone;

/// A stop under way.
pub(crate) struct Active {
    /// Acknowledged once the vendor has the stop and the stop is written down,
    /// or at its end.
    pub(super) receipt: Mutex<Option<Box<dyn Receipt>>>,
    /// On the disk: a restart knows what the stop superseded.
    pub(super) written: watch::Sender<bool>,
    /// What the first attempt did.
    pub(super) first: watch::Sender<Option<(StopDone, Option<String>)>>,
    /// The vendor's word, if it was not that it is done.
    pub(crate) refusal: Mutex<Option<Verdict>>,
}

/// Begins a stop, or joins the same one under way. Gives what its first attempt
/// did, once it is known.
pub(crate) fn begin(
    shared: &Arc<Shared>,
    held: &Arc<Held>,
    envelope: Envelope,
    receipt: Option<Box<dyn Receipt>>,
) -> watch::Receiver<Option<(StopDone, Option<String>)>> {
    let mut under_way = lock(&held.stops);
    if let Some(active) = under_way.get(&envelope.command_id) {
        if receipt.is_some() {
            *lock(&active.receipt) = receipt;
        }
        return active.first.subscribe();
    }
    let mark = shared
        .ledger
        .raise(held.mower_id, envelope.stop_epoch, envelope.issued_at);
    let mut lines = shared.ledger.note(&envelope, shared.time.now());
    lines.push(mark);
    let active = Arc::new(Active {
        receipt: Mutex::new(receipt),
        written: watch::Sender::new(false),
        first: watch::Sender::new(None),
        refusal: Mutex::new(None),
    });
    let first = active.first.subscribe();
    under_way.insert(envelope.command_id, Arc::clone(&active));
    drop(under_way);
    let left = shared
        .time
        .stop_left(envelope.issued_at, envelope.expires_at);
    let stop = Stop {
        shared: Arc::clone(shared),
        held: Arc::clone(held),
        until: Instant::now() + left,
        envelope,
        active: Arc::clone(&active),
    };
    if left.is_zero() {
        shared.spawn(stop.too_late(lines));
        return first;
    }
    shared.metrics.stops.add();
    let session = drive::cut(held);
    let dropped = held.queue.drain();
    held.cancel();
    let clear = held.wire.try_lock().is_ok();
    shared.spawn(stop.carry_out(clear));
    let held = Arc::clone(held);
    shared.run(|shared| async move {
        shared.ledger.write(lines, true).await;
        active.written.send_replace(true);
        for command in dropped {
            shared
                .settle(command.command_id, Status::Rejected, SUPERSEDED)
                .await;
        }
        if let Some(session) = session {
            drive::say_ended(&shared, &held, session, "stopped").await;
        }
    });
    first
}

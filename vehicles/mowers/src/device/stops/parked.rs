//! Stops for mowers that this shard does not hold: one may come to it while a
//! stop is on its way.

use std::sync::Arc;
use std::time::Duration;

use super::begin;
use crate::contract::Envelope;
use crate::device::held::{Held, lock};
use crate::device::shared::Shared;

/// The most stops kept for one such mower.
pub(super) const MOST: usize = 8;

/// Begins what was parked for a mower that this shard holds now.
pub(crate) fn begin_all(shared: &Arc<Shared>, held: &Arc<Held>) {
    let parked = lock(&shared.parked).remove(&held.mower_id);
    for envelope in parked.unwrap_or_default() {
        if !left(shared, &envelope).is_zero() {
            begin(shared, held, envelope, None);
        }
    }
}

/// Keeps a stop for as long as it lives.
pub(super) fn keep(shared: &Shared, envelope: Envelope) {
    let mut parked = lock(&shared.parked);
    let stops = parked.entry(envelope.mower_id).or_default();
    // The newest count: they say the most of when the mower must stand.
    if stops.len() == MOST {
        stops.remove(0);
    }
    stops.push(envelope);
}

fn left(shared: &Shared, stop: &Envelope) -> Duration {
    shared.time.stop_left(stop.issued_at, stop.expires_at)
}

/// Forgets those whose life is over. Not as each is kept: a stop of a fleet
/// parks thousands, and this shard's own stops stand among them.
pub(crate) fn forget_ended(shared: &Shared) {
    lock(&shared.parked).retain(|_, stops| {
        stops.retain(|stop| !left(shared, stop).is_zero());
        !stops.is_empty()
    });
}

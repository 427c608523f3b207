//! When a state is published, and what of it.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::contract::state::Link as LinkState;
use crate::contract::{Activity, InactiveReason, MowerState};
use crate::sim::machine::report::Envelope;
use crate::sim::world::{HEARTBEAT_MS, MOVING_MS, World};

/// A change of any of these is published at once.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Face {
    activity: Activity,
    reason: InactiveReason,
    blade_on: bool,
    latched: bool,
    error: Option<String>,
    job: Option<Uuid>,
    charging: bool,
    accuracy_m: f64,
    height_mm: u16,
}

impl Face {
    pub(super) fn of(state: &MowerState) -> Self {
        Self {
            activity: state.activity,
            reason: state.inactive_reason,
            blade_on: state.blade_on,
            latched: state.emergency.latched,
            error: state.error.as_ref().map(|error| error.code.clone()),
            job: state.job.as_ref().map(|job| job.plan_id),
            charging: state.charging,
            accuracy_m: state.position_accuracy_m,
            height_mm: state.blade_height_mm,
        }
    }
}

impl World {
    /// Publishes the state if it is time or something changed. Of a mower that
    /// cannot be heard, only that: what it does then is not known.
    pub(in crate::sim) fn publish(&mut self) {
        let at = self.clock.now();
        if !self.reachable() {
            self.publish_lost(at);
            return;
        }
        self.heard = at;
        let skewed = at
            .checked_add(SignedDuration::from_millis(self.link.skew_ms))
            .unwrap_or(at);
        let state = self.machine.report(&Envelope {
            mower_id: self.mower_id,
            seq: self.seq + 1,
            born: self.born,
            speed: self.speed,
            at: skewed,
            link: heard(true, self.link.quality.latency_ms, at),
        });
        let face = Some(Face::of(&state));
        let waited = self.now_ms.saturating_sub(self.published_ms);
        if waited >= self.period_ms() || face != self.face {
            self.face = face;
            self.send_state(state);
        }
    }

    /// Says once that the mower is not heard any more.
    fn publish_lost(&mut self, at: Timestamp) {
        let last = Arc::clone(&self.state.borrow());
        if last.link.online {
            self.face = None;
            self.send_state(MowerState {
                activity: Activity::Offline,
                ha_activity: Activity::Offline.ha().to_owned(),
                link: heard(false, self.link.quality.latency_ms, self.heard),
                seq: self.seq + 1,
                at,
                ..MowerState::clone(&last)
            });
        }
    }

    fn send_state(&mut self, state: MowerState) {
        self.seq = state.seq;
        self.published_ms = self.now_ms;
        self.state.send_replace(Arc::new(state));
    }

    /// Whether the mower can be heard.
    pub(in crate::sim) fn reachable(&self) -> bool {
        self.link.online(self.now_ms) && self.machine.activity() != Activity::Offline
    }

    fn period_ms(&self) -> u64 {
        if self.machine.rests() {
            HEARTBEAT_MS
        } else {
            MOVING_MS
        }
    }
}

/// The link as its holder knows it.
pub(super) fn heard(online: bool, latency_ms: f64, last_seen: Timestamp) -> LinkState {
    LinkState {
        online,
        rssi_dbm: online.then_some(-65),
        rtt_ms: online.then_some(2.0 * latency_ms),
        last_seen: Some(last_seen),
    }
}

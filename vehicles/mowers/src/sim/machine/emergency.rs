//! The emergency latch, and how a stop is carried out.

use crate::contract::{InactiveReason, StopSemantics};
use crate::sim::machine::sensors::Part;
use crate::sim::machine::{Machine, Mode};

/// The emergency latch: it outlives a restart.
#[derive(Clone, Debug, Default)]
pub(super) struct Latch {
    pub(super) reason: Option<String>,
    pub(super) since_ms: u64,
    /// Whether the cause is still there.
    pub(super) active: bool,
}

impl Machine {
    /// Cuts the motors until somebody takes the latch off.
    pub(super) fn latch(&mut self, reason: &str) {
        // SAFETY-STOP: the latch comes first; what follows only tidies up.
        let since_ms = self.now_ms;
        let active = self.lifted || self.tilted;
        let latch = self.latch.get_or_insert_with(|| Latch {
            reason: Some(reason.to_owned()),
            since_ms,
            active,
        });
        latch.active = active;
        self.halt();
        self.inactive = InactiveReason::EmergencyLatched;
    }

    /// An emergency stop, in the way this mower has.
    pub(super) fn stop(&mut self, reason: &str) {
        match self.profile.capabilities.stop_semantics {
            StopSemantics::MotorsOff | StopSemantics::PauseThenLock => self.latch(reason),
            StopSemantics::Pause => self.halt(),
        }
    }

    /// Stands where it is and does not go on by itself.
    fn halt(&mut self) {
        if self.moving() {
            self.enter(Mode::Paused);
        }
        self.wait = None;
    }

    /// The emergency button.
    pub(in crate::sim) fn press_emergency(&mut self, reason: &str) {
        self.latch(reason);
    }

    /// Takes the latch off; false while its cause is there.
    pub(in crate::sim) fn reset_emergency(&mut self) -> bool {
        if self.lifted || self.tilted || self.sensors.lost(Part::Sensors, self.now_ms) {
            return false;
        }
        self.latch = None;
        self.inactive = InactiveReason::None;
        true
    }
}

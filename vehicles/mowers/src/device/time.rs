//! The fleet's time, as near as a device gateway can know it.
//!
//! Commands expire by the clock that issued them, so expiry is judged on that
//! clock: the own one, moved by the measured difference. Each lease answer is a
//! measurement; its error is at most half the round trip, so only round trips
//! up to a second count, which is the half second that is allowed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use interlock_guard::Clock;
use jiff::{SignedDuration, Timestamp};
use tokio::time::Instant;

/// A device gateway whose clock differs more refuses all but stops.
pub(crate) const LARGEST_SKEW: SignedDuration = SignedDuration::from_secs(2);

/// So much later than now may a command claim to be issued.
pub(crate) const ALLOWED_SKEW: SignedDuration = SignedDuration::from_millis(500);

/// Slower round trips measure nothing.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(1);

/// A measurement is worth nothing after that.
const MEASUREMENT_LIFE: Duration = Duration::from_secs(60);

#[derive(Clone, Copy)]
struct Measured {
    offset: SignedDuration,
    at: Instant,
}

/// The own clock and how far it is off.
pub(crate) struct FleetTime {
    clock: Arc<dyn Clock>,
    measured: Mutex<Option<Measured>>,
}

impl FleetTime {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        FleetTime {
            clock,
            measured: Mutex::new(None),
        }
    }

    /// The own clock, unmoved.
    pub(crate) fn own(&self) -> Timestamp {
        self.clock.now()
    }

    /// The fleet's time.
    pub(crate) fn now(&self) -> Timestamp {
        let own = self.clock.now();
        match self.measured() {
            Some(measured) => own.saturating_add(measured.offset).unwrap_or(own),
            None => own,
        }
    }

    /// Takes a measurement: what the fleet's clock said between `asked` and now.
    pub(crate) fn learn(&self, asked: Timestamp, asked_at: Instant, fleet: Timestamp) {
        let round_trip = asked_at.elapsed();
        if round_trip > LONGEST_ROUND_TRIP {
            return;
        }
        let half = SignedDuration::try_from(round_trip / 2).unwrap_or_default();
        let middle = asked.saturating_add(half).unwrap_or(asked);
        *self.lock() = Some(Measured {
            offset: fleet.duration_since(middle),
            at: Instant::now(),
        });
    }

    /// Whether movements may be judged by this clock; says why not.
    pub(crate) fn trusted(&self) -> Result<(), String> {
        match self.measured() {
            None => Err("clock-skew: the fleet's time is not known".to_owned()),
            Some(measured) if measured.offset.abs() > LARGEST_SKEW => Err(format!(
                "clock-skew: this clock is {} ms off the fleet's",
                measured.offset.as_millis()
            )),
            Some(_) => Ok(()),
        }
    }

    /// How long something issued and ending then still lives; a stop counts from
    /// now when nobody knows the fleet's time, for a wrong clock must not end it.
    pub(crate) fn stop_left(&self, issued_at: Timestamp, expires_at: Timestamp) -> Duration {
        let left = match self.measured() {
            Some(_) => expires_at.duration_since(self.now()),
            None => expires_at.duration_since(issued_at),
        };
        Duration::try_from(left).unwrap_or_default()
    }

    fn measured(&self) -> Option<Measured> {
        self.lock()
            .filter(|measured| measured.at.elapsed() <= MEASUREMENT_LIFE)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Measured>> {
        self.measured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;

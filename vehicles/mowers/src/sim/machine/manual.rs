//! Manual driving: frames, the dead man's time, one driver at a time.

use uuid::Uuid;

use crate::contract::Drive;
use crate::sim::machine::body::{TURN_RATE, Wheels};

/// Frames nearer than this to the last one are dropped, unless they stop.
const LEAST_SPACING_MS: u64 = 150;
/// A session without frames ends after this long.
const IDLE_MS: u64 = 10_000;

/// What became of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::sim) enum Framed {
    /// It is driven.
    Taken,
    /// Somebody else drives.
    Occupied,
    /// Not newer than one seen before.
    Stale,
    /// Too soon after the last one.
    TooSoon,
    /// Not a number, or out of its range.
    Malformed,
}

/// The session of the driver.
#[derive(Clone, Debug, Default)]
pub(in crate::sim) struct Manual {
    session: Option<Session>,
    /// The last one that was said to be over.
    over: Option<Uuid>,
    /// Somebody drives with the local stick: a share of speed and of turn rate.
    pub(in crate::sim) stick: Option<(f64, f64)>,
}

#[derive(Clone, Debug)]
struct Session {
    id: Uuid,
    sequence: u64,
    heard_ms: u64,
    dead_ms: u64,
    linear: f64,
    angular: f64,
    blade: bool,
}

impl Manual {
    /// Takes a frame or does not.
    pub(in crate::sim) fn frame(&mut self, frame: &Drive, now_ms: u64) -> Framed {
        let share = -1.0..=1.0;
        if !share.contains(&frame.linear)
            || !share.contains(&frame.angular)
            || !(100..=2_000).contains(&frame.ttl_ms)
        {
            return Framed::Malformed;
        }
        if self.stick.is_some() {
            return Framed::Occupied;
        }
        // Overtaken on its way by the word that its session is over.
        if self.over == Some(frame.session_id) {
            return Framed::Stale;
        }
        let stands = frame.linear == 0.0 && frame.angular == 0.0 && !frame.blade_on;
        if let Some(session) = &self.session {
            if session.id != frame.session_id {
                return Framed::Occupied;
            }
            if frame.sequence <= session.sequence {
                return Framed::Stale;
            }
            if !stands && now_ms < session.heard_ms + LEAST_SPACING_MS {
                return Framed::TooSoon;
            }
        }
        self.session = Some(Session {
            id: frame.session_id,
            sequence: frame.sequence,
            heard_ms: now_ms,
            dead_ms: now_ms + u64::from(frame.ttl_ms),
            linear: frame.linear,
            angular: frame.angular,
            blade: frame.blade_on,
        });
        Framed::Taken
    }

    /// Takes no more frames of this session; whether it was the driver's.
    pub(in crate::sim) fn over(&mut self, session: Uuid) -> bool {
        self.over = Some(session);
        self.session.take_if(|it| it.id == session).is_some()
    }

    /// The session is over.
    pub(in crate::sim) fn end(&mut self) {
        self.session = None;
    }

    /// What the wheels and the blade should do; `None` when the session is over.
    pub(in crate::sim) fn wheels(
        &mut self,
        now_ms: u64,
        fastest_mps: f64,
    ) -> Option<(Wheels, bool)> {
        let wheels = |linear: f64, angular: f64| Wheels {
            speed: linear.clamp(-1.0, 1.0) * fastest_mps,
            turn: angular.clamp(-1.0, 1.0) * TURN_RATE,
        };
        if let Some((linear, angular)) = self.stick {
            return Some((wheels(linear, angular), false));
        }
        let session = self.session.as_ref()?;
        if now_ms >= session.heard_ms + IDLE_MS {
            self.session = None;
            return None;
        }
        // SAFETY-STOP: no frame, no motion.
        if now_ms >= session.dead_ms {
            return Some((Wheels::default(), false));
        }
        Some((wheels(session.linear, session.angular), session.blade))
    }
}

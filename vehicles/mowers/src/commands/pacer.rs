//! How fast one vendor account may be asked to start mowers.
//!
//! Each start gets its turn when it is taken, so that its answer can say when
//! its life ends: `ttl` after its turn. A turn that lies too far ahead is not
//! taken at all. Stops and calming commands have no turn: they go at once.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::life::after;

#[cfg(test)]
mod tests;

/// Starts in any one second for one vendor account.
const PER_SECOND: usize = 5;

/// In which time so many.
const WINDOW: Duration = Duration::from_secs(1);

/// No turn lies further ahead: a start that waits longer is not wanted any more.
/// Enough for five hundred starts at once.
pub(super) const AHEAD: Duration = Duration::from_secs(100);

/// Vendor accounts remembered; those whose turns are over go first.
const ACCOUNTS: usize = 4_096;

/// The turns of each vendor account.
#[derive(Debug, Default)]
pub struct Pacer {
    /// The last turns given, oldest first.
    turns: Mutex<HashMap<String, VecDeque<Timestamp>>>,
}

impl Pacer {
    /// Gives the next turn of a vendor account.
    ///
    /// # Errors
    /// It lies too far ahead: after how long it no longer does.
    pub fn turn(&self, vendor_account: &str, now: Timestamp) -> Result<Timestamp, SignedDuration> {
        let mut all = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= ACCOUNTS {
            all.retain(|_, turns| turns.back().is_some_and(|last| after(*last, WINDOW) > now));
        }
        let turns = all.entry(vendor_account.to_owned()).or_default();
        let free = match turns.front() {
            Some(oldest) if turns.len() >= PER_SECOND => after(*oldest, WINDOW),
            _ => now,
        };
        // In order of asking, also where the clock was set back.
        let turn = free.max(now).max(turns.back().copied().unwrap_or(now));
        let last = after(now, AHEAD);
        if turn > last {
            return Err(turn.duration_since(last));
        }
        if turns.len() >= PER_SECOND {
            turns.pop_front();
        }
        turns.push_back(turn);
        Ok(turn)
    }
}

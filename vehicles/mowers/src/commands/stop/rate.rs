//! How often each issuer stops: logged and counted, never limited.
//!
//! SAFETY-STOP: looked at after the stops are sent and written down, so that
//! nothing of it stands before a stop.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::{SignedDuration, Timestamp};

#[cfg(test)]
mod tests;

/// More calls of one issuer within an hour are told of.
pub const OFTEN: u32 = 20;

/// Counted from the first call; then anew.
const WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// Issuers remembered before those of whom nothing counts any more are forgotten.
const ISSUERS: usize = 4_096;

/// The calls of each issuer that this replica has seen.
#[derive(Debug, Default)]
pub struct StopRate(Mutex<HashMap<String, Calls>>);

#[derive(Clone, Copy, Debug)]
struct Calls {
    since: Timestamp,
    count: u32,
}

impl StopRate {
    /// Counts one call. True once in each window: with the first call that is
    /// too many.
    pub fn is_often(&self, issuer: &str, now: Timestamp) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let counts = |calls: &Calls| now.duration_since(calls.since) < WINDOW;
        if all.len() >= ISSUERS && !all.contains_key(issuer) {
            all.retain(|_, calls| counts(calls));
            if all.len() >= ISSUERS {
                // Nobody stands out of such a crowd.
                return false;
            }
        }
        let first = Calls {
            since: now,
            count: 0,
        };
        let calls = all.entry(issuer.to_owned()).or_insert(first);
        if !counts(calls) {
            *calls = first;
        }
        calls.count = calls.count.saturating_add(1);
        calls.count == OFTEN.saturating_add(1)
    }
}

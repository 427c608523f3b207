//! How many previews at once, and how many in a minute: a preview makes a mower
//! compute and spends its vendor's budget.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use uuid::Uuid;

use crate::commands::life::after;
use crate::service::problem::Problem;
use crate::service::settings::Limits;

const MINUTE: Duration = Duration::from_secs(60);

/// Callers remembered before those of whom nothing counts any more are forgotten.
const CALLERS: usize = 4_096;

/// The previews under way and those of the last minute.
#[derive(Debug, Default)]
pub struct Previews {
    memory: Arc<Mutex<Memory>>,
    limits: Limits,
}

#[derive(Debug, Default)]
struct Memory {
    mowers: HashSet<Uuid>,
    accounts: HashMap<String, u32>,
    /// When each caller asked, oldest first.
    callers: HashMap<String, VecDeque<Timestamp>>,
}

/// A preview under way; dropping it makes room.
#[derive(Debug)]
pub(super) struct Running {
    memory: Arc<Mutex<Memory>>,
    mower: Uuid,
    account: String,
}

impl Previews {
    /// None yet, under these limits.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        Previews {
            memory: Arc::default(),
            limits,
        }
    }

    /// How many are under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        lock(&self.memory).mowers.len()
    }

    /// Begins a preview, if there is room for it.
    pub(super) fn begin(
        &self,
        mower: Uuid,
        account: &str,
        caller: &str,
        now: Timestamp,
    ) -> Result<Running, Problem> {
        let mut memory = lock(&self.memory);
        if memory.mowers.contains(&mower) {
            return Err(Problem::PreviewRunning);
        }
        let under_way = memory.accounts.get(account).copied().unwrap_or_default();
        if under_way >= self.limits.previews_of_account {
            // One of them ends within a minute and a half; most do in seconds.
            return Err(Problem::PreviewLimit { retry_after_s: 5 });
        }
        memory.count(caller, self.limits.previews_a_minute, now)?;
        memory.mowers.insert(mower);
        memory.accounts.insert(account.to_owned(), under_way + 1);
        drop(memory);
        Ok(Running {
            memory: Arc::clone(&self.memory),
            mower,
            account: account.to_owned(),
        })
    }
}

impl Memory {
    fn count(&mut self, caller: &str, most: u32, now: Timestamp) -> Result<(), Problem> {
        let counts = |at: &Timestamp| after(*at, MINUTE) > now;
        if self.callers.len() >= CALLERS {
            self.callers
                .retain(|_, asked| asked.back().is_some_and(counts));
        }
        let asked = self.callers.entry(caller.to_owned()).or_default();
        while asked.front().is_some_and(|at| !counts(at)) {
            asked.pop_front();
        }
        if let Some(oldest) = asked.front().filter(|_| asked.len() >= most as usize) {
            let left = after(*oldest, MINUTE).duration_since(now);
            let seconds = u32::try_from(left.as_secs()).unwrap_or_default();
            return Err(Problem::PreviewLimit {
                retry_after_s: seconds.saturating_add(1),
            });
        }
        asked.push_back(now);
        Ok(())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let mut memory = lock(&self.memory);
        memory.mowers.remove(&self.mower);
        if let Some(count) = memory.accounts.get_mut(&self.account) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                memory.accounts.remove(&self.account);
            }
        }
    }
}

fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
}

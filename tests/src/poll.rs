//! Waits for a state that another process or thread brings about.
//!
//! The one place of the tests where time passes. A test names what it waits
//! for and goes on the moment it is there; the deadline only turns a hang into
//! a failure, and is never part of what a test claims.

use std::time::{Duration, Instant};

/// Far longer than anything here takes, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

/// How often a state is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Looks until `probe` finds what it looks for. Blocks the thread.
///
/// # Panics
/// When it is not there within the deadline; the message names `what`.
pub fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(began.elapsed() < DEADLINE, "waited in vain: {what}");
        std::thread::sleep(LOOK);
    }
}

/// [`until`] for a probe that asks over the network.
///
/// # Panics
/// When it is not there within the deadline; the message names `what`.
pub async fn until_async<T>(what: &str, mut probe: impl AsyncFnMut() -> Option<T>) -> T {
    let looking = async {
        loop {
            if let Some(found) = probe().await {
                return found;
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    match tokio::time::timeout(DEADLINE, looking).await {
        Ok(found) => found,
        Err(_) => panic!("waited in vain: {what}"),
    }
}

/// [`until_async`] for a probe that tells what it saw instead.
///
/// # Panics
/// When it is not there within the deadline; the message names `what` and the
/// last that was seen.
pub async fn until_seen<T>(what: &str, mut probe: impl AsyncFnMut() -> Result<T, String>) -> T {
    let mut seen = String::new();
    let looking = async {
        loop {
            match probe().await {
                Ok(found) => return found,
                Err(instead) => seen = instead,
            }
            tokio::time::sleep(LOOK).await;
        }
    };
    match tokio::time::timeout(DEADLINE, looking).await {
        Ok(found) => found,
        Err(_) => panic!("waited in vain: {what}; there is: {seen}"),
    }
}

/// Ends `work` when it takes longer than the deadline.
///
/// # Panics
/// When it does; the message names `what`.
pub async fn within<T>(what: &str, work: impl Future<Output = T>) -> T {
    match tokio::time::timeout(DEADLINE, work).await {
        Ok(done) => done,
        Err(_) => panic!("did not end: {what}"),
    }
}

/// The read timeout of blocking sockets: a peer that says nothing fails the
/// test instead of hanging it.
pub(crate) const SOCKET: Duration = DEADLINE;

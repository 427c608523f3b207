//! One call for many mowers.

use std::time::{Duration, Instant};

use interlock_mowers::sim::area_id;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::stack::Stack;
use crate::personas::Persona;
use crate::poll;

/// Never left out of a command to many, and without a turn of its own.
const KIND: &str = "pause_mow";

/// One command to a group.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Bulk {
    /// Members that took it.
    pub(in crate::bench) accepted: u64,
    /// Until the caller had its answer.
    pub(in crate::bench) answered: Duration,
    /// Until the last mower had confirmed.
    pub(in crate::bench) confirmed: Duration,
    /// Until that was on record.
    pub(in crate::bench) recorded: Duration,
    /// Records that say executed.
    pub(in crate::bench) executed: u64,
}

/// One emergency stop of an account.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Stop {
    /// Mowers of the account.
    pub(in crate::bench) mowers: u64,
    /// Mowers that drove.
    pub(in crate::bench) driving: u64,
    /// What the answer says of them and of itself.
    pub(in crate::bench) accepted: u64,
    pub(in crate::bench) on_record: bool,
    /// Until the caller had its answer.
    pub(in crate::bench) answered: Duration,
    /// Until the last mower stood and had said so.
    pub(in crate::bench) stood: Duration,
    /// Until that was on record.
    pub(in crate::bench) recorded: Duration,
    /// Records that say executed.
    pub(in crate::bench) executed: u64,
}

/// Pauses the group.
///
/// # Panics
/// When a member is left out, or does not confirm.
pub(super) async fn bulk(stack: &Stack) -> Bulk {
    let path = format!("/api/v1/fleet/groups/{}/commands", stack.fleet.group);
    let body = json!({ "command": { "kind": KIND } });
    let call = stack.call(Persona::Dispatcher, "POST", &path).json(&body);
    let call = call.key(&Uuid::new_v4().to_string());
    let (at, began) = (Timestamp::now(), Instant::now());
    let answer = call.send().await;
    let answered = began.elapsed();
    assert_eq!(answer.status, 202, "{}", answer.text());
    let answer = answer.json();
    let accepted = count(&answer, "accepted");
    let others = ["forbidden", "failed", "skipped"].map(|name| count(&answer, name));
    assert_eq!(others, [0, 0, 0], "{answer}");
    let outcomes = stack.fleet.ended(KIND, accepted).await;
    let recorded = began.elapsed();
    assert_eq!(outcomes.executed(), accepted, "{outcomes:?}");
    Bulk {
        accepted,
        answered,
        confirmed: since(at, outcomes.last_ms),
        recorded,
        executed: outcomes.executed(),
    }
}

/// Stops the account while some of its mowers drive.
///
/// # Panics
/// When a mower does not confirm, or does not stand after it.
pub(super) async fn stop(stack: &Stack, driving: u32) -> Stop {
    let some = usize::try_from(driving).expect("a count");
    let some: Vec<Uuid> = stack.fleet.mowers.iter().take(some).copied().collect();
    for mower in &some {
        start(stack, *mower).await;
    }
    for mower in &some {
        poll::until_async("a mower drives", async || {
            let state = stack.state(*mower).await;
            let drives = state["speed_mps"].as_f64().is_some_and(|it| it.abs() > 0.0);
            drives.then_some(())
        })
        .await;
    }
    let call = stack.call(Persona::Viewer, "POST", "/api/v1/fleet/emergency-stop");
    let (at, began) = (Timestamp::now(), Instant::now());
    let answer = call.send().await;
    let answered = began.elapsed();
    assert_eq!(answer.status, 202, "{}", answer.text());
    let answer = answer.json();
    let mowers = stack.fleet.mowers.len() as u64;
    let outcomes = stack.fleet.ended("emergency_stop", mowers).await;
    let recorded = began.elapsed();
    assert_eq!(outcomes.executed(), mowers, "{outcomes:?}");
    for mower in &some {
        poll::until_async("a mower stands, latched", async || {
            let state = stack.state(*mower).await;
            let stands = state["speed_mps"].as_f64() == Some(0.0);
            (stands && state["emergency"]["latched"] == true).then_some(())
        })
        .await;
    }
    Stop {
        mowers,
        driving: u64::from(driving),
        accepted: count(&answer, "accepted"),
        on_record: answer["recorded"] == true,
        answered,
        stood: since(at, outcomes.last_ms),
        recorded,
        executed: outcomes.executed(),
    }
}

/// Sends a mower over its own lawn.
async fn start(stack: &Stack, mower: Uuid) {
    let path = format!("/api/v1/fleet/mowers/{mower}/commands");
    let body = json!({
        "command": { "kind": "start_mow", "area_ids": [area_id(mower, 1)] },
        "area_clear_confirmed": true,
    });
    let call = stack.call(Persona::Operator, "POST", &path).json(&body);
    let answer = call.key(&Uuid::new_v4().to_string()).send().await;
    assert_eq!(answer.status, 202, "{}", answer.text());
}

fn count(answer: &Value, name: &str) -> u64 {
    answer[name].as_u64().expect("a count")
}

/// From a time of this machine's clock to another.
fn since(at: Timestamp, then_ms: i64) -> Duration {
    let passed = then_ms.saturating_sub(at.as_millisecond());
    Duration::from_millis(u64::try_from(passed).unwrap_or_default())
}

//! Commands to single mowers, as many as go through.

use std::time::Instant;

use serde_json::json;
use uuid::Uuid;

use super::stack::Stack;
use crate::bench::machine::ticks_per_second;
use crate::bench::wrk::{self, Ask, CONNECTIONS, Seen};
use crate::personas::Persona;

/// Taken by a mower in its dock, carried out at once, and never left out.
const KIND: &str = "set_blade_height";

/// What was measured.
#[derive(Clone, Debug)]
pub(in crate::bench) struct Commands {
    pub(in crate::bench) seen: Seen,
    /// Records that were written, each of a command that was asked for.
    pub(in crate::bench) recorded: u64,
    /// Commands that mowers have confirmed.
    pub(in crate::bench) executed: u64,
    /// From the last answer to the last result on record, in seconds.
    pub(in crate::bench) behind_s: f64,
    /// CPU per command of each part, in microseconds, up to the last result.
    pub(in crate::bench) cpu_us: Vec<(&'static str, f64)>,
}

/// Commands the fleet's mowers in turn.
///
/// # Panics
/// When a call is refused, or a command does not end as executed.
pub(super) async fn measure(stack: &Stack, seconds: u32) -> Commands {
    let warm = wrk::run(stack.gateway.address(), &ask(stack), 1, stack.folder());
    let before = stack.fleet.ended(KIND, warm.requests).await;
    let ticks = stack.ticks();
    let seen = wrk::run(
        stack.gateway.address(),
        &ask(stack),
        seconds,
        stack.folder(),
    );
    let answered = Instant::now();
    let after = stack.fleet.ended(KIND, before.all() + seen.requests).await;
    let behind_s = answered.elapsed().as_secs_f64();
    let recorded = after.all() - before.all();
    let executed = after.executed() - before.executed();
    // wrk hangs up on what it has asked for when its time is over: those are
    // carried out, and it does not count them.
    let asked = seen.requests..=seen.requests + u64::from(CONNECTIONS);
    assert!(
        asked.contains(&recorded),
        "{recorded} records for {asked:?} commands"
    );
    assert_eq!(executed, recorded, "executed of {:?}", after.by_status);
    let each = 1e6 / ticks_per_second() / recorded as f64;
    let spent = stack.ticks().into_iter().zip(ticks);
    Commands {
        seen,
        recorded,
        executed,
        behind_s,
        cpu_us: spent
            .map(|((part, after), (_, before))| (part, (after - before) as f64 * each))
            .collect(),
    }
}

fn ask(stack: &Stack) -> Ask {
    let token = Persona::Operator.token(&stack.idp);
    let token = token.expect("operators have tokens");
    let paths = stack.fleet.mowers.iter();
    let body = json!({ "command": { "kind": KIND, "height_mm": 40 } });
    Ask {
        paths: paths
            .map(|mower| format!("/api/v1/fleet/mowers/{mower}/commands"))
            .collect(),
        headers: vec![("Authorization", format!("Bearer {token}"))],
        write: Some((body.to_string(), format!("bench-{}-", Uuid::new_v4()))),
    }
}

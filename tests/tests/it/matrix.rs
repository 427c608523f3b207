//! The failure matrix, cell by cell: every row of every line is called while
//! something is broken, and what the cell promises is looked for.
//!
//! The cells that a test has executed are held against the matrix both ways,
//! so that a new cell without a test fails, and a test without its cell too.

mod promise;
pub(crate) mod trouble;

use interlock_surface::{CELLS, Condition, Line, ROWS, cells, line};
use interlock_tests::system::Plan;

use crate::personas::public;
use promise::asks;
use trouble::{Stage, Trouble};

/// The cells that the tests below execute.
const EXECUTED: [&[&str]; 6] = [STORE, KEYS, POLICIES, RECORDS, NONE, UNCLEAR];

const STORE: &[&str] = &[
    "store-down/read",
    "store-down/plan",
    "store-down/approval",
    "store-down/write/keyed",
    "store-down/write/unkeyed",
    "store-down/gated-write",
    "store-down/safety-write",
];
const KEYS: &[&str] = &[
    "keys-unreachable/read",
    "keys-unreachable/plan",
    "keys-unreachable/approval",
    "keys-unreachable/write",
    "keys-unreachable/gated-write",
    "keys-unreachable/safety-write",
];
const POLICIES: &[&str] = &[
    "bad-policy-reload/read",
    "bad-policy-reload/plan",
    "bad-policy-reload/approval",
    "bad-policy-reload/write",
    "bad-policy-reload/gated-write",
    "bad-policy-reload/safety-write",
];
const RECORDS: &[&str] = &[
    "audit-failing/read",
    "audit-failing/plan",
    "audit-failing/approval",
    "audit-failing/write",
    "audit-failing/gated-write",
    "audit-failing/safety-write",
];
const NONE: &[&str] = &[
    "effect-none/read",
    "effect-none/plan",
    "effect-none/approval",
    "effect-none/write",
    "effect-none/gated-write",
    "effect-none/safety-write",
];
const UNCLEAR: &[&str] = &[
    "effect-unclear/read",
    "effect-unclear/plan",
    "effect-unclear/approval",
    "effect-unclear/write",
    "effect-unclear/gated-write",
    "effect-unclear/safety-write",
];

/// Lines whose cells bind no row today, and why.
const UNBOUND: [(Line, &str); 3] = [
    (Line::PrivateRead, "no service keeps data of one party yet"),
    (Line::Record, "no service stores without moving yet"),
    (Line::Calming, "no service can be calmed down yet"),
];

/// Calls every row while `trouble` lasts. `wanted` are the cells of it.
async fn execute(plan: Plan, trouble: Trouble, wanted: &[&str]) {
    let mut stage = Stage::set(plan, trouble).await;
    let condition = trouble.condition();
    let mut executed = Vec::new();
    for row in public() {
        for cell in cells(row, condition) {
            let about_service =
                matches!(condition, Condition::EffectNone | Condition::EffectUnclear);
            // What asks no service is not touched by a service that fails.
            if about_service && !asks(row) && line(row) != Some(Line::Approval) {
                continue;
            }
            if stage.system.sim.counters().starts > 0 {
                // Where drones land, others may not pass: everybody starts
                // from the pads.
                stage = Stage::set(plan, trouble).await;
            }
            promise::hold(&stage, trouble, row, cell).await;
            executed.push(cell.id);
        }
    }
    let faults = compare(&executed, wanted);
    assert!(faults.is_empty(), "{trouble:?}: {faults:#?}");
}

/// What is in one of two lists only.
fn compare(these: &[&str], those: &[&str]) -> Vec<String> {
    let missing = those.iter().filter(|id| !these.contains(id));
    let unknown = these.iter().filter(|id| !those.contains(id));
    let missing = missing.map(|id| format!("`{id}` was not executed"));
    missing
        .chain(unknown.map(|id| format!("`{id}` is not listed")))
        .collect()
}

#[tokio::test]
async fn while_the_store_is_down() {
    execute(Plan::REDIS, Trouble::Store, STORE).await;
}

#[tokio::test]
async fn while_the_keys_are_unreachable() {
    execute(Plan::ENFORCED, Trouble::Keys, KEYS).await;
}

#[tokio::test]
async fn while_a_policy_reload_is_refused() {
    execute(Plan::ENFORCED, Trouble::Policies, POLICIES).await;
}

#[tokio::test]
async fn while_records_cannot_be_written() {
    execute(Plan::ENFORCED, Trouble::Records, RECORDS).await;
}

#[tokio::test]
async fn while_the_service_is_not_able() {
    execute(Plan::ENFORCED, Trouble::Unable, NONE).await;
}

/// The call was heard and nothing came of it.
#[tokio::test]
async fn while_calls_vanish() {
    execute(Plan::ENFORCED, Trouble::Silent, UNCLEAR).await;
}

/// The call was carried out and the answer was lost.
#[tokio::test]
async fn while_answers_vanish() {
    execute(Plan::ENFORCED, Trouble::Lost, UNCLEAR).await;
}

#[test]
fn every_cell_is_executed_or_binds_no_row() {
    let bound: Vec<&str> = CELLS
        .iter()
        .filter(|cell| UNBOUND.iter().all(|(line, _)| *line != cell.line))
        .map(|cell| cell.id)
        .collect();
    let executed: Vec<&str> = EXECUTED.into_iter().flatten().copied().collect();
    let faults = compare(&executed, &bound);
    assert!(faults.is_empty(), "{faults:#?}");
    for (unbound, reason) in UNBOUND {
        let row = ROWS.iter().find(|row| line(row) == Some(unbound));
        let name = row.map(|row| row.name);
        assert_eq!(
            name, None,
            "`{unbound}` is bound; it was not since {reason}"
        );
    }
}

#[test]
fn a_cell_without_a_test_and_a_test_without_a_cell_are_found() {
    let check = |these: &[&str], those: &[&str], expected: &[&str]| {
        assert_eq!(compare(these, those), expected);
    };
    check(&["a", "a", "b"], &["a", "b"], &[]);
    check(&["a"], &["a", "b"], &["`b` was not executed"]);
    check(&["a", "b"], &["a"], &["`b` is not listed"]);
}

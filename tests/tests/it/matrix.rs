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
    "store-down/private-read",
    "store-down/record",
    "store-down/plan",
    "store-down/approval",
    "store-down/write/keyed",
    "store-down/write/unkeyed",
    "store-down/gated-write",
    "store-down/calming",
    "store-down/safety-write",
];
const KEYS: &[&str] = &[
    "keys-unreachable/read",
    "keys-unreachable/private-read",
    "keys-unreachable/record",
    "keys-unreachable/plan",
    "keys-unreachable/approval",
    "keys-unreachable/write",
    "keys-unreachable/gated-write",
    "keys-unreachable/calming",
    "keys-unreachable/safety-write",
];
const POLICIES: &[&str] = &[
    "bad-policy-reload/read",
    "bad-policy-reload/private-read",
    "bad-policy-reload/record",
    "bad-policy-reload/plan",
    "bad-policy-reload/approval",
    "bad-policy-reload/write",
    "bad-policy-reload/gated-write",
    "bad-policy-reload/calming",
    "bad-policy-reload/safety-write",
];
const RECORDS: &[&str] = &[
    "audit-failing/read",
    "audit-failing/private-read",
    "audit-failing/record",
    "audit-failing/plan",
    "audit-failing/approval",
    "audit-failing/write",
    "audit-failing/gated-write",
    "audit-failing/calming",
    "audit-failing/safety-write",
];
const NONE: &[&str] = &[
    "effect-none/read",
    "effect-none/private-read",
    "effect-none/record",
    "effect-none/plan",
    "effect-none/approval",
    "effect-none/write",
    "effect-none/gated-write",
    "effect-none/calming",
    "effect-none/safety-write",
];
const UNCLEAR: &[&str] = &[
    "effect-unclear/read",
    "effect-unclear/private-read",
    "effect-unclear/record",
    "effect-unclear/plan",
    "effect-unclear/approval",
    "effect-unclear/write",
    "effect-unclear/gated-write",
    "effect-unclear/calming",
    "effect-unclear/safety-write",
];

/// Calls every row while `trouble` lasts. `wanted` are the cells of it.
async fn execute(plan: Plan, trouble: Trouble, wanted: &[&str]) {
    let plan = plan.with_mowers();
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
fn every_cell_is_executed_and_binds_a_row() {
    let bound: Vec<&str> = CELLS.iter().map(|cell| cell.id).collect();
    let executed: Vec<&str> = EXECUTED.into_iter().flatten().copied().collect();
    let faults = compare(&executed, &bound);
    assert!(faults.is_empty(), "{faults:#?}");
    let unbound = CELLS.iter().map(|cell| cell.line).find(|wanted| {
        let mut lines = ROWS.iter().map(line);
        !lines.any(|line| line == Some(*wanted))
    });
    assert_eq!(unbound, None, "no row is of this line");
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

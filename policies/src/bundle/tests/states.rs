//! What the state of a mower and of its account holds back, over every row there
//! is: a row that comes later fails here until somebody has decided about it.

use std::collections::BTreeSet;

use interlock_surface::{Class, ROWS, ResourceType, Row};

use super::scene::{ask, enforced, object, person, plan, proposer};
use super::shipped;
use crate::facts::{ResourceFacts, VehicleState};
use crate::roles::Role;

/// The rows on a mower, and on a plan for one.
fn rows() -> impl Iterator<Item = &'static Row> {
    let on = |row: &&Row| matches!(row.resource, ResourceType::Mower | ResourceType::Plan);
    ROWS.iter()
        .filter(|row| row.service == "mowers" && row.action.is_some())
        .filter(on)
}

/// The rows that are refused in a state to somebody who holds everything, all of
/// them by `guard`.
fn refused(state: &VehicleState, guard: &str) -> BTreeSet<&'static str> {
    let (bundle, olga) = (shipped(), person("olga", &[Role::OWNER]));
    let mut refused = BTreeSet::new();
    for row in rows() {
        let usual = match row.resource {
            ResourceType::Plan => plan(proposer("somebody-else")),
            kind => object(kind),
        };
        let standing = ResourceFacts {
            state: state.clone(),
            ..usual
        };
        let action = row.action.unwrap();
        let told = ask(&bundle, &olga, action, &standing, &enforced());
        if told.starts_with("allow") {
            continue;
        }
        assert!(told.ends_with(guard), "{row}: {told}");
        refused.insert(action);
    }
    refused
}

/// Every action of the rows that `spared` does not keep.
fn all_but(spared: impl Fn(&Row) -> bool) -> BTreeSet<&'static str> {
    let held = rows().filter(|row| !spared(row));
    held.filter_map(|row| row.action).collect()
}

/// Sight, stops, calming and management, which nothing of this holds back. A
/// preview is sight that only those have who may start.
fn kept(row: &Row) -> bool {
    let sight = row.class.is_read() && row.action != Some("path_preview");
    sight || row.calming || matches!(row.class, Class::SafetyWrite | Class::Record)
}

#[test]
fn a_mower_in_quarantine_takes_no_command() {
    let state = VehicleState {
        quarantined: true,
        ..VehicleState::default()
    };
    // Deciding about a plan moves nothing, and its dispatch is refused.
    let expected = all_but(|row| kept(row) || row.class == Class::Approval);
    assert_eq!(refused(&state, "guard.mower.quarantine"), expected);
    for action in ["relocate_dock", "restart_mower", "emergency_reset"] {
        assert!(expected.contains(action), "{action}");
    }
}

#[test]
fn in_a_suspended_account_a_latch_is_released_and_nothing_is_started() {
    let state = VehicleState {
        suspended: true,
        ..VehicleState::default()
    };
    let freed = ["emergency_reset", "mow_plan_reject"];
    let expected = all_but(|row| kept(row) || row.action.is_some_and(|it| freed.contains(&it)));
    assert_eq!(refused(&state, "guard.mower.suspended"), expected);
    assert!(expected.contains("mow_plan_approve"));
}

/// Commands that keep a mower in order and start nothing.
const UPKEEP: [&str; 5] = [
    "emergency_reset",
    "relocate_dock",
    "restart_mower",
    "resync_rtk",
    "sync_map",
];

#[test]
fn without_the_feature_mowers_are_kept_in_order_and_not_used() {
    let state = VehicleState {
        features: Some(BTreeSet::new()),
        ..VehicleState::default()
    };
    let expected = all_but(|row| {
        kept(row)
            || row.class == Class::Approval
            || row.action.is_some_and(|it| UPKEEP.contains(&it))
    });
    assert_eq!(refused(&state, "guard.mower.feature"), expected);
}

#[test]
fn in_quiet_hours_nothing_is_started_or_driven() {
    let state = VehicleState {
        quiet: true,
        ..VehicleState::default()
    };
    let starts = [
        "mow_plan_dispatch",
        "start_mow",
        "resume_mow",
        "drive_open",
        "manual_drive",
    ];
    assert_eq!(refused(&state, "guard.mower.quiet"), starts.into());
    // Whatever else commands a mower was looked at and found to be quiet.
    let spared = ["leave_dock", "set_blade_height", "set_speed"];
    let commands = all_but(|row| kept(row) || row.class == Class::Approval);
    let known = starts.iter().chain(&UPKEEP).chain(&spared).copied();
    let known: BTreeSet<&str> = known.chain(["mow_plan_propose", "path_preview"]).collect();
    assert_eq!(commands, known);
}

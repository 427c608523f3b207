use jiff::SignedDuration;

use super::{is_paced, reason};
use crate::commands::testkit::{mower, noon, state};
use crate::contract::{Activity, CommandKind};
use crate::telemetry::Seen;

fn seen(activity: Activity) -> Seen {
    Seen {
        state: state(mower(1), activity, 1, noon()),
    }
}

fn check(kind: CommandKind, activity: Activity, expected: Option<&str>) {
    let found = reason(kind, Some(&seen(activity)), noon());
    assert_eq!(found, expected, "{kind:?} {activity:?}");
}

#[test]
fn what_is_there_already_is_skipped() {
    let there = Some("already-in-that-state");
    check(CommandKind::StartMow, Activity::Mowing, there);
    check(CommandKind::StartMow, Activity::Docked, None);
    check(CommandKind::StartMow, Activity::Paused, None);
    check(CommandKind::ResumeMow, Activity::Mowing, there);
    check(CommandKind::ResumeMow, Activity::Paused, None);
    check(CommandKind::ReturnToDock, Activity::Charging, there);
    check(CommandKind::ReturnToDock, Activity::Mowing, None);
    check(CommandKind::StartMow, Activity::Offline, Some("offline"));
}

#[test]
fn a_latch_is_skipped_and_a_stop_or_a_pause_never_is() {
    let mut latched = seen(Activity::Stopped);
    latched.state.emergency.latched = true;
    latched.state.link.online = false;
    let of = |kind| reason(kind, Some(&latched), noon());
    assert_eq!(of(CommandKind::StartMow), Some("offline"));
    assert_eq!(of(CommandKind::PauseMow), None);
    assert_eq!(of(CommandKind::EmergencyStop), None);
    latched.state.link.online = true;
    let latch = reason(CommandKind::StartMow, Some(&latched), noon());
    assert_eq!(latch, Some("emergency-latched"));
}

#[test]
fn an_old_word_or_none_skips_nobody() {
    let old = noon() + SignedDuration::from_millis(30_001);
    let mowing = seen(Activity::Mowing);
    assert_eq!(reason(CommandKind::StartMow, Some(&mowing), old), None);
    assert_eq!(reason(CommandKind::StartMow, None, noon()), None);
}

#[test]
fn what_calms_never_waits_for_a_turn() {
    let unpaced: Vec<CommandKind> = CommandKind::ALL
        .into_iter()
        .filter(|kind| !is_paced(*kind))
        .collect();
    let wanted = [
        CommandKind::PauseMow,
        CommandKind::ReturnToDock,
        CommandKind::EmergencyStop,
    ];
    assert_eq!(unpaced, wanted);
}

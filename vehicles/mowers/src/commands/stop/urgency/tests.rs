use jiff::SignedDuration;

use super::Urgency;
use crate::commands::testkit::{mower, noon, state};
use crate::contract::{Activity, MowerState};
use crate::telemetry::Seen;

fn said(activity: Activity) -> MowerState {
    let mut state = state(mower(1), activity, 1, noon());
    (state.blade_on, state.speed_mps) = (false, 0.0);
    state
}

fn check(state: MowerState, seconds_ago: i64, expected: Urgency) {
    let told = format!("{state:?} {seconds_ago} s ago");
    let now = state.at + SignedDuration::from_secs(seconds_ago);
    let found = Urgency::of(Some(&Seen { state }), now);
    assert_eq!(found, expected, "{told}");
}

#[test]
fn what_moves_comes_before_what_is_not_known_and_that_before_what_stands() {
    for activity in [
        Activity::Undocking,
        Activity::Mowing,
        Activity::Returning,
        Activity::DrivingManual,
    ] {
        check(said(activity), 0, Urgency::Moving);
        check(said(activity), 3_600, Urgency::Moving);
    }
    for activity in [
        Activity::Docked,
        Activity::Charging,
        Activity::Paused,
        Activity::Stopped,
    ] {
        check(said(activity), 30, Urgency::Standing);
        check(said(activity), 31, Urgency::Unknown);
    }
    for activity in [Activity::Error, Activity::Updating, Activity::Offline] {
        check(said(activity), 0, Urgency::Unknown);
    }
    assert_eq!(Urgency::of(None, noon()), Urgency::Unknown);
    let mut all = [Urgency::Standing, Urgency::Moving, Urgency::Unknown];
    all.sort();
    let order = [Urgency::Moving, Urgency::Unknown, Urgency::Standing];
    assert_eq!(all, order);
}

#[test]
fn a_blade_or_a_wheel_that_turns_counts_whatever_it_is_called() {
    let mut blade = said(Activity::Paused);
    blade.blade_on = true;
    check(blade, 0, Urgency::Moving);
    let mut backwards = said(Activity::Docked);
    backwards.speed_mps = -0.1;
    check(backwards, 0, Urgency::Moving);
}

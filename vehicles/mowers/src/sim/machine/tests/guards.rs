//! What a mower does by itself when something is wrong.

use super::{Activity, Command, RESET, RESUME, Rig, start};
use crate::contract::{InactiveReason, Point};
use crate::sim::machine::sensors::Part;

#[test]
fn without_a_fix_it_stands_after_five_seconds_and_goes_on_with_one() {
    let mut rig = Rig::mowing();
    rig.machine.set_fix(false);
    rig.run(4.5);
    assert_eq!(rig.activity(), Activity::Mowing);
    rig.run(1.0);
    assert_eq!(rig.activity(), Activity::Paused);
    assert_eq!(rig.machine.inactive, InactiveReason::WaitingForFix);
    rig.run(60.0);
    assert!(rig.machine.stands());
    rig.machine.set_fix(true);
    rig.run(1.5);
    assert_eq!(rig.activity(), Activity::Mowing);
}

#[test]
fn the_way_home_waits_for_a_fix_too() {
    let mut rig = Rig::mowing();
    rig.ask(&Command::ReturnToDock {});
    rig.machine.set_fix(false);
    rig.until(Activity::Paused);
    rig.machine.set_fix(true);
    rig.until(Activity::Returning);
    rig.until(Activity::Charging);
}

#[test]
fn a_stop_while_it_waits_is_not_undone_by_a_fix() {
    let mut rig = Rig::mowing();
    rig.machine.set_fix(false);
    rig.until(Activity::Paused);
    rig.ask(&Command::PauseMow {});
    rig.machine.press_emergency("button");
    rig.machine.set_fix(true);
    rig.run(60.0);
    assert_eq!(rig.activity(), Activity::Stopped);
    assert!(rig.machine.stands());
}

#[test]
fn rain_counts_after_twenty_seconds_and_for_half_an_hour() {
    let mut rig = Rig::mowing();
    rig.machine.set_rain(true);
    rig.run(19.0);
    assert_eq!(rig.activity(), Activity::Mowing);
    rig.run(1.5);
    assert_eq!(rig.activity(), Activity::Returning);
    assert_eq!(rig.machine.inactive, InactiveReason::Rain);
    rig.until(Activity::Charging);
    assert_eq!(rig.ask(&start()), "rejected rain");
    assert_eq!(rig.ask(&RESUME), "rejected rain");
    rig.machine.set_rain(false);
    rig.run(29.0 * 60.0);
    assert_eq!(rig.activity(), Activity::Docked);
    rig.run(65.0);
    assert_eq!(rig.activity(), Activity::Undocking);
}

#[test]
fn a_hot_motor_cools_before_it_goes_on() {
    let mut rig = Rig::mowing();
    rig.machine.set_motor_temperature(74.0);
    rig.run(0.1);
    assert_eq!(rig.activity(), Activity::Mowing);
    rig.machine.set_motor_temperature(76.0);
    rig.run(0.1);
    assert_eq!(rig.activity(), Activity::Paused);
    assert_eq!(rig.machine.inactive, InactiveReason::MotorHot);
    rig.until(Activity::Mowing);
    assert!(rig.machine.sensors.motor_c < 40.5);
}

#[test]
fn a_lifted_or_tilted_one_latches_until_it_stands_again() {
    for (up, down) in [
        (lift as fn(&mut Rig, bool), "lifted"),
        (tilt as fn(&mut Rig, bool), "tilted"),
    ] {
        let mut rig = Rig::mowing();
        up(&mut rig, true);
        assert_eq!(rig.activity(), Activity::Stopped);
        assert_eq!(
            rig.machine.latch.as_ref().unwrap().reason.as_deref(),
            Some(down)
        );
        assert_eq!(rig.ask(&RESET), "rejected cause-present");
        up(&mut rig, false);
        rig.run(1.0);
        assert_eq!(rig.activity(), Activity::Stopped);
        assert_eq!(rig.ask(&RESET), "executed");
        assert_eq!(rig.ask(&RESUME), "executed");
    }
}

fn lift(rig: &mut Rig, lifted: bool) {
    rig.machine.lift(lifted);
}

fn tilt(rig: &mut Rig, tilted: bool) {
    rig.machine.tilt(tilted);
}

/// A driver's mower, or one that was only sent out of its dock, does not begin
/// to mow because its position came back.
#[test]
fn only_what_drove_by_itself_goes_on_by_itself() {
    let mut rig = Rig::mowing();
    rig.ask(&Command::PauseMow {});
    rig.run(1.0);
    rig.machine.drive(&super::frame(1, 1, 0.5, 2_000)).unwrap();
    rig.machine.silence(Part::Pose, 3_000);
    rig.run(60.0);
    assert_eq!(rig.activity(), Activity::Paused);
    rig.ask(&Command::ReturnToDock {});
    rig.until(Activity::Charging);
    rig.ask(&Command::LeaveDock {});
    rig.machine.silence(Part::Pose, 3_000);
    rig.run(60.0);
    assert_eq!(rig.activity(), Activity::Paused);
    assert!(rig.machine.job.is_some());
}

#[test]
fn one_that_is_calmed_while_it_waits_stays() {
    let mut rig = Rig::mowing();
    rig.machine.set_fix(false);
    rig.until(Activity::Paused);
    assert_eq!(rig.ask(&Command::PauseMow {}), "no effect");
    rig.machine.set_fix(true);
    rig.run(60.0);
    assert_eq!(rig.activity(), Activity::Paused);
    for calm in [Command::PauseMow {}, Command::ReturnToDock {}] {
        let mut rig = Rig::mowing();
        rig.machine.set_battery(9.0);
        rig.until(Activity::Charging);
        assert_eq!(rig.ask(&calm), "no effect");
        rig.until(Activity::Docked);
        rig.run(600.0);
        assert_eq!(rig.activity(), Activity::Docked);
        assert!(rig.machine.job.is_some());
    }
    let mut rig = Rig::mowing();
    rig.machine.set_battery(9.0);
    rig.until(Activity::Returning);
    assert_eq!(rig.ask(&Command::ReturnToDock {}), "no effect");
    rig.until(Activity::Docked);
    rig.run(600.0);
    assert_eq!(rig.activity(), Activity::Docked);
}

#[test]
fn a_reset_wants_somebody_on_site() {
    let mut rig = Rig::mowing();
    rig.machine.press_emergency("button");
    let from_afar = Command::ResetEmergency {
        on_site_confirmed: false,
    };
    assert_eq!(rig.ask(&from_afar), "rejected not-on-site");
    assert_eq!(rig.ask(&RESET), "executed");
    assert_eq!(rig.ask(&RESET), "no effect");
}

#[test]
fn a_bump_is_backed_off_from_and_ten_are_a_trap() {
    let mut rig = Rig::mowing();
    let before = rig.machine.truth().position;
    rig.machine.bump();
    rig.run(3.0);
    let backed = rig.machine.truth().position.distance(before);
    assert!((0.2..0.4).contains(&backed), "{backed}");
    rig.run(20.0);
    assert_eq!(rig.activity(), Activity::Mowing);
    for _ in 0..9 {
        rig.machine.bump();
        rig.run(1.0);
    }
    assert_eq!(rig.activity(), Activity::Error);
    assert!(rig.machine.confirm());
    assert_eq!(rig.activity(), Activity::Paused);
}

#[test]
fn wheels_that_turn_in_vain_are_a_fault() {
    let mut rig = Rig::mowing();
    rig.machine.set_stuck(true);
    let before = rig.machine.truth().position;
    rig.until(Activity::Error);
    assert_eq!(rig.machine.truth().position, before);
    assert_eq!(rig.machine.fault.as_ref().unwrap().key, "trapped");
}

#[test]
fn a_fault_that_cannot_be_confirmed_stays() {
    let mut rig = Rig::mowing();
    rig.machine.fail("99", "electronics", false, false);
    assert!(!rig.machine.confirm());
    assert_eq!(rig.activity(), Activity::Error);
}

#[test]
fn a_blade_that_does_not_come_up_to_speed_latches() {
    let mut rig = Rig::mowing();
    rig.machine.jam_blade(true);
    rig.run(13.0);
    assert_eq!(rig.activity(), Activity::Stopped);
    let reason = rig.machine.latch.as_ref().unwrap().reason.clone();
    assert_eq!(reason.as_deref(), Some("blade-spin-up"));
}

#[test]
fn a_stop_runs_the_blade_down_within_two_seconds() {
    let mut rig = Rig::mowing();
    assert!(rig.machine.blade.cuts());
    rig.machine.press_emergency("button");
    rig.run(2.1);
    assert_eq!(rig.machine.truth().blade_rpm, 0.0);
}

#[test]
fn what_must_be_heard_must_be_heard() {
    let silent = |part: Part, seconds: u64| {
        let mut rig = Rig::mowing();
        rig.machine.silence(part, seconds * 1_000);
        rig.run(0.9);
        assert_eq!(rig.activity(), Activity::Mowing);
        rig.run(5.0);
        rig
    };
    let control = silent(Part::Control, 2);
    assert_eq!(control.activity(), Activity::Paused);
    assert!(control.machine.stands());
    let mut pose = silent(Part::Pose, 8);
    assert_eq!(pose.activity(), Activity::Paused);
    pose.until(Activity::Mowing);
    let sensors = silent(Part::Sensors, 4);
    assert_eq!(sensors.activity(), Activity::Stopped);
    let mut short = Rig::mowing();
    short.machine.silence(Part::Sensors, 2_900);
    short.run(5.0);
    assert_eq!(short.activity(), Activity::Mowing);
}

#[test]
fn one_that_was_carried_goes_back_to_its_course() {
    let mut rig = Rig::mowing();
    rig.machine.displace(Point::new(6.0, 5.0), 1.0);
    rig.run(2.0);
    assert!(!rig.machine.blade.on);
    let left = rig.machine.job.as_ref().unwrap().left_at.unwrap();
    while !rig.machine.blade.on {
        rig.run(0.1);
    }
    assert_eq!(rig.activity(), Activity::Mowing);
    assert!(rig.machine.truth().position.distance(left) < 0.05);
}

/// The map shrinks under a mower that mows.
#[test]
fn one_that_cuts_outside_its_area_is_at_fault() {
    let mut rig = Rig::mowing();
    let at = rig.machine.truth().position;
    let mut map = (*rig.machine.map).clone();
    for corner in &mut map.areas[0].outline {
        corner.x = corner.x / 12.0 + if at.x > 6.0 { 0.0 } else { 11.0 };
    }
    rig.machine.replace_map(map);
    rig.run(0.1);
    assert_eq!(rig.activity(), Activity::Error);
    rig.run(3.0);
    assert_eq!(rig.machine.truth().blade_rpm, 0.0);
}

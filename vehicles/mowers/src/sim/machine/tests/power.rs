//! Battery and charging.

use super::{Activity, Command, Profile, ProfileName, RESUME, Rig, start};
use crate::contract::InactiveReason;
use crate::sim::machine::battery::{Battery, Load};

fn battery(percent: f64) -> Battery {
    Battery::new(&Profile::named(ProfileName::Luba), percent)
}

#[test]
fn use_is_linear_and_half_without_the_blade() {
    let after = |load: Load| {
        let mut battery = battery(100.0);
        (0..60).for_each(|_| battery.step(load, 60.0));
        battery.percent
    };
    assert!((after(Load::Cutting) - 50.0).abs() < 1e-6);
    assert!((after(Load::Driving) - 75.0).abs() < 1e-6);
    assert!(after(Load::Standing) > 98.0);
}

#[test]
fn volts_follow_the_charge_of_seven_cells() {
    assert_eq!(battery(0.0).volts(), 22.4);
    assert_eq!(battery(100.0).volts(), 29.3);
}

/// However the time is cut, the curve is the same: constant to 95 %, then slower.
#[test]
fn charging_tapers_and_does_not_depend_on_the_step() {
    let charged = |steps: u32, seconds: f64| {
        let mut battery = battery(0.0);
        (0..steps).for_each(|_| battery.step(Load::Dock, seconds));
        battery.percent
    };
    assert!((charged(3_000, 1.0) - charged(3, 1_000.0)).abs() < 1e-6);
    assert!((charged(5_700, 1.0) - charged(57, 100.0)).abs() < 1e-6);
    assert!(charged(59, 100.0) < 100.0);
    assert!(charged(601, 10.0) >= 100.0 - 1e-3);
    let rate = |minute: f64| charged(1, minute * 60.0 + 60.0) - charged(1, minute * 60.0);
    assert!((rate(10.0) - rate(80.0)).abs() < 1e-9);
    assert!(rate(95.0) < 0.5 * rate(80.0));
}

#[test]
fn the_time_to_full_is_the_time_it_takes() {
    let mut rig = Rig::of(ProfileName::Luba, 20.0);
    rig.run(1.0);
    let stated = rig.machine.battery.seconds_to_full().unwrap();
    let took = rig.until(Activity::Docked);
    assert!(
        (stated - took).abs() <= 2.0,
        "{stated} stated, {took} taken"
    );
}

#[test]
fn some_vendors_call_four_fifths_full() {
    let mut rig = Rig::of(ProfileName::Landroid, 70.0);
    rig.run(1.0);
    rig.until(Activity::Docked);
    assert!((rig.machine.battery.percent - 80.0).abs() < 0.1);
}

#[test]
fn low_counts_after_twenty_seconds_and_critical_at_once() {
    let mut rig = Rig::mowing();
    rig.machine.set_battery(19.0);
    rig.run(19.0);
    assert_eq!(rig.activity(), Activity::Mowing);
    rig.run(1.5);
    assert_eq!(rig.activity(), Activity::Returning);
    let mut rig = Rig::mowing();
    rig.machine.set_battery(19.0);
    rig.run(15.0);
    rig.machine.set_battery(30.0);
    rig.run(15.0);
    rig.machine.set_battery(19.0);
    rig.run(15.0);
    assert_eq!(rig.activity(), Activity::Mowing);
    rig.machine.set_battery(9.9);
    rig.run(0.1);
    assert_eq!(rig.activity(), Activity::Returning);
}

#[test]
fn an_empty_one_is_carried_home() {
    let mut rig = Rig::paused();
    rig.machine.set_battery(0.0);
    rig.run(1.0);
    assert_eq!(rig.activity(), Activity::Error);
    assert!(!rig.machine.confirm());
    assert_eq!(rig.ask(&Command::ReturnToDock {}), "rejected error");
    rig.machine.put_into_dock();
    rig.run(1.0);
    assert_eq!(rig.activity(), Activity::Charging);
}

#[test]
fn it_charges_and_goes_on_by_itself() {
    let mut rig = Rig::mowing();
    let job = rig.machine.job.as_ref().unwrap().id;
    rig.machine.set_battery(9.0);
    rig.until(Activity::Charging);
    assert_eq!(rig.machine.inactive, InactiveReason::LowBattery);
    assert_eq!(rig.ask(&RESUME), "rejected low-battery");
    rig.machine.set_battery(90.0);
    rig.until(Activity::Undocking);
    assert!(rig.machine.battery.full());
    rig.until(Activity::Mowing);
    assert_eq!(rig.machine.job.as_ref().unwrap().id, job);
}

#[test]
fn one_sent_home_stays_until_it_is_told() {
    let mut rig = Rig::mowing();
    rig.ask(&Command::ReturnToDock {});
    rig.until(Activity::Docked);
    rig.run(3_600.0);
    assert_eq!(rig.activity(), Activity::Docked);
    assert_eq!(rig.ask(&RESUME), "executed");
}

#[test]
fn a_low_one_does_not_start_in_the_garden_either() {
    let mut rig = Rig::paused();
    rig.machine.set_battery(15.0);
    assert_eq!(rig.ask(&start()), "rejected low-battery");
}

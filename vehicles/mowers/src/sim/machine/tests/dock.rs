//! Into the dock and out of it.

use super::{Activity, Command, Rig, start};
use crate::contract::Point;

#[test]
fn it_backs_out_two_meters_and_waits_for_a_fix() {
    let mut rig = Rig::docked();
    rig.ask(&start());
    let took = rig.until(Activity::Mowing);
    let out = rig.machine.truth().position.distance(rig.machine.map.dock);
    assert!((out - 2.0).abs() < 0.05, "{out}");
    assert!((16.0..22.0).contains(&took), "{took}");
    let mut rig = Rig::docked();
    rig.ask(&start());
    rig.run(5.0);
    rig.machine.set_fix(false);
    rig.run(60.0);
    assert_eq!(rig.activity(), Activity::Undocking);
    rig.machine.set_fix(true);
    rig.run(2.0);
    assert_eq!(rig.activity(), Activity::Mowing);
}

#[test]
fn leaving_the_dock_is_not_starting() {
    let mut rig = Rig::mowing();
    rig.ask(&Command::ReturnToDock {});
    rig.until(Activity::Charging);
    assert_eq!(rig.ask(&Command::LeaveDock {}), "executed");
    rig.until(Activity::Paused);
    assert!(rig.machine.job.is_some());
    assert_eq!(rig.ask(&Command::LeaveDock {}), "no effect");
}

#[test]
fn it_tries_four_times() {
    let mut rig = Rig::mowing();
    rig.machine.miss_dock(3);
    rig.ask(&Command::ReturnToDock {});
    rig.until(Activity::Charging);
    let mut rig = Rig::mowing();
    rig.machine.miss_dock(4);
    rig.ask(&Command::ReturnToDock {});
    rig.until(Activity::Error);
    assert_eq!(rig.ask(&Command::ReturnToDock {}), "executed");
    rig.until(Activity::Charging);
}

#[test]
fn one_that_is_carried_off_its_contacts_does_not_charge() {
    let mut rig = Rig::of(super::ProfileName::Luba, 50.0);
    rig.run(1.0);
    assert_eq!(rig.activity(), Activity::Charging);
    let dock = rig.machine.map.dock;
    rig.machine.displace(Point::new(dock.x, dock.y + 0.02), 0.0);
    rig.run(2.0);
    assert_eq!(rig.activity(), Activity::Charging);
    rig.machine.displace(Point::new(dock.x, dock.y + 0.04), 0.0);
    rig.run(2.0);
    assert_eq!(rig.activity(), Activity::Paused);
    rig.machine.put_into_dock();
    rig.run(2.0);
    assert_eq!(rig.activity(), Activity::Charging);
}

#[test]
fn it_finds_home_from_anywhere() {
    for (x, y) in [(0.2, 0.2), (11.8, 9.8), (6.0, 0.3), (6.0, 1.0), (-2.0, 5.0)] {
        let mut rig = Rig::paused();
        rig.machine.displace(Point::new(x, y), 2.0);
        assert_eq!(rig.ask(&Command::ReturnToDock {}), "executed");
        rig.until(Activity::Charging);
    }
}

//! Manual driving.

use super::{Activity, MOWER, Machine, Rig, frame};
use crate::contract::Point;
use crate::sim::garden::rectangle;

fn drive(machine: &mut Machine, frame: &crate::contract::Drive) -> Result<(), &'static str> {
    machine.drive(frame)
}

/// In the middle of the garden, heading east.
fn rig() -> Rig {
    let mut rig = Rig::paused();
    rig.machine.displace(Point::new(3.0, 5.0), 0.0);
    rig
}

/// Drives at full speed, then sends no more: meters until it stands.
fn way_after_last_frame(ttl_ms: u16) -> f64 {
    let mut rig = rig();
    for sequence in 1..=10 {
        drive(&mut rig.machine, &frame(1, sequence, 1.0, ttl_ms)).unwrap();
        rig.run(0.2);
    }
    drive(&mut rig.machine, &frame(1, 11, 1.0, ttl_ms)).unwrap();
    let before = rig.machine.truth().position;
    assert!((rig.machine.truth().speed_mps - 0.6).abs() < 1e-9);
    rig.run(5.0);
    assert!(rig.machine.stands());
    rig.machine.truth().position.distance(before)
}

#[test]
fn without_frames_it_stands_after_the_dead_man_time() {
    for (ttl_ms, way_m) in [(500, 0.48), (1_000, 0.78), (2_000, 1.38)] {
        let way = way_after_last_frame(ttl_ms);
        assert!((way - way_m).abs() < 0.03, "{way} m after {ttl_ms} ms");
    }
}

#[test]
fn one_drives_at_a_time() {
    let mut rig = rig();
    assert_eq!(drive(&mut rig.machine, &frame(1, 1, 0.5, 500)), Ok(()));
    assert_eq!(
        drive(&mut rig.machine, &frame(2, 1, 0.5, 500)),
        Err("occupied")
    );
    rig.run(11.0);
    assert_eq!(rig.activity(), Activity::Paused);
    assert_eq!(drive(&mut rig.machine, &frame(2, 1, 0.5, 500)), Ok(()));
}

#[test]
fn the_next_driver_need_not_wait_for_one_that_is_over() {
    let mut rig = rig();
    assert_eq!(drive(&mut rig.machine, &frame(1, 1, 1.0, 2_000)), Ok(()));
    rig.run(1.0);
    rig.machine.drive_over(frame(2, 1, 0.0, 500).session_id);
    assert_eq!(rig.activity(), Activity::DrivingManual, "not its session");
    rig.machine.drive_over(frame(1, 1, 0.0, 500).session_id);
    assert_eq!(rig.activity(), Activity::Paused);
    rig.run(1.0);
    assert!(rig.machine.stands());
    assert_eq!(
        drive(&mut rig.machine, &frame(1, 2, 1.0, 2_000)),
        Err("stale-frame"),
        "it was overtaken on its way"
    );
    assert_eq!(drive(&mut rig.machine, &frame(2, 1, 0.5, 500)), Ok(()));
    assert_eq!(rig.activity(), Activity::DrivingManual);
}

#[test]
fn old_and_hurried_frames_are_dropped_unless_they_stop() {
    let mut rig = rig();
    assert_eq!(drive(&mut rig.machine, &frame(1, 5, 0.5, 500)), Ok(()));
    rig.run(0.1);
    assert_eq!(
        drive(&mut rig.machine, &frame(1, 6, 0.5, 500)),
        Err("too-soon")
    );
    assert_eq!(drive(&mut rig.machine, &frame(1, 7, 0.0, 500)), Ok(()));
    rig.run(0.2);
    assert_eq!(
        drive(&mut rig.machine, &frame(1, 7, 0.5, 500)),
        Err("stale-frame")
    );
    assert_eq!(
        drive(&mut rig.machine, &frame(1, 8, 1.1, 500)),
        Err("malformed")
    );
    assert_eq!(
        drive(&mut rig.machine, &frame(1, 8, f64::NAN, 500)),
        Err("malformed")
    );
    assert_eq!(
        drive(&mut rig.machine, &frame(1, 8, 0.5, 99)),
        Err("malformed")
    );
}

#[test]
fn a_keep_alive_keeps_the_session_and_an_idle_one_ends() {
    let mut rig = rig();
    drive(&mut rig.machine, &frame(1, 1, 0.5, 500)).unwrap();
    for sequence in 2..8 {
        rig.run(3.0);
        drive(&mut rig.machine, &frame(1, sequence, 0.0, 500)).unwrap();
    }
    assert_eq!(rig.activity(), Activity::DrivingManual);
    assert!(rig.machine.stands());
    rig.run(9.5);
    assert_eq!(rig.activity(), Activity::DrivingManual);
    rig.run(1.0);
    assert_eq!(rig.activity(), Activity::Paused);
}

#[test]
fn the_stick_on_the_mower_goes_before_any_frame() {
    let mut rig = rig();
    drive(&mut rig.machine, &frame(1, 1, 1.0, 2_000)).unwrap();
    rig.machine.stick(Some((-0.5, 0.0)));
    rig.run(1.5);
    assert!(rig.machine.truth().speed_mps < 0.0);
    assert_eq!(
        drive(&mut rig.machine, &frame(1, 2, 1.0, 500)),
        Err("occupied")
    );
    rig.machine.stick(None);
    rig.run(2.0);
    assert_eq!(rig.activity(), Activity::Paused);
    assert!(rig.machine.stands());
}

#[test]
fn near_the_fence_it_warns_and_outside_it_stands() {
    let mut rig = rig();
    rig.machine.replace_map(rectangle(MOWER, 30.0, 20.0));
    rig.machine.displace(Point::new(24.0, 10.0), 0.0);
    let (mut sequence, mut warned) = (0, 0);
    while rig.machine.truth().outside_m == 0.0 {
        sequence += 1;
        let driven = drive(&mut rig.machine, &frame(1, sequence, 0.5, 500));
        assert_eq!(driven, Ok(()));
        rig.run(0.2);
        let truth = rig.machine.truth();
        if truth.outside_m == 0.0 {
            // Five meters before the border, and no earlier.
            assert_eq!(truth.fence_warning, truth.position.x > 25.0, "{truth:?}");
            warned += u32::from(truth.fence_warning);
        }
        assert!(sequence < 200);
    }
    assert!(warned > 50, "{warned}");
    rig.run(1.0);
    assert_eq!(rig.activity(), Activity::Paused);
    assert!(rig.machine.stands());
    assert!(rig.machine.truth().outside_m < 0.15);
    let next = frame(1, sequence + 1, 0.5, 500);
    assert_eq!(drive(&mut rig.machine, &next), Err("outside"));
}

#[test]
fn a_driver_may_cut_and_the_dead_man_stops_the_blade_too() {
    let mut rig = rig();
    let mut with_blade = frame(1, 1, 0.0, 500);
    with_blade.blade_on = true;
    drive(&mut rig.machine, &with_blade).unwrap();
    rig.run(0.4);
    assert!(rig.machine.blade.on);
    rig.run(0.2);
    assert!(!rig.machine.blade.on);
}

#[test]
fn a_stop_goes_before_the_driver() {
    let mut rig = rig();
    drive(&mut rig.machine, &frame(1, 1, 1.0, 2_000)).unwrap();
    rig.run(1.0);
    rig.machine.press_emergency("button");
    rig.run(0.7);
    assert!(rig.machine.stands());
    assert_eq!(
        drive(&mut rig.machine, &frame(1, 2, 1.0, 500)),
        Err("emergency-latched")
    );
}

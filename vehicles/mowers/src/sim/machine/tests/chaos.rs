//! Whatever happens in whatever order: nothing panics, and a latched mower stands.

use proptest::prelude::*;

use super::{Command, MOWER, RESET, RESUME, Rig, STOP, frame, start};
use crate::contract::Point;
use crate::sim::garden::rectangle;
use crate::sim::machine::sensors::Part;

/// One of the many things that can happen.
fn happen(rig: &mut Rig, what: u8, number: f64) {
    let machine = &mut rig.machine;
    match what {
        0 => drop(rig.ask(&start())),
        1 => drop(rig.ask(&RESUME)),
        2 => drop(rig.ask(&Command::PauseMow {})),
        3 => drop(rig.ask(&Command::ReturnToDock {})),
        4 => drop(rig.ask(&STOP)),
        5 => drop(rig.ask(&RESET)),
        6 => drop(rig.ask(&Command::LeaveDock {})),
        7 => drop(rig.ask(&Command::RestartMower {})),
        8 => drop(machine.drive(&frame(1, machine.now_ms(), number, 1_000))),
        9 => machine.set_battery(number * 100.0),
        10 => machine.set_fix(number > 0.5),
        11 => machine.set_rain(number > 0.5),
        12 => machine.lift(number > 0.7),
        13 => machine.bump(),
        14 => machine.displace(Point::new(number * 14.0 - 1.0, number * 12.0 - 1.0), number),
        15 => machine.put_into_dock(),
        16 => machine.set_stuck(number > 0.7),
        17 => machine.lose_power(3_000),
        18 => machine.silence(Part::Sensors, 4_000),
        19 => machine.set_motor_temperature(number * 100.0),
        20 => machine.stick((number > 0.3).then_some((number, -number))),
        21 => drop(machine.confirm()),
        22 => machine.fail("1", "any", number > 0.5, number > 0.3),
        23 => machine.replace_map(rectangle(MOWER, 6.0 + number * 8.0, 5.0 + number * 6.0)),
        24 => machine.miss_dock(3),
        25 => drop(machine.update(2_000)),
        _ => machine.jam_blade(number > 0.7),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn nothing_panics_and_a_latched_one_stands(
        events in prop::collection::vec((0..27_u8, 0.0..1.0_f64, 0.0..40.0_f64), 1..40),
    ) {
        let mut rig = Rig::mowing();
        let mut latched_s = 0.0;
        for (what, number, seconds) in events {
            happen(&mut rig, what, number);
            let ticks = (seconds * 10.0) as u32;
            for _ in 0..ticks {
                rig.run(0.1);
                let truth = rig.machine.truth();
                latched_s = if truth.latched { latched_s + 0.1 } else { 0.0 };
                prop_assert!(latched_s < 1.0 || truth.speed_mps == 0.0, "latched and moving");
                prop_assert!(latched_s < 2.5 || truth.blade_rpm == 0.0, "latched and cutting");
                prop_assert!(truth.position.is_finite() && truth.heading.is_finite());
                prop_assert!((0.0..=100.0).contains(&truth.battery_percent));
                prop_assert!(truth.speed_mps.abs() <= 0.6 + 1e-9);
            }
        }
    }
}

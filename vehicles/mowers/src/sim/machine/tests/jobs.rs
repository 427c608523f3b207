//! Jobs: kept, resumed, changed, ended.

use super::{Activity, Command, RESUME, Rig, start, start_of_lawn};
use crate::contract::InactiveReason;

fn hash(rig: &Rig) -> String {
    rig.machine.job.as_ref().unwrap().path_hash.clone()
}

fn progress(rig: &Rig) -> f64 {
    let at = rig.machine.truth().position;
    rig.machine.job.as_ref().unwrap().progress(at).0
}

/// Power goes in the middle of a lane.
fn after_power_loss() -> Rig {
    let mut rig = Rig::mowing();
    rig.run(240.0);
    assert!(rig.machine.blade.on);
    rig.machine.lose_power(30_000);
    assert_eq!(rig.activity(), Activity::Offline);
    rig.run(31.0);
    assert_eq!(rig.activity(), Activity::Paused);
    rig
}

#[test]
fn a_job_outlives_the_power_when_its_path_is_the_same() {
    let mut rig = after_power_loss();
    assert!(rig.machine.job.as_ref().unwrap().course.is_none());
    assert_eq!(rig.ask(&RESUME), "executed");
    let before = progress(&rig);
    assert!(before > 50.0, "{before}");
    rig.run(20.0);
    assert!(progress(&rig) > before);
    assert_eq!(rig.activity(), Activity::Mowing);
}

#[test]
fn a_job_is_not_resumed_on_another_path() {
    let mut rig = after_power_loss();
    let mut map = (*rig.machine.map).clone();
    map.revision += 1;
    rig.machine.replace_map(map);
    assert_eq!(rig.ask(&RESUME), "rejected path-changed");
    let mut rig = after_power_loss();
    let mut map = (*rig.machine.map).clone();
    map.areas[0].outline[1].x += 0.5;
    rig.machine.replace_map(map);
    assert_eq!(rig.ask(&RESUME), "rejected path-changed");
    assert!(rig.machine.stands());
}

#[test]
fn a_resume_may_name_the_path_it_means() {
    let resume = |hash: String| Command::ResumeMow {
        expected_path_hash: Some(hash),
    };
    let mut rig = Rig::mowing();
    rig.ask(&Command::PauseMow {});
    assert_eq!(rig.ask(&resume("0".repeat(64))), "rejected path-changed");
    let own = hash(&rig);
    assert_eq!(rig.ask(&resume(own)), "executed");
}

#[test]
fn a_start_may_name_the_path_it_means() {
    let mut rig = Rig::docked();
    let mut wanted = start_of_lawn();
    wanted.expected_path_hash = Some("0".repeat(64));
    assert_eq!(
        rig.ask(&Command::StartMow(wanted.clone())),
        "rejected path-changed"
    );
    assert!(rig.machine.job.is_none());
    wanted.expected_path_hash = Some(hash(&Rig::mowing()));
    assert_eq!(rig.ask(&Command::StartMow(wanted)), "executed");
}

#[test]
fn a_start_names_what_the_mower_knows() {
    let mut rig = Rig::docked();
    let mut wanted = start_of_lawn();
    wanted.area_ids = vec![uuid::Uuid::nil()];
    assert_eq!(
        rig.ask(&Command::StartMow(wanted.clone())),
        "rejected unknown-area"
    );
    wanted.area_ids.clear();
    assert_eq!(rig.ask(&Command::StartMow(wanted)), "rejected area-count");
}

#[test]
fn a_pause_leaves_off_where_it_was() {
    let mut rig = Rig::mowing();
    rig.run(200.0);
    rig.ask(&Command::PauseMow {});
    rig.run(5.0);
    let left = progress(&rig);
    assert_eq!(rig.ask(&RESUME), "executed");
    rig.run(0.1);
    assert!((progress(&rig) - left).abs() < 0.1);
    rig.ask(&Command::ReturnToDock {});
    rig.until(Activity::Charging);
    assert!((progress(&rig) - left).abs() < 0.2);
    assert_eq!(rig.ask(&RESUME), "executed");
    rig.until(Activity::Mowing);
    rig.run(30.0);
    assert!(progress(&rig) > left);
}

#[test]
fn a_job_ends_with_its_time() {
    let mut rig = Rig::docked();
    let mut short = start_of_lawn();
    short.duration_min = Some(2);
    assert_eq!(rig.ask(&Command::StartMow(short)), "executed");
    rig.until(Activity::Returning);
    assert_eq!(rig.machine.inactive, InactiveReason::JobDone);
    assert!(rig.machine.job.is_none());
    rig.until(Activity::Charging);
    assert_eq!(rig.machine.inactive, InactiveReason::JobDone);
}

#[test]
fn a_new_speed_and_height_hold_at_once() {
    let mut rig = Rig::mowing();
    rig.ask(&Command::SetSpeed { speed_mps: 0.5 });
    rig.ask(&Command::SetBladeHeight { height_mm: 60 });
    rig.run(1.0);
    assert!((rig.machine.blade.height_mm - 55.0).abs() < 0.2);
    rig.run(2.0);
    assert!((rig.machine.blade.height_mm - 60.0).abs() < 1e-9);
    assert!((rig.machine.truth().speed_mps - 0.5).abs() < 0.01);
}

#[test]
fn a_start_without_a_speed_keeps_the_one_that_is_set() {
    let mut rig = Rig::docked();
    rig.ask(&Command::SetSpeed { speed_mps: 0.5 });
    assert_eq!(rig.ask(&start()), "executed");
    assert_eq!(rig.machine.speed_mps, 0.5);
    let mut slow = start_of_lawn();
    slow.speed_mps = Some(0.2);
    let mut rig = Rig::docked();
    assert_eq!(rig.ask(&Command::StartMow(slow)), "executed");
    assert_eq!(rig.machine.speed_mps, 0.2);
}

#[test]
fn a_restart_is_for_one_that_stands() {
    let mut rig = Rig::mowing();
    assert_eq!(rig.ask(&Command::RestartMower {}), "rejected job-running");
    rig.ask(&Command::PauseMow {});
    assert_eq!(rig.ask(&Command::RestartMower {}), "executed");
    assert_eq!(rig.activity(), Activity::Offline);
    rig.run(21.0);
    assert_eq!(rig.activity(), Activity::Paused);
    assert_eq!(rig.ask(&RESUME), "executed");
}

#[test]
fn a_latch_outlives_a_restart() {
    let mut rig = Rig::mowing();
    rig.machine.press_emergency("button");
    rig.machine.lose_power(1_000);
    rig.run(2.0);
    assert_eq!(rig.activity(), Activity::Stopped);
    assert_eq!(rig.ask(&start()), "rejected emergency-latched");
}

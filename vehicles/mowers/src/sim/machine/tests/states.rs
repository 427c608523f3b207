//! The table of states, cell by cell: what is written here against what a
//! mower brought into each state does.

use super::{Activity, Command, Profile, ProfileName, RESUME, Rig, STOP, frame, start};

/// A state, then the replies to: start, resume, pause, dock, setting the height
/// and the speed, a frame, stop. A word is the activity that follows.
const TABLE: [(&str, [&str; 7]); 14] = [
    (
        "docked",
        [
            "undocking",
            "rejected no-job",
            "no effect",
            "no effect",
            "executed",
            "rejected docked",
            "latched",
        ],
    ),
    (
        "docked with a job",
        [
            "undocking",
            "undocking",
            "no effect",
            "no effect",
            "executed",
            "rejected docked",
            "latched",
        ],
    ),
    (
        "charging below 20 %",
        [
            "rejected low-battery",
            "rejected low-battery",
            "no effect",
            "no effect",
            "executed",
            "rejected docked",
            "latched",
        ],
    ),
    (
        "undocking",
        [
            "rejected job-running",
            "no effect",
            "paused",
            "returning",
            "executed",
            "rejected job-running",
            "stopped",
        ],
    ),
    (
        "mowing",
        [
            "rejected job-running",
            "no effect",
            "paused",
            "returning",
            "executed",
            "rejected job-running",
            "stopped",
        ],
    ),
    (
        "paused",
        [
            "mowing",
            "mowing",
            "no effect",
            "returning",
            "executed",
            "driving_manual",
            "stopped",
        ],
    ),
    (
        "paused without a job",
        [
            "mowing",
            "rejected no-job",
            "no effect",
            "returning",
            "executed",
            "driving_manual",
            "stopped",
        ],
    ),
    (
        "returning",
        [
            "mowing",
            "mowing",
            "paused",
            "no effect",
            "executed",
            "rejected returning",
            "stopped",
        ],
    ),
    (
        "driving",
        [
            "rejected driving",
            "rejected driving",
            "paused",
            "returning",
            "executed",
            "executed",
            "stopped",
        ],
    ),
    (
        "stopped",
        [
            "rejected emergency-latched",
            "rejected emergency-latched",
            "no effect",
            "rejected emergency-latched",
            "executed",
            "rejected emergency-latched",
            "executed",
        ],
    ),
    (
        "stopped in the dock",
        [
            "rejected emergency-latched",
            "rejected emergency-latched",
            "no effect",
            "rejected emergency-latched",
            "executed",
            "rejected emergency-latched",
            "executed",
        ],
    ),
    (
        "error",
        [
            "rejected error",
            "rejected error",
            "no effect",
            "rejected error",
            "executed",
            "rejected error",
            "stopped",
        ],
    ),
    (
        "error that lets home",
        [
            "rejected error",
            "rejected error",
            "no effect",
            "returning",
            "executed",
            "rejected error",
            "stopped",
        ],
    ),
    (
        "updating",
        [
            "rejected updating",
            "rejected updating",
            "no effect",
            "no effect",
            "rejected updating",
            "rejected updating",
            "latched",
        ],
    ),
];

fn brought_to(state: &str) -> Rig {
    match state {
        "docked" => Rig::docked(),
        "docked with a job" => {
            let mut rig = brought_to("returning");
            rig.until(Activity::Charging);
            rig
        }
        "charging below 20 %" => Rig::of(ProfileName::Luba, 15.0),
        "undocking" => {
            let mut rig = Rig::docked();
            rig.ask(&start());
            rig.run(3.0);
            rig
        }
        "mowing" => Rig::mowing(),
        "paused" => asked("mowing", &Command::PauseMow {}),
        "paused without a job" => Rig::paused(),
        "returning" => asked("mowing", &Command::ReturnToDock {}),
        "driving" => {
            let mut rig = Rig::paused();
            rig.machine.drive(&frame(1, 1, 0.5, 1_000)).unwrap();
            rig.run(0.5);
            rig
        }
        "stopped" => asked("mowing", &STOP),
        "stopped in the dock" => asked("docked", &STOP),
        "error" => {
            let mut rig = Rig::mowing();
            rig.machine.fail("7", "blade_blocked", true, false);
            rig
        }
        "error that lets home" => {
            let mut rig = Rig::mowing();
            rig.machine.fail("8", "area_unreachable", true, true);
            rig
        }
        "updating" => {
            let mut rig = Rig::docked();
            assert!(rig.machine.update(60_000));
            rig
        }
        other => panic!("no way to {other}"),
    }
}

fn asked(state: &str, command: &Command) -> Rig {
    let mut rig = brought_to(state);
    assert_eq!(rig.ask(command), "executed");
    rig.run(1.0);
    rig
}

/// The reply, or where an executed command changed something, the new activity.
fn reply(state: &str, command: &Command) -> String {
    let mut rig = brought_to(state);
    let (before, latched) = (rig.activity(), rig.machine.truth().latched);
    let reply = rig.ask(command);
    match (reply.as_str(), rig.activity()) {
        ("executed", after) if after != before => serde_json::to_value(after)
            .unwrap()
            .as_str()
            .unwrap()
            .to_owned(),
        ("executed", _) if !latched && rig.machine.truth().latched => "latched".to_owned(),
        (_, after) if after != before => panic!("{reply}, yet {before:?} became {after:?}"),
        _ => reply,
    }
}

#[test]
fn every_cell_is_as_written() {
    let settings = [
        Command::SetBladeHeight { height_mm: 30 },
        Command::SetSpeed { speed_mps: 0.5 },
    ];
    for (state, [start_cell, resume, pause, dock, set, drive, stop]) in TABLE {
        let check = |command: &Command, expected: &str| {
            assert_eq!(reply(state, command), expected, "{state}: {command:?}");
        };
        check(&start(), start_cell);
        check(&RESUME, resume);
        check(&Command::PauseMow {}, pause);
        check(&Command::ReturnToDock {}, dock);
        settings.iter().for_each(|command| check(command, set));
        check(&Command::ManualDrive(frame(1, 9, 0.1, 500)), drive);
        check(&STOP, stop);
    }
}

#[test]
fn a_start_drops_the_old_job_and_a_resume_keeps_it() {
    let job = |command: &Command| {
        let mut rig = brought_to("paused");
        let before = rig.machine.job.as_ref().unwrap().id;
        rig.ask(command);
        before == rig.machine.job.as_ref().unwrap().id
    };
    assert!(job(&RESUME));
    assert!(!job(&start()));
}

#[test]
fn what_is_not_declared_is_refused() {
    let mut rig = Rig::of(ProfileName::Automower, 100.0);
    assert_eq!(
        rig.ask(&Command::SetSpeed { speed_mps: 0.4 }),
        "rejected unsupported"
    );
    assert_eq!(rig.ask(&Command::RestartMower {}), "rejected unsupported");
    let mut rig = Rig::docked();
    let refused = "rejected height-out-of-range";
    assert_eq!(rig.ask(&Command::SetBladeHeight { height_mm: 71 }), refused);
    assert_eq!(
        rig.ask(&Command::SetSpeed { speed_mps: 0.7 }),
        "rejected speed-out-of-range"
    );
}

/// How each kind of mower carries a stop out.
#[test]
fn a_stop_is_as_strong_as_the_vendor_made_it() {
    let stopped = |name: ProfileName| {
        let mut rig = Rig::of(name, 100.0);
        let mut own = start();
        if let Command::StartMow(start) = &mut own
            && !Profile::named(name).capabilities.areas
        {
            start.area_ids.clear();
        }
        assert_eq!(rig.ask(&own), "executed");
        rig.until(Activity::Mowing);
        rig.run(30.0);
        rig.ask(&STOP);
        rig.run(1.0);
        assert!(rig.machine.stands());
        (rig.activity(), rig.ask(&RESUME))
    };
    let latched = (Activity::Stopped, "rejected emergency-latched".to_owned());
    assert_eq!(stopped(ProfileName::Luba), latched);
    assert_eq!(stopped(ProfileName::Openmower), latched);
    assert_eq!(stopped(ProfileName::Landroid), latched);
    let paused = (Activity::Paused, "executed".to_owned());
    assert_eq!(stopped(ProfileName::Automower), paused);
}

#[test]
fn some_mowers_want_a_pause_before_they_go_home() {
    let mut rig = Rig::mowing();
    let mut profile = Profile::named(ProfileName::Luba);
    profile.pause_before_dock = true;
    rig.machine.profile = profile.into();
    assert_eq!(rig.ask(&Command::ReturnToDock {}), "rejected pause-first");
    assert_eq!(rig.ask(&Command::PauseMow {}), "executed");
    assert_eq!(rig.ask(&Command::ReturnToDock {}), "executed");
}

use std::process::Command;

use super::{Process, Signal};
use crate::poll;

fn shell(folder: &tempfile::TempDir, script: &str) -> Process {
    Process::start(
        "shell",
        folder.path(),
        Command::new("sh").args(["-c", script]),
    )
}

#[test]
fn waits_for_the_address_in_the_output() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = shell(
        &folder,
        "echo starting; echo listening on 127.0.0.1:7; read line",
    );
    assert_eq!(process.listening().port(), 7);
}

#[test]
fn an_address_of_an_earlier_run_is_not_taken() {
    let folder = tempfile::tempdir().unwrap();
    shell(&folder, "echo listening on 127.0.0.1:7").wait();
    assert_eq!(
        shell(&folder, "echo listening on 127.0.0.1:8")
            .listening()
            .port(),
        8
    );
}

#[test]
fn a_process_ends_as_it_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = shell(&folder, "trap 'exit 3' TERM; echo up; while :; do :; done");
    process.ready("up", |out| out.contains("up").then_some(()));
    assert_eq!(process.terminate().code(), Some(3));
}

#[test]
fn a_stopped_process_does_nothing_until_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = shell(&folder, "while :; do :; done");
    poll::until("it runs", || (process.cpu_ticks() > 0).then_some(()));
    process.signal(Signal::Stop);
    let state = |process: &Process| {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", process.id())).unwrap();
        stat.rsplit(") ").next().unwrap().chars().next().unwrap()
    };
    poll::until("it is stopped", || (state(&process) == 'T').then_some(()));
    process.signal(Signal::Continue);
    poll::until("it runs again", || (state(&process) == 'R').then_some(()));
    process.kill();
    assert!(process.ended().is_some());
}

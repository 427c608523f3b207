//! What the figures were measured on, and helper programs.

use std::fs;
use std::process::Command;
use std::thread;

use crate::process::binary;

/// Cores, processor and kernel, in one line.
pub(super) fn describe() -> String {
    let cores = thread::available_parallelism().map_or(0, usize::from);
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpu
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .and_then(|rest| rest.split_once(": "))
        .map_or("unknown processor", |(_, model)| model);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    format!("{cores} cores of {model}, Linux {}", kernel.trim())
}

/// Clock ticks per second, in which the kernel counts CPU time.
pub(super) fn ticks_per_second() -> f64 {
    let output = Command::new("getconf")
        .arg("CLK_TCK")
        .output()
        .expect("getconf is there");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.trim().parse().expect("ticks are a number")
}

/// The version that a program prints of itself.
pub(super) fn version(program: &str, argument: &str) -> String {
    let output = Command::new(program)
        .arg(argument)
        .output()
        .expect("the program is there");
    // nginx and wrk disagree on where a version belongs.
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().next().unwrap_or_default().trim().to_owned()
}

/// The table that the policies crate prints of its own decisions.
pub(super) fn decision_cost() -> String {
    let bench = binary("interlock-bench");
    let example = bench.with_file_name("examples").join("decision_cost");
    let output = Command::new(&example)
        .output()
        .unwrap_or_else(|cause| panic!("cannot run `{}`: {cause}", example.display()));
    assert!(
        output.status.success(),
        "decision_cost ended with {}",
        output.status
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

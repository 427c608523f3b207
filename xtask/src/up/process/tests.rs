use std::process::Command;

use super::Process;
use crate::failure::Failure;

fn shell(folder: &tempfile::TempDir, script: &str) -> Process {
    let mut command = Command::new("sh");
    command.args(["-c", script]);
    Process::start("shell", folder.path(), command).unwrap()
}

async fn started(process: &mut Process) -> Result<(), Failure> {
    process
        .ready("it says `up`", async |log| log.contains("up").then_some(()))
        .await
}

#[tokio::test]
async fn a_process_that_ends_early_is_told_with_its_last_lines() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = shell(&folder, "echo this is why >&2; exit 3");
    let failure = started(&mut process).await.unwrap_err().to_string();
    assert!(
        failure.contains("shell ended with exit status: 3"),
        "{failure}"
    );
    assert!(failure.contains("  this is why"), "{failure}");
}

#[tokio::test]
async fn stopping_takes_what_the_process_started_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    let made = Command::new("mkfifo").arg(&pipe).status().unwrap();
    assert!(made.success());
    // Reads until nobody has the pipe open for writing.
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    let child = "echo up; sleep 60; echo survived >&3";
    let script = format!("sh -c '{child}' 3>{} & wait", pipe.display());
    let mut process = shell(&folder, &script);
    started(&mut process).await.unwrap();
    process.stop().await;
    assert_eq!(reader.join().unwrap(), "");
}

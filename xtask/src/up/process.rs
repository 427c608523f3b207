//! One process of the system, with its log.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::{Instant, sleep, timeout};

use crate::failure::Failure;

/// How long a process may take to become ready.
const READY: Duration = Duration::from_secs(30);

/// How long a process may take to end when it is asked to.
const DRAIN: Duration = Duration::from_secs(10);

/// How often a log is looked at while a process becomes ready.
const LOOK: Duration = Duration::from_millis(50);

/// Lines of a log that a failure shows.
const TAIL: usize = 20;

/// A running child. It leads a process group of its own, so that Ctrl-C in the
/// terminal reaches this tool alone, which then ends the children in order.
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    group: u32,
    log: PathBuf,
}

impl Process {
    /// Starts a program with both output streams in `LOGS/NAME.log`.
    pub(crate) fn start(
        name: &'static str,
        logs: &Path,
        command: std::process::Command,
    ) -> Result<Process, Failure> {
        let log = logs.join(format!("{name}.log"));
        let out = File::create(&log).map_err(Failure::file(&log))?;
        let err = out.try_clone().map_err(Failure::file(&log))?;
        let mut command = Command::from(command);
        let program = command.as_std().get_program().display().to_string();
        let child = command
            .stdin(Stdio::null())
            .stdout(out)
            .stderr(err)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|cause| Failure::Start { program, cause })?;
        let group = child.id().unwrap_or_default();
        Ok(Process {
            name,
            child,
            group,
            log,
        })
    }

    /// What its log is called.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// Waits until `probe` finds what it looks for in the log so far.
    pub(crate) async fn ready<T>(
        &mut self,
        what: &str,
        probe: impl AsyncFn(&str) -> Option<T>,
    ) -> Result<T, Failure> {
        let deadline = Instant::now() + READY;
        loop {
            if let Some(found) = probe(&self.text()).await {
                return Ok(found);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(self.death(status));
            }
            if Instant::now() > deadline {
                return Err(Failure::NotReady {
                    name: self.name,
                    seconds: READY.as_secs(),
                    what: what.to_owned(),
                    log: self.log.clone(),
                    tail: self.tail(),
                });
            }
            sleep(LOOK).await;
        }
    }

    /// Waits for the end of a process that has one, which must be a success.
    pub(crate) async fn finish(&mut self) -> Result<(), Failure> {
        let status = self.child.wait().await.map_err(Failure::file(&self.log))?;
        if status.success() {
            return Ok(());
        }
        Err(Failure::Finished {
            name: self.name,
            status,
            log: self.log.clone(),
            tail: self.tail(),
        })
    }

    /// Returns when the process has ended, with what it said last.
    pub(crate) async fn died(&mut self) -> Failure {
        match self.child.wait().await {
            Ok(status) => self.death(status),
            Err(cause) => Failure::file(&self.log)(cause),
        }
    }

    /// Asks the process and what it started to end; kills what is left after
    /// [`DRAIN`].
    pub(crate) async fn stop(&mut self) {
        signal(self.group, "TERM").await;
        if timeout(DRAIN, self.child.wait()).await.is_err() {
            eprintln!("{} did not end within {DRAIN:?}: killed", self.name);
        }
        // Also when it ended by itself: it may have left children behind.
        signal(self.group, "KILL").await;
        if let Err(cause) = self.child.wait().await {
            eprintln!("cannot wait for {}: {cause}", self.name);
        }
    }

    fn death(&self, status: ExitStatus) -> Failure {
        Failure::Died {
            name: self.name,
            status,
            log: self.log.clone(),
            tail: self.tail(),
        }
    }

    fn text(&self) -> String {
        let bytes = fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn tail(&self) -> String {
        let text = self.text();
        let lines: Vec<&str> = text.lines().collect();
        let shown = lines.len().saturating_sub(TAIL);
        lines
            .iter()
            .skip(shown)
            .map(|line| format!("  {line}\n"))
            .collect()
    }
}

/// Sends a signal to a process group. Through the shell, since the standard
/// library sends none but SIGKILL. A group that is gone is what we want, so
/// the shell's word on that is not read.
async fn signal(group: u32, signal: &str) {
    let sent = Command::new("sh")
        .args(["-c", &format!("kill -{signal} -{group}")])
        .stderr(Stdio::null())
        .status()
        .await;
    if let Err(cause) = sent {
        eprintln!("cannot send a signal: {cause}");
    }
}

#[cfg(test)]
mod tests;

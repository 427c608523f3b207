//! A program that runs beside the test, as it would in production.

mod binary;

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use crate::poll;

pub use binary::binary;

/// A signal that a test sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGTERM`: end in order.
    Terminate,
    /// `SIGKILL`: end as if the power had gone.
    Kill,
    /// `SIGSTOP`: freeze, with every socket open.
    Stop,
    /// `SIGCONT`: go on after [`Signal::Stop`].
    Continue,
    /// `SIGHUP`: read the configuration again.
    Hangup,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Signal::Terminate => "TERM",
            Signal::Kill => "KILL",
            Signal::Stop => "STOP",
            Signal::Continue => "CONT",
            Signal::Hangup => "HUP",
        }
    }

    /// Sends it to a process by its id. Through the shell, since the standard
    /// library sends none but `SIGKILL`.
    pub fn send(self, id: u32) {
        let order = format!("kill -{} {id}", self.name());
        let sent = Command::new("sh").args(["-c", &order]).status();
        assert!(
            sent.is_ok_and(|status| status.success()),
            "cannot run `{order}`"
        );
        if self == Signal::Stop {
            poll::until("the process is frozen", || is_frozen(id).then_some(()));
        }
    }
}

/// Whether no thread of a process runs any more: each of them stops by itself
/// once it has seen the signal, which may be after it was sent.
fn is_frozen(id: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{id}/task"));
    threads.into_iter().flatten().flatten().all(|thread| {
        // `ID (NAME) STATE ...`, where the name may hold anything. A thread that
        // is gone runs no more.
        let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
        let state = stat
            .rsplit(") ")
            .next()
            .and_then(|rest| rest.chars().next());
        matches!(state, None | Some('T' | 't' | 'Z' | 'X'))
    })
}

/// A child process, killed when this value is dropped. Its output lies in
/// `NAME.out` and `NAME.err` of the folder it was started with, appended over
/// restarts, so that a test can look through everything that was ever said.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    out: PathBuf,
    err: PathBuf,
    /// Bytes of `out` that an earlier process of this name wrote.
    skip: u64,
}

impl Process {
    /// Starts `command`, which is called `name` in messages.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(name: &str, folder: &Path, command: &mut Command) -> Process {
        let out = folder.join(format!("{name}.out"));
        let err = folder.join(format!("{name}.err"));
        let skip = fs::metadata(&out).map_or(0, |file| file.len());
        let child = command
            .stdin(Stdio::null())
            // Said to the tests alone; the gateway refuses variables that it
            // does not know.
            .env_remove("INTERLOCK_GOLDEN")
            .stdout(append(&out))
            .stderr(append(&err))
            // Ctrl-C in the terminal ends the test, which ends its children.
            .process_group(0)
            .spawn()
            .unwrap_or_else(|cause| panic!("cannot start {name} ({command:?}): {cause}"));
        Process {
            name: name.to_owned(),
            child,
            out,
            err,
            skip,
        }
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the line `listening on ADDRESS`.
    ///
    /// # Panics
    /// When the process ends before it, or never prints it.
    pub fn listening(&mut self) -> SocketAddr {
        self.ready("`listening on ADDRESS` on standard output", |out| {
            // A line without its end may still be growing.
            out.split_inclusive('\n')
                .filter_map(|line| line.strip_suffix('\n'))
                .find_map(|line| line.strip_prefix("listening on "))
                .and_then(|address| address.trim().parse().ok())
        })
    }

    /// Waits until `probe` finds what it looks for in the standard output so
    /// far.
    ///
    /// # Panics
    /// When the process ends before that, or it never comes.
    pub fn ready<T>(&mut self, what: &str, mut probe: impl FnMut(&str) -> Option<T>) -> T {
        let what = format!("{} gives {what}", self.name);
        poll::until(&what, || {
            if let Some(found) = probe(&self.stdout()) {
                return Some(found);
            }
            if let Some(status) = self.ended() {
                panic!(
                    "{} ended with {status} before it was ready:\n{}",
                    self.name,
                    self.tail()
                );
            }
            None
        })
    }

    /// How the process ended, or `None` while it runs.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("a child can be asked")
    }

    /// Waits for the end of a process that has a reason to end.
    ///
    /// # Panics
    /// When it goes on.
    pub fn wait(&mut self) -> ExitStatus {
        let what = format!("{} ends", self.name);
        poll::until(&what, || self.ended())
    }

    /// Sends a signal.
    ///
    /// # Panics
    /// When the process has ended.
    pub fn signal(&mut self, signal: Signal) {
        if let Some(status) = self.ended() {
            panic!("{} has ended with {status}:\n{}", self.name, self.tail());
        }
        signal.send(self.id());
    }

    /// The processes that this one has started (Linux alone).
    pub fn children(&self) -> Vec<u32> {
        let id = self.id();
        let list = fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let list = list.expect("the process runs");
        let ids = list.split_whitespace().map(str::parse);
        ids.map(|id| id.expect("a process id")).collect()
    }

    /// `kill -9`, and waits until the process is gone.
    pub fn kill(&mut self) {
        self.child.kill().expect("a child can be killed");
        self.child.wait().expect("a killed child ends");
    }

    /// Asks the process to end, and waits until it has.
    pub fn terminate(&mut self) -> ExitStatus {
        self.signal(Signal::Terminate);
        self.wait()
    }

    /// What this process has written to its standard output.
    pub fn stdout(&self) -> String {
        let bytes = fs::read(&self.out).unwrap_or_default();
        let own = bytes.get(self.skip as usize..).unwrap_or_default();
        String::from_utf8_lossy(own).into_owned()
    }

    /// What processes of this name have written to their standard error.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.err).unwrap_or_default()).into_owned()
    }

    /// User and system time that the process has used, in clock ticks
    /// (`/proc/PID/stat`, fields 14 and 15; Linux alone).
    pub fn cpu_ticks(&self) -> u64 {
        cpu_ticks(self.id())
    }

    /// Bytes of memory that are resident (`/proc/PID/status`, `VmRSS`; Linux
    /// alone).
    pub fn resident_bytes(&self) -> u64 {
        resident_bytes(self.id())
    }

    fn tail(&self) -> String {
        let text = format!("{}{}", self.stdout(), self.stderr());
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(30)..].join("\n")
    }
}

/// [`Process::cpu_ticks`] of any process that we may look at.
pub fn cpu_ticks(id: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/stat")).expect("the process runs");
    // The second field is the program's name, which may hold anything.
    let fields = text.rsplit(") ").next().unwrap_or_default();
    let mut fields = fields.split(' ').skip(11);
    let mut ticks = || -> u64 {
        fields
            .next()
            .and_then(|text| text.parse().ok())
            .expect("ticks")
    };
    ticks() + ticks()
}

/// [`Process::resident_bytes`] of any process that we may look at.
pub fn resident_bytes(id: u32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{id}/status")).expect("the process runs");
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes: u64 = kilobytes
        .and_then(|text| text.parse().ok())
        .expect("VmRSS is a number");
    kilobytes * 1024
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("--- last lines of {}:\n{}", self.name, self.tail());
        }
        // A child that has ended cannot be killed, which is all right.
        if self.child.kill().is_ok() && self.child.wait().is_err() {
            eprintln!("{} was killed but cannot be waited for", self.name);
        }
    }
}

fn append(path: &Path) -> File {
    File::options()
        .create(true)
        .append(true)
        .open(path)
        .unwrap_or_else(|cause| panic!("cannot write `{}`: {cause}", path.display()))
}

#[cfg(test)]
mod tests;

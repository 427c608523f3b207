//! A real PostgreSQL server that belongs to one test.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

use crate::poll;
use crate::ports;
use crate::process::{Process, Signal, cpu_ticks};

/// The one user and owner of everything.
const USER: &str = "interlock";

/// A `postgres` on a port of its own, ended with this value. It listens on
/// loopback alone and asks for no password.
#[derive(Debug)]
pub struct Postgres {
    process: Option<Process>,
    address: SocketAddr,
    programs: Programs,
    fsync: Fsync,
    folder: TempDir,
}

/// Whether a commit waits for the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fsync {
    On,
    /// A killed process loses nothing that the system has; only a power cut
    /// would, which no test brings about.
    Off,
}

impl Postgres {
    /// An empty server.
    ///
    /// # Panics
    /// When PostgreSQL is not installed or does not start.
    pub fn start() -> Postgres {
        Postgres::start_with(Fsync::Off)
    }

    /// An empty server that is as slow as a real one: it waits for the disk.
    ///
    /// # Panics
    /// When PostgreSQL is not installed or does not start.
    pub fn durable() -> Postgres {
        Postgres::start_with(Fsync::On)
    }

    fn start_with(fsync: Fsync) -> Postgres {
        let folder = tempfile::tempdir().expect("a folder for PostgreSQL");
        let programs = Programs::find();
        programs.make_cluster(folder.path());
        // Another process may take the port between our look and the start.
        for _ in 0..5 {
            let address = ports::free();
            if let Some(process) = launch(&programs, address, folder.path(), fsync) {
                return Postgres {
                    process: Some(process),
                    address,
                    programs,
                    fsync,
                    folder,
                };
            }
        }
        panic!("five ports in a row were taken before PostgreSQL could listen on them");
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The database that is there from the start, as a client's configuration
    /// has it.
    pub fn url(&self) -> String {
        format!("postgres://{USER}@{}/postgres", self.address)
    }

    /// Runs a statement, and gives its rows as lines with `|` between columns.
    ///
    /// # Panics
    /// When it fails.
    pub fn query(&self, statement: &str) -> String {
        let output = self.psql(statement);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{statement}: {said}");
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// CPU time that the server and its connections have used, in clock ticks.
    ///
    /// # Panics
    /// When it does not run.
    pub fn cpu_ticks(&self) -> u64 {
        let server = self.process.as_ref().expect("PostgreSQL runs");
        let connections = server.children().into_iter().map(cpu_ticks);
        server.cpu_ticks() + connections.sum::<u64>()
    }

    /// Freezes the server: connections stay open, nothing is answered.
    pub fn hang(&mut self) {
        // The server first: each connection has a process of its own, and a
        // frozen server starts no more.
        self.running().signal(Signal::Stop);
        self.signal_children(Signal::Stop);
    }

    /// Goes on after [`Postgres::hang`].
    pub fn resume(&mut self) {
        // The server last: it ends some of its processes as soon as it runs.
        self.signal_children(Signal::Continue);
        self.running().signal(Signal::Continue);
    }

    /// Ends the server at once, as if the power had gone; connections are cut
    /// and refused from here on.
    pub fn kill(&mut self) {
        // Frozen first, so that it starts no process that we do not see.
        self.running().signal(Signal::Stop);
        self.signal_children(Signal::Kill);
        self.running().kill();
        self.process = None;
    }

    /// Starts the server again on the same port after [`Postgres::kill`], with
    /// everything that was committed.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "PostgreSQL runs already");
        let process = launch(&self.programs, self.address, self.folder.path(), self.fsync);
        self.process = Some(process.expect("the port is still free"));
    }

    fn psql(&self, statement: &str) -> Output {
        Command::new(self.programs.path("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1"])
            .args(["-c", statement, &self.url()])
            .output()
            .expect("psql runs")
    }

    fn signal_children(&mut self, signal: Signal) {
        for child in self.running().children() {
            signal.send(child);
        }
    }

    fn running(&mut self) -> &mut Process {
        self.process.as_mut().expect("PostgreSQL runs")
    }
}

impl Drop for Postgres {
    /// Its processes too: a frozen one would not notice that the server is gone.
    fn drop(&mut self) {
        let runs = |process: &mut Process| process.ended().is_none();
        if self.process.as_mut().is_some_and(runs) {
            self.kill();
        }
    }
}

/// What of PostgreSQL is run here. Some systems have a part of it on the path.
const NEEDED: [&str; 4] = ["postgres", "initdb", "pg_isready", "psql"];

/// The programs of the newest version that is installed, and who runs them.
#[derive(Debug)]
struct Programs {
    folder: PathBuf,
    /// The server refuses to run as root; then it runs as this user.
    user: Option<&'static str>,
}

impl Programs {
    fn find() -> Programs {
        let on_path = std::env::var_os("PATH").unwrap_or_default();
        let version = |path: &PathBuf| -> Option<u32> { path.file_name()?.to_str()?.parse().ok() };
        let versions = fs::read_dir("/usr/lib/postgresql").into_iter().flatten();
        let mut versions: Vec<PathBuf> = versions.flatten().map(|entry| entry.path()).collect();
        versions.sort_by_key(|path| std::cmp::Reverse(version(path)));
        let folder = std::env::split_paths(&on_path)
            .chain(versions.iter().map(|path| path.join("bin")))
            .find(|folder| NEEDED.iter().all(|name| folder.join(name).is_file()))
            .expect("PostgreSQL is installed; `cargo xtask test` does that");
        let user = (id(&["-u"]) == "0").then_some("postgres");
        Programs { folder, user }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A program of the server, under the user who may run it.
    fn command(&self, name: &str) -> Command {
        let Some(user) = self.user else {
            return Command::new(self.path(name));
        };
        // It becomes the program, so that signals reach it.
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", user, "--regid", user, "--clear-groups"])
            .arg(self.path(name));
        command
    }

    fn make_cluster(&self, folder: &Path) {
        let data = data(folder);
        fs::create_dir(&data).expect("a data folder");
        if let Some(user) = self.user {
            let number = |flag| Some(id(&[flag, user]).parse().expect("a number"));
            chown(&data, number("-u"), number("-g")).expect("a data folder of its own");
            // To get there, and no more.
            let traverse = fs::Permissions::from_mode(0o711);
            fs::set_permissions(folder, traverse).expect("a folder that can be passed");
        }
        let made = self
            .command("initdb")
            .current_dir(folder)
            .args(["--username", USER, "--auth", "trust", "--encoding", "UTF8"])
            .args(["--no-locale", "--no-sync", "-D"])
            .arg(&data)
            .output()
            .expect("initdb runs");
        let said = String::from_utf8_lossy(&made.stderr);
        assert!(made.status.success(), "initdb:\n{said}");
    }
}

fn data(folder: &Path) -> PathBuf {
    folder.join("data")
}

fn id(arguments: &[&str]) -> String {
    let output = Command::new("id").args(arguments).output();
    let output = output.expect("id runs");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

/// A server that answers, or `None` when the port was taken.
fn launch(
    programs: &Programs,
    address: SocketAddr,
    folder: &Path,
    fsync: Fsync,
) -> Option<Process> {
    let mut command = programs.command("postgres");
    command
        .current_dir(folder)
        .arg("-D")
        .arg(data(folder))
        .args(["-p", &address.port().to_string()])
        .args(["-c", "listen_addresses=127.0.0.1"])
        .args(["-c", "unix_socket_directories="])
        .args([
            "-c",
            match fsync {
                Fsync::On => "fsync=on",
                Fsync::Off => "fsync=off",
            },
        ]);
    let mut process = Process::start("postgres", folder, &mut command);
    poll::until("PostgreSQL answers", || {
        if process.ended().is_some() {
            let said = process.stderr();
            assert!(
                said.contains("Address already in use"),
                "PostgreSQL:\n{said}"
            );
            return Some(None);
        }
        answers(programs, address).then_some(Some(()))
    })?;
    Some(process)
}

fn answers(programs: &Programs, address: SocketAddr) -> bool {
    let asked = Command::new(programs.path("pg_isready"))
        .args(["-q", "-h", &address.ip().to_string()])
        .args(["-p", &address.port().to_string()])
        .status();
    asked.is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests;

//! A real Redis server that belongs to one test.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use redis::{Client, Connection, FromRedisValue};
use tempfile::TempDir;

use crate::poll;
use crate::ports;
use crate::process::{Process, Signal};

/// How a server is set up.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Keeps an append-only file, fsynced on every write.
    pub durable: bool,
    /// What it does when memory is full; the gateway accepts `noeviction`.
    pub eviction: &'static str,
}

impl Default for Setup {
    fn default() -> Setup {
        Setup {
            durable: false,
            eviction: "noeviction",
        }
    }
}

/// A `redis-server` on a port of its own, ended with this value.
#[derive(Debug)]
pub struct Redis {
    process: Option<Process>,
    address: SocketAddr,
    setup: Setup,
    folder: TempDir,
}

impl Redis {
    /// A server that forgets everything when it ends.
    pub fn start() -> Redis {
        Redis::start_with(Setup::default())
    }

    /// A server as `setup` says.
    ///
    /// # Panics
    /// When `redis-server` is not installed or does not start.
    pub fn start_with(setup: Setup) -> Redis {
        let folder = tempfile::tempdir().expect("a folder for Redis");
        // Another process may take the port between our look and the start.
        for _ in 0..5 {
            let address = ports::free();
            if let Some(process) = launch(setup, address, folder.path()) {
                return Redis {
                    process: Some(process),
                    address,
                    setup,
                    folder,
                };
            }
        }
        panic!("five ports in a row were taken before Redis could listen on them");
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a client's configuration has it.
    pub fn url(&self) -> String {
        format!("redis://{}/", self.address)
    }

    /// A blocking connection.
    pub fn connect(&self) -> Connection {
        let client = Client::open(self.url()).expect("the address is a URL");
        let connection = client
            .get_connection_with_timeout(poll::SOCKET)
            .expect("Redis accepts a connection");
        connection
            .set_read_timeout(Some(poll::SOCKET))
            .expect("a timeout above zero");
        connection
    }

    /// Runs one command.
    ///
    /// # Panics
    /// When it fails.
    pub fn command<T: FromRedisValue>(&self, words: &[&str]) -> T {
        let (name, arguments) = words.split_first().expect("a command has a name");
        let mut command = redis::cmd(name);
        command.arg(arguments);
        command
            .query(&mut self.connect())
            .unwrap_or_else(|cause| panic!("{words:?}: {cause}"))
    }

    /// Removes every key, as a wrong hand or a lost replica would.
    pub fn flush(&self) {
        self.command::<()>(&["FLUSHALL"]);
    }

    /// How many commands the server has run, this question not counted.
    pub fn commands_processed(&self) -> u64 {
        let info: String = self.command(&["INFO", "stats"]);
        let line = info
            .lines()
            .find_map(|line| line.strip_prefix("total_commands_processed:"));
        line.and_then(|count| count.trim().parse().ok())
            .expect("INFO gives the count")
    }

    /// Everything that is stored, uncompressed, as bytes to search in.
    pub fn dump(&self) -> Vec<u8> {
        self.command::<()>(&["SAVE"]);
        std::fs::read(self.folder.path().join("dump.rdb")).expect("SAVE writes a file")
    }

    /// Freezes the server: connections stay open, nothing is answered.
    pub fn hang(&mut self) {
        self.running().signal(Signal::Stop);
    }

    /// Goes on after [`Redis::hang`].
    pub fn resume(&mut self) {
        self.running().signal(Signal::Continue);
    }

    /// Ends the server at once; connections are refused from here on.
    pub fn kill(&mut self) {
        self.running().kill();
        self.process = None;
    }

    /// Starts the server again on the same port after [`Redis::kill`], with
    /// what it kept when it is durable and with nothing when it is not.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "Redis runs already");
        let process = launch(self.setup, self.address, self.folder.path());
        self.process = Some(process.expect("the port is still free"));
    }

    fn running(&mut self) -> &mut Process {
        self.process.as_mut().expect("Redis runs")
    }
}

/// A server that answers, or `None` when the port was taken.
fn launch(setup: Setup, address: SocketAddr, folder: &Path) -> Option<Process> {
    let mut command = Command::new("redis-server");
    command
        .current_dir(folder)
        .args(["--bind", "127.0.0.1"])
        .args(["--port", &address.port().to_string()])
        .args(["--maxmemory-policy", setup.eviction])
        .args(["--save", "", "--rdbcompression", "no"]);
    if setup.durable {
        command.args(["--appendonly", "yes", "--appendfsync", "always"]);
    }
    let mut process = Process::start("redis", folder, &mut command);
    poll::until("Redis answers", || {
        if process.ended().is_some() {
            let said = process.stdout();
            assert!(said.contains("Address already in use"), "Redis:\n{said}");
            return Some(None);
        }
        answers(address).then_some(Some(()))
    })?;
    Some(process)
}

fn answers(address: SocketAddr) -> bool {
    let look = || -> redis::RedisResult<String> {
        let client = Client::open(format!("redis://{address}/"))?;
        let mut connection = client.get_connection_with_timeout(Duration::from_secs(1))?;
        redis::cmd("PING").query(&mut connection)
    };
    look().is_ok_and(|answer| answer == "PONG")
}

#[cfg(test)]
mod tests;

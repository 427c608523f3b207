//! A real NATS server with JetStream that belongs to one test.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use async_nats::jetstream::{self, stream::Stream};
use serde_json::Value;
use tempfile::TempDir;

use crate::poll;
use crate::ports;
use crate::process::{Process, Signal};

/// What the mower service needs of a server: room for a previewed path, and
/// messages on the disk before they are acknowledged.
const SETTINGS: &str = "max_payload: 8MB";

/// A `nats-server` on a port of its own, ended with this value.
#[derive(Debug)]
pub struct Nats {
    process: Option<Process>,
    address: SocketAddr,
    folder: TempDir,
}

impl Nats {
    /// A server as the mower service wants it.
    pub fn start() -> Nats {
        Nats::start_with(SETTINGS)
    }

    /// A server with these lines in its configuration file, besides JetStream.
    ///
    /// # Panics
    /// When `nats-server` is not installed or does not start.
    pub fn start_with(settings: &str) -> Nats {
        let folder = tempfile::tempdir().expect("a folder for NATS");
        let store = folder.path().join("store");
        let config =
            format!("jetstream {{ store_dir: {store:?}, sync_interval: always }}\n{settings}\n");
        fs::write(configuration(folder.path()), config).expect("a configuration");
        // Another process may take the port between our look and the start.
        for _ in 0..5 {
            let address = ports::free();
            if let Some(process) = launch(address, folder.path()) {
                return Nats {
                    process: Some(process),
                    address,
                    folder,
                };
            }
        }
        panic!("five ports in a row were taken before NATS could listen on them");
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as a client's configuration has it.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// CPU time that it has used, in clock ticks.
    ///
    /// # Panics
    /// When it does not run.
    pub fn cpu_ticks(&self) -> u64 {
        self.process.as_ref().expect("NATS runs").cpu_ticks()
    }

    /// Freezes the server: connections stay open, nothing is answered.
    pub fn hang(&mut self) {
        self.running().signal(Signal::Stop);
    }

    /// Goes on after [`Nats::hang`].
    pub fn resume(&mut self) {
        self.running().signal(Signal::Continue);
    }

    /// Ends the server at once; connections are refused from here on.
    pub fn kill(&mut self) {
        self.running().kill();
        self.process = None;
    }

    /// Starts the server again on the same port after [`Nats::kill`], with the
    /// streams that it kept on disk.
    pub fn restart(&mut self) {
        assert!(self.process.is_none(), "NATS runs already");
        let process = launch(self.address, self.folder.path());
        self.process = Some(process.expect("the port is still free"));
    }

    /// What a stream of it holds: subject and content of each message, the
    /// oldest first.
    ///
    /// # Panics
    /// When there is no such stream.
    pub async fn holds(&self, stream: &str) -> Vec<(String, Value)> {
        let stream = self.stream(stream).await;
        let state = &stream.cached_info().state;
        let mut all = Vec::new();
        for number in state.first_sequence..=state.last_sequence {
            // Those that are gone by now are not held.
            if let Ok(message) = stream.get_raw_message(number).await {
                let content = serde_json::from_slice(&message.payload);
                all.push((
                    message.subject.to_string(),
                    content.expect("a message is JSON"),
                ));
            }
        }
        all
    }

    /// How many messages a stream of it has ever taken.
    ///
    /// # Panics
    /// When there is no such stream.
    pub async fn taken(&self, stream: &str) -> u64 {
        self.stream(stream).await.cached_info().state.last_sequence
    }

    async fn stream(&self, name: &str) -> Stream {
        self.jetstream()
            .await
            .get_stream(name)
            .await
            .expect("there is such a stream")
    }

    /// A client of its streams.
    ///
    /// # Panics
    /// When it cannot connect.
    pub async fn jetstream(&self) -> jetstream::Context {
        let client = async_nats::connect(self.url()).await;
        jetstream::new(client.expect("it lets us in"))
    }

    fn running(&mut self) -> &mut Process {
        self.process.as_mut().expect("NATS runs")
    }
}

/// The server that `cargo xtask test` installs into the target folder, which
/// is three above a test's own file, else the one on the path.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let installed = test
        .ancestors()
        .map(|folder| folder.join("tools").join("nats").join("bin"))
        .map(|folder| folder.join("nats-server"))
        .find(|file| file.is_file());
    installed.unwrap_or_else(|| PathBuf::from("nats-server"))
}

fn configuration(folder: &Path) -> PathBuf {
    folder.join("nats.conf")
}

/// A server that answers, or `None` when the port was taken.
fn launch(address: SocketAddr, folder: &Path) -> Option<Process> {
    let mut command = Command::new(program());
    command
        .arg("--config")
        .arg(configuration(folder))
        .args(["--addr", &address.ip().to_string()])
        .args(["--port", &address.port().to_string()]);
    let mut process = Process::start("nats", folder, &mut command);
    poll::until("NATS answers", || {
        if process.ended().is_some() {
            let said = process.stderr();
            assert!(said.contains("address already in use"), "NATS:\n{said}");
            return Some(None);
        }
        answers(address).then_some(Some(()))
    })?;
    Some(process)
}

/// Whether it greets a client, and with JetStream.
fn answers(address: SocketAddr) -> bool {
    let look = || -> std::io::Result<String> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(poll::SOCKET))?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line)
    };
    look().is_ok_and(|line| line.starts_with("INFO ") && line.contains("\"jetstream\":true"))
}

#[cfg(test)]
mod tests;

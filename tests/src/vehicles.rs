//! The simulator and the drone service, each a process of its own.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use serde_json::Value;

use crate::poll;
use crate::process::{Process, Signal, binary};

/// The swarm of the tests.
pub const SWARM: &str = "swarm-1";

/// What crossed the link to the swarm, counted on its far side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize)]
pub struct Counters {
    /// Start frames.
    pub starts: u64,
    /// Missions that began to fly.
    pub flights: u64,
    /// Command frames: return, land, hold.
    pub commands: u64,
    /// Frames of a service that is no longer the writer.
    pub refused: u64,
}

/// The simulated swarm.
#[derive(Debug)]
pub struct Sim {
    /// Its process.
    pub process: Process,
    address: SocketAddr,
}

impl Sim {
    /// A simulator with drones on their pads.
    pub fn start(folder: &Path) -> Sim {
        let mut command = Command::new(binary("interlock-drones"));
        command.args(["sim", "--listen", "127.0.0.1:0"]);
        let mut process = Process::start("sim", folder, &mut command);
        let address = process.listening();
        Sim { process, address }
    }

    /// Where it takes connections.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it has counted so far.
    ///
    /// # Panics
    /// When it does not answer.
    pub fn counters(&self) -> Counters {
        let mut stream = TcpStream::connect(self.address).expect("the simulator accepts");
        stream
            .set_read_timeout(Some(poll::SOCKET))
            .expect("a timeout above zero");
        stream
            .write_all(b"{\"op\":\"counters\"}\n")
            .expect("the simulator reads");
        for line in BufReader::new(stream).lines() {
            let line = line.expect("the simulator answers");
            let frame: Value = serde_json::from_str(&line).expect("a frame is JSON");
            if frame["op"] == "counters" {
                return serde_json::from_value(frame).expect("counters are numbers");
            }
        }
        panic!("the simulator closed without an answer");
    }
}

/// What the drone service is told.
#[derive(Clone, Debug)]
pub struct DronesConfig {
    /// Where it takes requests; port zero for any.
    pub listen: SocketAddr,
    /// The simulator.
    pub link: SocketAddr,
    /// The operations listener of the gateway, if it is to register there.
    pub ops: Option<SocketAddr>,
    /// `kid:base64url` of each key it accepts grants of.
    pub keys: Vec<String>,
    /// Where it keeps its records.
    pub database: PathBuf,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
}

/// The drone service.
#[derive(Debug)]
pub struct Drones {
    /// Its process.
    pub process: Process,
    config: DronesConfig,
    folder: PathBuf,
}

impl Drones {
    /// A service with its files in `folder`.
    pub fn start(config: DronesConfig, folder: &Path) -> Drones {
        let mut config = config;
        let mut process = launch(&config, folder);
        config.listen = process.listening();
        Drones {
            process,
            config,
            folder: folder.to_owned(),
        }
    }

    /// Where it takes requests.
    pub fn address(&self) -> SocketAddr {
        self.config.listen
    }

    /// What it will be told when it starts again.
    pub fn config_mut(&mut self) -> &mut DronesConfig {
        &mut self.config
    }

    /// Starts it again after its end, at the same address, on the same records.
    pub fn restart(&mut self) {
        assert!(
            self.process.ended().is_some(),
            "the drone service runs already"
        );
        self.process = launch(&self.config, &self.folder);
        self.process.listening();
    }

    /// Replaces its keys while it runs.
    pub fn rotate(&mut self, keys: Vec<String>) {
        self.config.keys = keys;
        write(&self.config, &self.folder);
        self.process.signal(Signal::Hangup);
    }
}

/// Writes the configuration file and returns its path.
fn write(config: &DronesConfig, folder: &Path) -> PathBuf {
    let file = folder.join("drones.toml");
    fs::write(&file, config.text()).expect("a file in a folder of ours");
    file
}

fn launch(config: &DronesConfig, folder: &Path) -> Process {
    let file = write(config, folder);
    let mut command = Command::new(binary("interlock-drones"));
    command
        .args(["serve", "--config"])
        .arg(file)
        .env("INTERLOCK_LOG", "trace")
        .envs(config.environment.iter().cloned());
    Process::start("drones", folder, &mut command)
}

impl DronesConfig {
    fn text(&self) -> String {
        let ops = self.ops.map_or(String::new(), |ops| {
            format!("gateway_ops = \"http://{ops}\"\n")
        });
        format!(
            r#"listen = "{}"
swarm = "{SWARM}"
account = "{}"
link = "{}"
database = {:?}
keys = {:?}
{ops}"#,
            self.listen,
            crate::personas::ACCOUNT,
            self.link,
            self.database,
            self.keys,
        )
    }
}

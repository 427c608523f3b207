//! The mower service, a process of its own; its simulated mowers live in it
//! unless it is told of a bus that others share.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::personas::ACCOUNT;
use crate::ports;
use crate::process::{Process, Signal, binary};

/// What the mower service is told.
#[derive(Clone, Debug)]
pub struct MowersConfig {
    /// Where it takes requests; chosen at the start.
    pub listen: SocketAddr,
    /// The operations listener of the gateway.
    pub ops: SocketAddr,
    /// `kid:base64url` of each key it accepts grants of.
    pub keys: Vec<String>,
    /// The `[records]` table.
    pub records: String,
    /// The `[bus]` table.
    pub bus: String,
    /// Where stops are kept that the records could not take.
    pub spool: PathBuf,
    /// What its device gateway must not forget.
    pub state: PathBuf,
    /// Lines added at the end of the file: whole tables.
    pub extra: String,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
}

impl MowersConfig {
    /// A service on one SQLite file, with the bus and the mowers inside.
    pub fn new(ops: SocketAddr, keys: Vec<String>, folder: &Path) -> MowersConfig {
        MowersConfig {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ops,
            keys,
            records: format!("kind = \"sqlite\"\npath = {:?}", folder.join("mowers.db")),
            bus: "kind = \"local\"".to_owned(),
            spool: folder.join("stops.spool"),
            state: folder.join("device-gateway"),
            extra: String::new(),
            environment: Vec::new(),
        }
    }

    fn text(&self) -> String {
        format!(
            r#"listen = "{}"
account = "{ACCOUNT}"
gateway_ops = ["http://{}"]
keys = {:?}
spool = {:?}
state = {:?}
replica = "one"

# Tests preview more often than people do.
[limits]
previews_of_account = 100
previews_a_minute = 1000

[records]
{}

[bus]
{}

{}
"#,
            self.listen,
            self.ops,
            self.keys,
            self.spool,
            self.state,
            self.records,
            self.bus,
            self.extra,
        )
    }
}

/// The mower service.
#[derive(Debug)]
pub struct Mowers {
    /// Its process.
    pub process: Process,
    config: MowersConfig,
    folder: PathBuf,
}

impl Mowers {
    /// A service with its files in `folder`.
    pub fn start(config: MowersConfig, folder: &Path) -> Mowers {
        let mut config = config;
        // The command that makes accounts reads the port from the file.
        config.listen = ports::free();
        let mut process = launch(&config, folder);
        process.listening();
        Mowers {
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
    pub fn config_mut(&mut self) -> &mut MowersConfig {
        &mut self.config
    }

    /// Starts it again after its end, at the same address, on the same records.
    ///
    /// # Panics
    /// When it runs.
    pub fn restart(&mut self) {
        assert!(
            self.process.ended().is_some(),
            "the mower service runs already"
        );
        self.process = launch(&self.config, &self.folder);
        self.process.listening();
    }

    /// Makes an account whose plan includes commands, as an operator does.
    ///
    /// # Panics
    /// When the service does not take it.
    pub fn create_account(&self, id: &str) {
        self.book(id, &["control"]);
    }

    /// Makes an account, or brings what its plan includes up to date.
    ///
    /// # Panics
    /// When the service does not take it.
    pub fn book(&self, id: &str, features: &[&str]) {
        let mut command = Command::new(binary("interlock-mowers"));
        command.args(["account", "create", "--config"]);
        command.arg(self.folder.join("mowers.toml"));
        command.args(["--id", id, "--name", id, "--time-zone", "UTC"]);
        for feature in features {
            command.args(["--feature", feature]);
        }
        let output = command.output().expect("the program can be started");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
    }

    /// Replaces its keys while it runs.
    pub fn rotate(&mut self, keys: Vec<String>) {
        self.config.keys = keys;
        write(&self.config, &self.folder);
        self.process.signal(Signal::Hangup);
    }
}

fn write(config: &MowersConfig, folder: &Path) -> PathBuf {
    let file = folder.join("mowers.toml");
    fs::write(&file, config.text()).expect("a file in a folder of ours");
    file
}

fn launch(config: &MowersConfig, folder: &Path) -> Process {
    let file = write(config, folder);
    let mut command = Command::new(binary("interlock-mowers"));
    command
        .args(["serve", "--config"])
        .arg(file)
        .env("INTERLOCK_LOG", "trace")
        .envs(config.environment.iter().cloned());
    Process::start("mowers", folder, &mut command)
}

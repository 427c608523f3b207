//! The mower service, a process of its own; its simulated mowers live in it
//! unless it is told of a bus that others share. Then they live in shards, which
//! are processes too.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::personas::ACCOUNT;
use crate::ports;
use crate::process::{Process, Signal, binary};

/// A shard that dies in a test is replaced soon, and one that begins need not
/// wait long for what earlier ones may hold.
pub const LEASE: u8 = 3;

/// A stop lives as long as it usually does.
pub const STOP_LIFE: u8 = 10;

/// What the mower service is told.
#[derive(Clone, Debug)]
pub struct MowersConfig {
    /// What this replica or shard is called; no other one is called so.
    pub name: String,
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
    /// Whether it tells operators how it goes, at a port that it chooses.
    pub operations: bool,
    /// For how many seconds a shard keeps a mower without a word from the service.
    pub lease: u8,
    /// For how many seconds a stop is tried; longer than a change of hands takes.
    pub stop_life: u8,
    /// Lines added at the end of the file: of the `[settings]` table, then whole
    /// tables.
    pub extra: String,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
}

impl MowersConfig {
    /// A service on one SQLite file, with the bus and the mowers inside.
    pub fn new(ops: SocketAddr, keys: Vec<String>, folder: &Path) -> MowersConfig {
        MowersConfig {
            name: "mowers".to_owned(),
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            ops,
            keys,
            records: format!("kind = \"sqlite\"\npath = {:?}", folder.join("mowers.db")),
            bus: "kind = \"local\"".to_owned(),
            spool: folder.join("stops.spool"),
            state: folder.join("device-gateway"),
            operations: false,
            lease: LEASE,
            stop_life: STOP_LIFE,
            extra: String::new(),
            environment: Vec::new(),
        }
    }

    /// The same for another process called `name`, with its own files.
    #[must_use]
    pub fn named(&self, name: &str, folder: &Path) -> MowersConfig {
        MowersConfig {
            name: name.to_owned(),
            spool: folder.join(format!("{name}.spool")),
            state: folder.join(name),
            ..self.clone()
        }
    }

    fn file(&self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.toml", self.name))
    }

    fn text(&self) -> String {
        let name = &self.name;
        let operations = match self.operations {
            true => "ops = \"127.0.0.1:0\"",
            false => "",
        };
        format!(
            r#"listen = "{}"
{operations}
account = "{ACCOUNT}"
gateway_ops = ["http://{}"]
keys = {:?}
spool = {:?}
state = {:?}
replica = "{name}"
shard = "{name}"

# Tests preview more often than people do.
[limits]
previews_of_account = 100
previews_a_minute = 1000

[records]
{}

[bus]
{}

[settings]
emergency_stop_ttl_seconds = {}
shard_lease_seconds = {}
{}
"#,
            self.listen,
            self.ops,
            self.keys,
            self.spool,
            self.state,
            self.records,
            self.bus,
            self.stop_life,
            self.lease,
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

    /// Where it tells operators how it goes, where it was told to.
    pub fn operations(&mut self) -> SocketAddr {
        operations(&mut self.process)
    }

    /// What it was told.
    pub fn config(&self) -> &MowersConfig {
        &self.config
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
        let mut more = vec!["--name", id, "--time-zone", "UTC"];
        for feature in features {
            more.extend(["--feature", feature]);
        }
        self.account("create", id, &more);
    }

    /// Runs a command of the program on an account.
    ///
    /// # Panics
    /// When the service does not take it.
    pub fn account(&self, verb: &str, id: &str, more: &[&str]) {
        let mut command = Command::new(binary("interlock-mowers"));
        command.args(["account", verb, "--config"]);
        command.arg(self.config.file(&self.folder));
        command.args(["--id", id]).args(more);
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

/// A device gateway of its own, on a bus that it shares with the service.
#[derive(Debug)]
pub struct Shard {
    /// Its process.
    pub process: Process,
    config: MowersConfig,
    folder: PathBuf,
}

impl Shard {
    /// A shard with its files in `folder`.
    pub fn start(config: MowersConfig, folder: &Path) -> Shard {
        let process = launch_shard(&config, folder);
        Shard {
            process,
            config,
            folder: folder.to_owned(),
        }
    }

    /// Where it tells operators how it goes, where it was told to.
    pub fn operations(&mut self) -> SocketAddr {
        operations(&mut self.process)
    }

    /// Starts it again after its end, with what it must not have forgotten.
    ///
    /// # Panics
    /// When it runs.
    pub fn restart(&mut self) {
        assert!(self.process.ended().is_some(), "the shard runs already");
        self.process = launch_shard(&self.config, &self.folder);
    }
}

/// How often a command of this id has reached a simulated mower, as its process
/// has said over all of its lives.
pub fn arrivals(process: &Process, command: &str) -> usize {
    let said = process.stderr();
    let lines = said.lines().filter(|line| line.contains(ARRIVAL));
    lines.filter(|line| line.contains(command)).count()
}

/// What the simulation says when a command reaches a mower.
const ARRIVAL: &str = "a command reaches the simulated mower";

fn operations(process: &mut Process) -> SocketAddr {
    process.ready("`operations on ADDRESS` on standard output", |out| {
        // A line without its end may still be growing.
        let mut lines = out.split_inclusive('\n');
        let address =
            lines.find_map(|line| line.strip_suffix('\n')?.strip_prefix("operations on "));
        address?.parse().ok()
    })
}

fn write(config: &MowersConfig, folder: &Path) -> PathBuf {
    let file = config.file(folder);
    fs::write(&file, config.text()).expect("a file in a folder of ours");
    file
}

fn launch(config: &MowersConfig, folder: &Path) -> Process {
    spawn("serve", config, folder)
}

fn launch_shard(config: &MowersConfig, folder: &Path) -> Process {
    let mut process = spawn("device-gateway", config, folder);
    process.ready("`serving shard NAME` on standard output", |out| {
        out.contains("serving shard").then_some(())
    });
    process
}

fn spawn(what: &str, config: &MowersConfig, folder: &Path) -> Process {
    let file = write(config, folder);
    let mut command = Command::new(binary("interlock-mowers"));
    command
        .args([what, "--config"])
        .arg(file)
        .env("INTERLOCK_LOG", "trace")
        .envs(config.environment.iter().cloned());
    Process::start(&config.name, folder, &mut command)
}

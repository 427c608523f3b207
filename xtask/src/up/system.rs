//! The processes together: who needs whose address, who ends first.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::failure::Failure;
use crate::up::config::{self, Foundation, Gateway, Mowers, Ports, Store};
use crate::up::demo::{self, Door};
use crate::up::http::call;
use crate::up::process::Process;
use crate::up::servers::free_port;
use crate::up::state::State;
use crate::workspace::Workspace;

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// One of each; the gateway's records in a file.
    Embedded,
    /// One of each; the gateway's records in Redis.
    Redis,
    /// Two gateways, two mower services and two device gateways on Redis,
    /// PostgreSQL and NATS.
    Distributed,
}

/// A gateway, the mower service behind it, and a device gateway: what a
/// distributed system has twice.
struct Set {
    gateway: &'static str,
    mowers: &'static str,
    device: &'static str,
    replica: &'static str,
    shard: &'static str,
}

const FIRST: Set = Set {
    gateway: "gateway",
    mowers: "mowers",
    device: "shard-a",
    replica: "one",
    shard: "a",
};

const SECOND: Set = Set {
    gateway: "gateway-2",
    mowers: "mowers-2",
    device: "shard-b",
    replica: "two",
    shard: "b",
};

/// The folder of the tokens of a trial's people.
pub(crate) const TOKENS: &str = "tokens";

/// Whether one of two processes does what the other one does.
fn twins(one: &str, other: &str) -> bool {
    [
        (FIRST.gateway, SECOND.gateway),
        (FIRST.mowers, SECOND.mowers),
        (FIRST.device, SECOND.device),
    ]
    .iter()
    .any(|pair| *pair == (one, other) || *pair == (other, one))
}

/// Everything that runs, in the order it was started.
pub(crate) struct System<'a> {
    pub(super) workspace: &'a Workspace,
    pub(super) state: &'a State,
    pub(super) ports: Ports,
    second: Ports,
    release: bool,
    issuer: Option<SocketAddr>,
    running: Vec<Process>,
    /// The processes that tell numbers, and where.
    metrics: Vec<(&'static str, SocketAddr)>,
}

impl<'a> System<'a> {
    pub(crate) fn new(
        workspace: &'a Workspace,
        state: &'a State,
        port_base: u16,
        release: bool,
    ) -> System<'a> {
        System {
            workspace,
            state,
            ports: Ports::from_base(port_base),
            second: Ports::second(port_base),
            release,
            issuer: None,
            running: Vec::new(),
            metrics: Vec::new(),
        }
    }

    /// Starts from the vehicles outwards, and returns when each gateway answers
    /// that it can serve and the demo is there. Gives the file with its ids.
    pub(crate) async fn start(
        &mut self,
        layout: Layout,
        enforced: bool,
    ) -> Result<PathBuf, Failure> {
        if enforced {
            self.issuer = Some(self.start_people().await?);
        }
        let link = self.start_simulator().await?;
        let drones = self.start_drones(link).await?;
        let store = match layout {
            Layout::Embedded => Store::Embedded(self.state.file("gateway.db")),
            Layout::Redis | Layout::Distributed => Store::Redis(self.start_redis().await?),
        };
        if layout == Layout::Distributed {
            self.start_twice(drones, &store).await?;
        } else {
            let foundation = Foundation::Inside(self.state.file("mowers.db"));
            let ops = [self.ports.ops];
            let mowers = self.start_mowers(&FIRST, &ops, &foundation).await?;
            let ports = self.ports;
            self.start_gateway(&FIRST, ports, drones, &[mowers], &store)
                .await?;
        }
        self.create_account().await?;
        self.serving(self.ports).await?;
        if layout == Layout::Distributed {
            self.serving(self.second).await?;
        }
        let door = Door {
            address: self.ports.gateway,
            token: self.issuer.map(|_| self.token("manager")).transpose()?,
        };
        let demo = demo::seed(&door).await?;
        self.state.write("demo.json", &format!("{demo:#}\n"))
    }

    /// Each gateway calls a mower service of its own and turns to the other one
    /// when that is gone; the two share their records and the bus.
    async fn start_twice(&mut self, drones: SocketAddr, store: &Store) -> Outcome {
        let bus = self.start_nats().await?;
        let records = self.start_postgres().await?;
        let foundation = Foundation::Shared { records, bus };
        let all = [self.ports.ops, self.second.ops];
        // The first lays out the records before the second looks at them.
        let first = self.start_mowers(&FIRST, &all, &foundation).await?;
        let second = self.start_mowers(&SECOND, &all, &foundation).await?;
        for set in [&FIRST, &SECOND] {
            self.start_device(set, &all, &foundation).await?;
        }
        let (one, two) = (self.ports, self.second);
        for (set, ports, mowers) in [
            (&FIRST, one, [first, second]),
            (&SECOND, two, [second, first]),
        ] {
            self.start_gateway(set, ports, drones, &mowers, store)
                .await?;
        }
        Ok(())
    }

    /// Returns when a process has ended that nobody can stand in for. One that
    /// has a twin is missed and said, and the system goes on.
    pub(crate) async fn died(&mut self) -> Outcome {
        loop {
            let (at, failure) = self.death().await;
            let mut ended = self.running.remove(at);
            if !self.running.iter().any(|it| twins(it.name(), ended.name())) {
                return Err(failure);
            }
            println!("{failure}; the other one goes on");
            ended.stop().await;
        }
    }

    /// The place of the next process to end, and how it ended.
    async fn death(&mut self) -> (usize, Failure) {
        let mut deaths: Vec<_> = self
            .running
            .iter_mut()
            .map(|process| Box::pin(process.died()))
            .collect();
        std::future::poll_fn(|context| {
            for (at, death) in deaths.iter_mut().enumerate() {
                if let std::task::Poll::Ready(failure) = death.as_mut().poll(context) {
                    return std::task::Poll::Ready((at, failure));
                }
            }
            std::task::Poll::Pending
        })
        .await
    }

    /// The identity provider of a trial, and the tokens of its people.
    async fn start_people(&mut self) -> Result<SocketAddr, Failure> {
        let mut command = self.program("interlock-people");
        command.arg("--tokens").arg(self.state.folder(TOKENS)?);
        self.spawn("people", command)?
            .ready("no `listening on`", async |log| listening(log))
            .await
    }

    /// The token of one of them.
    fn token(&self, who: &str) -> Result<String, Failure> {
        let file = self.state.file(TOKENS).join(who);
        std::fs::read_to_string(&file).map_err(Failure::file(&file))
    }

    /// Ends everything, the last started first: the gateways drain while what
    /// they forward to still runs.
    pub(crate) async fn stop(&mut self) {
        for process in self.running.iter_mut().rev() {
            process.stop().await;
        }
    }

    async fn start_simulator(&mut self) -> Result<SocketAddr, Failure> {
        let mut command = self.program("interlock-drones");
        command.args(["sim", "--listen", "127.0.0.1:0"]);
        self.spawn("simulator", command)?
            .ready("no `listening on`", async |log| listening(log))
            .await
    }

    async fn start_drones(&mut self, link: SocketAddr) -> Result<SocketAddr, Failure> {
        let database = self.state.file("drones.db");
        let key = self.state.key("drones")?;
        let text = config::drones(link, &database, self.ports.ops, &key);
        let file = self.state.write("drones.toml", &text)?;
        let mut command = self.program("interlock-drones");
        command.args(["serve", "--config"]).arg(file);
        self.spawn("drones", command)?
            .ready("no `listening on`", async |log| listening(log))
            .await
    }

    async fn start_mowers(
        &mut self,
        set: &Set,
        ops: &[SocketAddr],
        foundation: &Foundation,
    ) -> Result<SocketAddr, Failure> {
        // A port of its own, not zero: `account create` reads it from the file.
        let address = free_port().await?;
        let file = self.configure(set, set.mowers, address, ops, foundation)?;
        let mut command = self.program("interlock-mowers");
        command.args(["serve", "--config"]).arg(file);
        let process = self.spawn(set.mowers, command)?;
        let address = process
            .ready("no `listening on`", async |log| listening(log))
            .await?;
        let operations = process
            .ready("no `operations on`", async |log| operations(log))
            .await?;
        self.metrics.push((set.mowers, operations));
        Ok(address)
    }

    async fn start_device(
        &mut self,
        set: &Set,
        ops: &[SocketAddr],
        foundation: &Foundation,
    ) -> Outcome {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let file = self.configure(set, set.device, nowhere, ops, foundation)?;
        let mut command = self.program("interlock-mowers");
        command.args(["device-gateway", "--config"]).arg(file);
        let line = format!("serving shard {}\n", set.shard);
        let process = self.spawn(set.device, command)?;
        process
            .ready("no `serving shard`", async |log| {
                log.contains(&line).then_some(())
            })
            .await?;
        let operations = process
            .ready("no `operations on`", async |log| operations(log))
            .await?;
        self.metrics.push((set.device, operations));
        Ok(())
    }

    /// Where the mower services and device gateways tell their numbers.
    pub(crate) fn metrics(&self) -> String {
        let shown = self.metrics.iter();
        let shown: Vec<String> = shown
            .map(|(name, address)| format!("{name} http://{address}/metrics"))
            .collect();
        shown.join(" · ")
    }

    /// Writes the configuration of one process of `interlock-mowers`.
    fn configure(
        &self,
        set: &Set,
        process: &str,
        listen: SocketAddr,
        ops: &[SocketAddr],
        foundation: &Foundation,
    ) -> Result<PathBuf, Failure> {
        let text = Mowers {
            listen,
            ops,
            key: &self.state.key("mowers")?,
            foundation,
            replica: set.replica,
            shard: set.shard,
            state: self.state.folder(set.device)?,
            spool: self.state.file(&format!("{process}.spool")),
        }
        .text();
        self.state.write(&format!("{process}.toml"), &text)
    }

    async fn start_gateway(
        &mut self,
        set: &Set,
        ports: Ports,
        drones: SocketAddr,
        mowers: &[SocketAddr],
        store: &Store,
    ) -> Outcome {
        let folder = |what: &str| {
            let suffix = set.gateway.strip_prefix("gateway").unwrap_or_default();
            self.state.folder(&format!("{what}{suffix}"))
        };
        let text = Gateway {
            issuer: self.issuer,
            ports,
            drones,
            mowers,
            store,
            bundle: self.workspace.root.join("policies").join("bundle"),
            audit: folder("audit")?,
            kept: folder("kept")?,
            drone_keys: self.state.file("drones.key"),
            mower_keys: self.state.file("mowers.key"),
        }
        .text();
        let file = self.state.write(&format!("{}.toml", set.gateway), &text)?;
        let mut command = self.program("interlock");
        command.args(["serve", "--config"]).arg(file);
        self.spawn(set.gateway, command)?
            .ready("no `listening on`", async |log| listening(log))
            .await
            .map(drop)
    }

    /// Waits until a gateway says that it can serve: it has heard of every
    /// service behind it.
    async fn serving(&mut self, ports: Ports) -> Outcome {
        let name = if ports.gateway == self.ports.gateway {
            FIRST.gateway
        } else {
            SECOND.gateway
        };
        let running = self.running.iter_mut().find(|it| it.name() == name);
        let Some(gateway) = running else {
            return Ok(());
        };
        gateway
            .ready("`GET /health` does not answer 200", async |_| {
                let answer = call(ports.gateway, "GET", "/health", None, None).await;
                answer.is_ok_and(|it| it.status == 200).then_some(())
            })
            .await
    }

    /// Makes the account of the demo, as an operator would.
    async fn create_account(&mut self) -> Outcome {
        let mut command = self.program("interlock-mowers");
        command
            .args(["account", "create", "--config"])
            .arg(self.state.file("mowers.toml"))
            .args(["--id", demo::ACCOUNT, "--name", "Acme Gardens"])
            .args(["--feature", "control", "--time-zone", "Europe/Berlin"]);
        self.finish("account", command).await
    }

    fn program(&self, name: &str) -> Command {
        Command::new(self.workspace.binary(name, self.release))
    }

    /// Starts a process that is stopped with the system from here on.
    pub(super) fn spawn(
        &mut self,
        name: &'static str,
        command: Command,
    ) -> Result<&mut Process, Failure> {
        let process = Process::start(name, &self.state.logs(), command)?;
        Ok(self.running.push_mut(process))
    }

    /// Runs a program to its end, which is not long.
    pub(super) async fn finish(&self, name: &'static str, command: Command) -> Outcome {
        Process::start(name, &self.state.logs(), command)?
            .finish()
            .await
    }
}

/// The address in a `listening on ADDRESS` line.
fn listening(log: &str) -> Option<SocketAddr> {
    address(log, "listening on ")
}

/// The same of the listener for operators.
fn operations(log: &str) -> Option<SocketAddr> {
    address(log, "operations on ")
}

/// The address in a line that begins so. A line without its end may still be
/// growing.
fn address(log: &str, begin: &str) -> Option<SocketAddr> {
    log.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .find_map(|line| line.strip_prefix(begin))
        .and_then(|address| address.trim().parse().ok())
}

#[cfg(test)]
mod tests;

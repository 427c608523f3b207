//! The processes together: who needs whose address, who ends first.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::Outcome;
use crate::failure::Failure;
use crate::up::config::{self, Ports, Store};
use crate::up::process::Process;
use crate::up::state::State;
use crate::workspace::Workspace;

/// Everything that runs, in the order it was started.
pub(crate) struct System<'a> {
    workspace: &'a Workspace,
    state: &'a State,
    ports: Ports,
    release: bool,
    running: Vec<Process>,
}

impl<'a> System<'a> {
    pub(crate) fn new(
        workspace: &'a Workspace,
        state: &'a State,
        ports: Ports,
        release: bool,
    ) -> System<'a> {
        System {
            workspace,
            state,
            ports,
            release,
            running: Vec::new(),
        }
    }

    pub(crate) fn ports(&self) -> Ports {
        self.ports
    }

    /// Starts from the vehicle outwards: simulator, drone service, store,
    /// gateway; returns when the gateway answers that it can serve.
    pub(crate) async fn start(&mut self, redis: bool) -> Outcome {
        let key = self.state.key("drones")?;
        let link = self.start_simulator().await?;
        let drones = self.start_drones(link, &key).await?;
        let store = if redis {
            Store::Redis(self.start_redis().await?)
        } else {
            Store::Embedded(self.state.file("gateway.db"))
        };
        self.start_gateway(drones, &store).await
    }

    /// Returns when any process has ended, which none should.
    pub(crate) async fn died(&mut self) -> Outcome {
        let mut deaths: Vec<_> = self
            .running
            .iter_mut()
            .map(|process| Box::pin(process.died()))
            .collect();
        std::future::poll_fn(|context| {
            for death in &mut deaths {
                if let std::task::Poll::Ready(failure) = death.as_mut().poll(context) {
                    return std::task::Poll::Ready(Err(failure));
                }
            }
            std::task::Poll::Pending
        })
        .await
    }

    /// Ends everything, the last started first: the gateway drains while what
    /// it forwards to still runs.
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

    async fn start_drones(&mut self, link: SocketAddr, key: &str) -> Result<SocketAddr, Failure> {
        let database = self.state.file("drones.db");
        let text = config::drones(link, &database, self.ports.ops, key);
        let file = self.state.write("drones.toml", &text)?;
        let mut command = self.program("interlock-drones");
        command.args(["serve", "--config"]).arg(file);
        self.spawn("drones", command)?
            .ready("no `listening on`", async |log| listening(log))
            .await
    }

    async fn start_redis(&mut self) -> Result<SocketAddr, Failure> {
        let address = free_port().await?;
        let mut command = Command::new("redis-server");
        command
            .current_dir(self.state.logs().parent().unwrap_or(Path::new(".")))
            .args(["--bind", "127.0.0.1"])
            .args(["--port", &address.port().to_string()])
            .args(["--maxmemory-policy", "noeviction"])
            .args(["--appendonly", "yes", "--save", ""]);
        self.spawn("redis", command)?
            .ready("no `Ready to accept connections`", async |log| {
                log.contains("Ready to accept connections").then_some(())
            })
            .await?;
        Ok(address)
    }

    async fn start_gateway(&mut self, drones: SocketAddr, store: &Store) -> Outcome {
        let bundle = self.workspace.root.join("policies").join("bundle");
        let text = config::gateway(self.ports, drones, store, &bundle, self.state);
        let file = self.state.write("gateway.toml", &text)?;
        let gateway = self.ports.gateway;
        let mut command = self.program("interlock");
        command.args(["serve", "--config"]).arg(file);
        self.spawn("gateway", command)?
            .ready("`GET /health` does not answer 200", async |_| {
                healthy(gateway).await.then_some(())
            })
            .await
    }

    fn program(&self, name: &str) -> Command {
        Command::new(self.workspace.binary(name, self.release))
    }

    /// Starts a process that is stopped with the system from here on.
    fn spawn(&mut self, name: &'static str, command: Command) -> Result<&mut Process, Failure> {
        let process = Process::start(name, &self.state.logs(), command)?;
        Ok(self.running.push_mut(process))
    }
}

/// The address in a `listening on ADDRESS` line. A line without its end may
/// still be growing.
fn listening(log: &str) -> Option<SocketAddr> {
    log.split_inclusive('\n')
        .filter_map(|line| line.strip_suffix('\n'))
        .find_map(|line| line.strip_prefix("listening on "))
        .and_then(|address| address.trim().parse().ok())
}

/// A port that was free a moment ago: Redis takes no port zero.
async fn free_port() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    listener
        .and_then(|listener| listener.local_addr())
        .map_err(|cause| Failure::Port {
            address: "127.0.0.1:0".to_owned(),
            cause,
        })
}

/// Whether `GET /health` answers 200.
async fn healthy(gateway: SocketAddr) -> bool {
    let ask = async {
        let mut stream = TcpStream::connect(gateway).await?;
        let request =
            format!("GET /health HTTP/1.1\r\nhost: {gateway}\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    match timeout(Duration::from_secs(2), ask).await {
        Ok(Ok(answer)) => answer.starts_with(b"HTTP/1.1 200 "),
        Ok(Err(_)) | Err(_) => false,
    }
}

#[cfg(test)]
mod tests;

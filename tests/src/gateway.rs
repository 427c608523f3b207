//! The gateway process, with its configuration file.

mod config;

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use crate::http::Http;
use crate::process::{Process, binary};
use crate::{poll, ports};

pub use config::{Authority, GatewayConfig, Storage};

/// One gateway.
#[derive(Debug)]
pub struct Gateway {
    /// Its process.
    pub process: Process,
    /// What it was told.
    pub config: GatewayConfig,
    name: String,
    folder: PathBuf,
}

impl Gateway {
    /// Starts a gateway called `name` with its files in `folder`, and returns
    /// when it is alive: it may not be ready, which is what the ops listener's
    /// `/readyz` says.
    ///
    /// Ports are chosen here, whatever `config` says of them.
    ///
    /// # Panics
    /// When it ends before that.
    pub fn start(name: &str, config: GatewayConfig, folder: &Path) -> Gateway {
        let mut config = config;
        // Another process may take a port between our look and the start.
        for _ in 0..5 {
            config.listen = ports::free();
            config.ops = ports::free();
            if let Some(process) = launch(name, &config, folder) {
                return Gateway {
                    process,
                    config,
                    name: name.to_owned(),
                    folder: folder.to_owned(),
                };
            }
        }
        panic!("five ports in a row were taken before {name} could listen on them");
    }

    /// Starts a gateway that must not come up: how it ended, and what it said.
    ///
    /// # Panics
    /// When it goes on.
    pub fn refused(name: &str, config: GatewayConfig, folder: &Path) -> (ExitStatus, String) {
        let mut config = config;
        config.listen = ports::free();
        config.ops = ports::free();
        let mut process = spawn(name, &config, folder);
        (process.wait(), process.stderr())
    }

    /// Starts it again after its end, at the same addresses, on the same
    /// records.
    ///
    /// # Panics
    /// When it runs, or does not come up.
    pub fn restart(&mut self) {
        assert!(self.process.ended().is_some(), "{} runs already", self.name);
        let process = launch(&self.name, &self.config, &self.folder);
        self.process = process.expect("the ports are still free");
    }

    /// Replaces the keys shared with the drone service while it runs, as a
    /// secret store does: the file is whole at every moment.
    pub fn rotate(&mut self, keys: Vec<String>) {
        self.config.keys = keys;
        self.config.write_keys();
    }

    /// Where callers connect.
    pub fn address(&self) -> SocketAddr {
        self.config.listen
    }

    /// Where operators and services connect.
    pub fn ops_address(&self) -> SocketAddr {
        self.config.ops
    }

    /// A client of the public listener.
    pub fn http(&self) -> Http {
        Http::to(self.config.listen)
    }

    /// A client of the operations listener.
    pub fn ops(&self) -> Http {
        Http::to(self.config.ops)
    }

    /// Waits until it says that it can serve.
    pub async fn ready(&self) {
        let ops = self.ops();
        let what = format!("{} is ready", self.name);
        poll::until_async(&what, async || {
            let answer = ops.get("/readyz").try_send().await.ok()?;
            (answer.status == 200).then_some(())
        })
        .await;
    }

    /// The sum of every series of a metric, or zero when there is none.
    pub async fn metric(&self, name: &str) -> f64 {
        let text = self.ops().get("/metrics").send().await.expect(200).text();
        metric(&text, name)
    }
}

fn spawn(name: &str, config: &GatewayConfig, folder: &Path) -> Process {
    let file = folder.join(format!("{name}.toml"));
    fs::write(&file, config.text()).expect("a file in a folder of ours");
    config.prepare();
    let mut command = Command::new(binary("interlock"));
    command
        .args(["serve", "--config"])
        .arg(file)
        .env("INTERLOCK_LOG", &config.log)
        .envs(config.environment.iter().cloned());
    Process::start(name, folder, &mut command)
}

/// A process that is alive, or `None` when a port was taken.
fn launch(name: &str, config: &GatewayConfig, folder: &Path) -> Option<Process> {
    let mut process = spawn(name, config, folder);
    poll::until(&format!("{name} listens"), || {
        if let Some(status) = process.ended() {
            let said = process.stderr();
            let taken = said.contains("in use");
            assert!(taken, "{name} ended with {status}:\n{said}");
            return Some(None);
        }
        // The second of the two lines that it prints.
        process
            .stdout()
            .contains("ops listening on ")
            .then_some(Some(()))
    })?;
    Some(process)
}

/// The sum of a metric's series in the Prometheus text format.
fn metric(text: &str, name: &str) -> f64 {
    text.lines()
        .filter_map(|line| line.strip_prefix(name))
        .filter(|rest| rest.starts_with(['{', ' ']))
        .filter_map(|rest| rest.rsplit(' ').next()?.parse::<f64>().ok())
        .sum()
}

#[cfg(test)]
mod tests;

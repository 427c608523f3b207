//! The configuration, typed; every fault reported at once.
//!
//! A TOML file, then `INTERLOCK_SECTION_KEY` variables over it. Unknown keys
//! are refused, so that a misspelt limit is never a missing limit. Secrets come
//! from variables or files, never from the TOML file itself.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::edge::host::Authority;

pub mod auth;
pub mod fault;
mod read;
pub mod secret;
mod section;
pub mod service;
mod store;
mod upstream;

#[cfg(test)]
mod tests;

pub use fault::{ConfigFaults, Fault};
pub use secret::Secret;
pub use store::StoreConfig;
pub use upstream::{TimeoutOverride, UpstreamConfig};

use auth::AuthConfig;
use service::ServiceConfig;

/// Everything the gateway is told at start.
#[derive(Clone, Debug)]
pub struct Config {
    /// The two listeners.
    pub listen: ListenConfig,
    /// Who may call, and how that is known.
    pub auth: AuthConfig,
    /// Where keys and plans are kept.
    pub store: StoreConfig,
    /// The policy bundle.
    pub policies: PoliciesConfig,
    /// The vehicle services, by name unique.
    pub services: Vec<ServiceConfig>,
    /// Where decision records go.
    pub audit: PathBuf,
    /// Where the last good key sets and registry snapshot lie.
    pub state: PathBuf,
    /// Bounds on what callers can take up.
    pub limits: LimitsConfig,
    /// How services are called.
    pub upstream: UpstreamConfig,
}

/// `[listen]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenConfig {
    /// The public listener; port 0 takes a free one.
    pub address: SocketAddr,
    /// The operations listener.
    pub ops: SocketAddr,
    /// The authorities answered for in enforced mode; empty in open mode.
    pub hosts: Vec<Authority>,
}

/// `[policies]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoliciesConfig {
    /// The bundle's directory.
    pub path: PathBuf,
    /// How often it is looked at for changes.
    pub poll: Duration,
}

/// `[limits]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LimitsConfig {
    /// Open connections on the public listener.
    pub connections: u32,
    /// From the first byte of a request to the end of its head.
    pub header_read_timeout: Duration,
    /// From the end of the head to the end of the body.
    pub body_read_timeout: Duration,
    /// Requests worked on at once; stops have room of their own.
    pub max_concurrent: u32,
    /// Idempotency keys one caller may hold.
    pub keys_per_caller: u32,
    /// Plans one caller may have open.
    pub plans_per_caller: u32,
    /// How long a call is believed to be at work beyond its own deadline,
    /// before others may settle what it left.
    pub lease_margin: Duration,
}

impl Default for LimitsConfig {
    fn default() -> Self {
        Self {
            connections: 1_024,
            header_read_timeout: Duration::from_secs(10),
            body_read_timeout: Duration::from_secs(20),
            max_concurrent: 512,
            keys_per_caller: 10_000,
            plans_per_caller: 100,
            lease_margin: Duration::from_secs(5),
        }
    }
}

/// The environment the configuration may look at.
pub type Environment = BTreeMap<String, String>;

impl Config {
    /// Reads the file at `path` and lays the variables of `env` over it.
    ///
    /// # Errors
    /// [`ConfigFaults`] lists every fault found, with its key and what to do.
    pub fn load(path: &Path, env: &Environment) -> Result<Self, ConfigFaults> {
        let text = std::fs::read_to_string(path).map_err(|error| {
            ConfigFaults::single(
                path.display().to_string(),
                format!("the file cannot be read: {error}"),
            )
        })?;
        Self::parse(&text, env)
    }

    /// Reads the text of a configuration file.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub fn parse(text: &str, env: &Environment) -> Result<Self, ConfigFaults> {
        read::config(text, env)
    }
}

/// The default public and operations addresses.
const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}

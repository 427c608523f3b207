//! The configuration files of the processes.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::up::demo::ACCOUNT;

/// Where the system listens. The port after the first two is kept for MCP, the
/// two after that are the second gateway's.
#[derive(Clone, Copy)]
pub(crate) struct Ports {
    pub(crate) gateway: SocketAddr,
    pub(crate) ops: SocketAddr,
}

impl Ports {
    pub(crate) fn from_base(base: u16) -> Ports {
        let at = |offset| SocketAddr::from((Ipv4Addr::LOCALHOST, base.saturating_add(offset)));
        Ports {
            gateway: at(0),
            ops: at(1),
        }
    }

    /// Those of the second gateway of a distributed system.
    pub(crate) fn second(base: u16) -> Ports {
        Ports::from_base(base.saturating_add(3))
    }

    /// Fails with a plain word where the gateway would fail in its log.
    pub(crate) fn check(self) -> Result<(), Failure> {
        for address in [self.gateway, self.ops] {
            TcpListener::bind(address).map_err(|cause| Failure::Port {
                address: address.to_string(),
                cause,
            })?;
        }
        Ok(())
    }
}

/// The simulated swarm.
const SWARM: &str = "swarm-1";

/// Where the gateway keeps plans, keys and objects.
pub(crate) enum Store {
    /// One SQLite file.
    Embedded(PathBuf),
    /// A Redis server.
    Redis(SocketAddr),
}

/// The drone service behind the gateway.
pub(crate) fn drones(link: SocketAddr, database: &Path, ops: SocketAddr, key: &str) -> String {
    format!(
        r#"listen = "127.0.0.1:0"
swarm = "{SWARM}"
account = "{ACCOUNT}"
link = "{link}"
database = {database:?}
gateway_ops = "http://{ops}"
keys = ["{key}"]
"#
    )
}

/// What the mower service stands on.
pub(crate) enum Foundation {
    /// One SQLite file, and the bus and the mowers inside of the process.
    Inside(PathBuf),
    /// A PostgreSQL server and a NATS server that others share.
    Shared { records: String, bus: SocketAddr },
}

impl Foundation {
    fn records(&self) -> String {
        match self {
            Foundation::Inside(file) => format!("kind = \"sqlite\"\npath = {file:?}"),
            Foundation::Shared { records, .. } => {
                format!("kind = \"postgres\"\nurl = \"{records}\"")
            }
        }
    }

    fn bus(&self) -> String {
        match self {
            Foundation::Inside(_) => "kind = \"local\"".to_owned(),
            Foundation::Shared { bus, .. } => {
                format!("kind = \"nats\"\nurl = \"nats://{bus}\"")
            }
        }
    }
}

/// One process of `interlock-mowers`: a replica of the service, or a shard.
pub(crate) struct Mowers<'a> {
    pub(crate) listen: SocketAddr,
    pub(crate) ops: &'a [SocketAddr],
    pub(crate) key: &'a str,
    pub(crate) foundation: &'a Foundation,
    /// Tells the replicas of the service apart.
    pub(crate) replica: &'a str,
    /// Tells the device gateways apart.
    pub(crate) shard: &'a str,
    /// What a device gateway must not forget.
    pub(crate) state: PathBuf,
    /// Stops that the records could not take.
    pub(crate) spool: PathBuf,
}

impl Mowers<'_> {
    pub(crate) fn text(&self) -> String {
        let Mowers {
            listen,
            ops,
            key,
            foundation,
            replica,
            shard,
            state,
            spool,
        } = self;
        let ops: Vec<String> = ops.iter().map(|ops| format!("http://{ops}")).collect();
        let (records, bus) = (foundation.records(), foundation.bus());
        format!(
            r#"listen = "{listen}"
ops = "127.0.0.1:0"
account = "{ACCOUNT}"
gateway_ops = {ops:?}
keys = ["{key}"]
replica = "{replica}"
shard = "{shard}"
state = {state:?}
spool = {spool:?}

[records]
{records}

[bus]
{bus}
"#
        )
    }
}

/// A gateway on loopback.
pub(crate) struct Gateway<'a> {
    /// The identity provider; without one everybody is the local operator.
    pub(crate) issuer: Option<SocketAddr>,
    pub(crate) ports: Ports,
    pub(crate) drones: SocketAddr,
    /// The replicas of the mower service.
    pub(crate) mowers: &'a [SocketAddr],
    pub(crate) store: &'a Store,
    pub(crate) bundle: PathBuf,
    pub(crate) audit: PathBuf,
    pub(crate) kept: PathBuf,
    pub(crate) drone_keys: PathBuf,
    pub(crate) mower_keys: PathBuf,
}

impl Gateway<'_> {
    pub(crate) fn text(&self) -> String {
        let Gateway {
            ports: Ports { gateway, ops },
            drones,
            mowers,
            bundle,
            audit,
            kept,
            drone_keys,
            mower_keys,
            ..
        } = self;
        let store = match self.store {
            Store::Embedded(file) => format!("kind = \"embedded\"\npath = {file:?}"),
            Store::Redis(address) => format!("kind = \"redis\"\nurl = \"redis://{address}\""),
        };
        let mowers: Vec<String> = mowers.iter().map(|it| format!("http://{it}")).collect();
        // The clients that the trial's agent and service call themselves.
        let (hosts, auth) = match self.issuer {
            None => (String::new(), "mode = \"open\"".to_owned()),
            Some(issuer) => (
                format!("hosts = [\"{gateway}\"]"),
                format!(
                    r#"mode = "enforced"

[[auth.issuers]]
issuer = "http://{issuer}"
audience = "interlock"
agents = ["interlock-mcp"]
services = ["fleet-reports"]"#
                ),
            ),
        };
        format!(
            r#"[listen]
address = "{gateway}"
ops = "{ops}"
{hosts}

[auth]
{auth}

[store]
{store}

[policies]
path = {bundle:?}

[audit]
directory = {audit:?}

[state]
directory = {kept:?}

[[service]]
name = "drones"
url = "http://{drones}"
object = "{SWARM}"
key_file = {drone_keys:?}

[[service]]
name = "mowers"
url = {mowers:?}
object = "{ACCOUNT}"
key_file = {mower_keys:?}
"#
        )
    }
}

#[cfg(test)]
mod tests;

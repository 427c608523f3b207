//! The configuration files of the processes.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::up::state::State;

/// Where the system listens. The port after these two is kept for MCP.
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
account = "acme"
link = "{link}"
database = {database:?}
gateway_ops = "http://{ops}"
keys = ["{key}"]
"#
    )
}

/// The gateway in open mode: no identity provider, loopback only.
pub(crate) fn gateway(
    ports: Ports,
    drones: SocketAddr,
    store: &Store,
    bundle: &Path,
    state: &State,
) -> String {
    let Ports { gateway, ops } = ports;
    let store = match store {
        Store::Embedded(file) => format!("kind = \"embedded\"\npath = {file:?}"),
        Store::Redis(address) => format!("kind = \"redis\"\nurl = \"redis://{address}\""),
    };
    let audit = state.file("audit");
    let kept = state.file("kept");
    let keys = state.file("drones.key");
    format!(
        r#"[listen]
address = "{gateway}"
ops = "{ops}"

[auth]
mode = "open"

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
key_file = {keys:?}
"#
    )
}

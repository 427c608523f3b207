//! The gateway's configuration file, as a test needs it.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::idp::AUDIENCE;
use crate::personas::{AGENT_CLIENT, SERVICE_CLIENT};
use crate::repository;

/// Who vouches for callers.
#[derive(Clone, Debug)]
pub enum Authority {
    /// Nobody: every caller is the local operator.
    Open,
    /// The provider with this issuer.
    Issuer(String),
}

/// Where the gateway keeps plans, keys and objects.
#[derive(Clone, Debug)]
pub enum Storage {
    /// One SQLite file.
    Embedded(PathBuf),
    /// A Redis server.
    Redis(SocketAddr),
}

/// What a gateway is told.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    /// Where callers connect.
    pub listen: SocketAddr,
    /// Where operators and services connect.
    pub ops: SocketAddr,
    /// Who vouches for callers.
    pub authority: Authority,
    /// Where records are kept.
    pub storage: Storage,
    /// The drone service.
    pub drones: SocketAddr,
    /// `kid:base64url` of each key shared with the drone service; the first
    /// one signs.
    pub keys: Vec<String>,
    /// The policy bundle.
    pub bundle: PathBuf,
    /// The folder of the audit log and of what is kept for a start without
    /// provider and store.
    pub state: PathBuf,
    /// The log filter.
    pub log: String,
    /// Lines added at the end of the file.
    pub extra: String,
}

impl GatewayConfig {
    /// A gateway in Open mode on the embedded store, with the bundle of this
    /// checkout, that logs everything.
    pub fn new(drones: SocketAddr, keys: Vec<String>, state: PathBuf) -> GatewayConfig {
        let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        GatewayConfig {
            listen: loopback,
            ops: loopback,
            authority: Authority::Open,
            storage: Storage::Embedded(state.join("gateway.db")),
            drones,
            keys,
            bundle: repository::root().join("policies/bundle"),
            state,
            log: "trace".to_owned(),
            extra: String::new(),
        }
    }

    /// The configuration file.
    pub(super) fn text(&self) -> String {
        let GatewayConfig {
            listen,
            ops,
            drones,
            bundle,
            state,
            extra,
            ..
        } = self;
        let storage = match &self.storage {
            Storage::Embedded(file) => format!("kind = \"embedded\"\npath = {file:?}"),
            Storage::Redis(address) => format!("kind = \"redis\"\nurl = \"redis://{address}\""),
        };
        let authority = match &self.authority {
            Authority::Open => String::new(),
            Authority::Issuer(issuer) => format!(
                r#"
[[auth.issuers]]
issuer = "{issuer}"
audience = "{AUDIENCE}"
agents = ["{AGENT_CLIENT}"]
services = ["{SERVICE_CLIENT}"]
"#
            ),
        };
        format!(
            r#"state = {state:?}

[listen]
public = "{listen}"
ops = "{ops}"

[policy]
bundle = {bundle:?}

[store]
{storage}

[services.drones]
url = "http://{drones}"
{authority}
{extra}
"#
        )
    }

    /// What is not in the file: secrets, and the log filter.
    pub(super) fn environment(&self) -> [(&'static str, String); 2] {
        [
            ("INTERLOCK_KEY_DRONES", self.keys.join(",")),
            ("RUST_LOG", self.log.clone()),
        ]
    }
}

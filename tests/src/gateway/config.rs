//! The gateway's configuration file, as a test needs it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use crate::idp::AUDIENCE;
use crate::personas::{ACCOUNT, AGENT_CLIENT, SERVICE_CLIENT};
use crate::repository;
use crate::vehicles::SWARM;

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
    Redis {
        /// Where it listens.
        address: SocketAddr,
        /// How many calls to it may be under way at once.
        pool: u32,
    },
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
    /// The replicas of the mower service and the keys shared with them, where
    /// there is one.
    pub mowers: Option<(Vec<SocketAddr>, Vec<String>)>,
    /// The policy bundle.
    pub bundle: PathBuf,
    /// The folder of the audit log and of what is kept for a start without
    /// provider and store.
    pub state: PathBuf,
    /// The log filter.
    pub log: String,
    /// Lines added to the issuer's table.
    pub issuer: String,
    /// Lines added at the end of the file.
    pub extra: String,
    /// Variables of its environment.
    pub environment: Vec<(String, String)>,
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
            mowers: None,
            bundle: repository::root().join("policies/bundle"),
            state,
            log: "trace".to_owned(),
            issuer: String::new(),
            extra: String::new(),
            environment: Vec::new(),
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
        let (mode, hosts, issuers) = match &self.authority {
            Authority::Open => ("open", String::new(), String::new()),
            Authority::Issuer(issuer) => (
                "enforced",
                format!("hosts = [\"{listen}\"]"),
                format!(
                    r#"[[auth.issuers]]
issuer = "{issuer}"
audience = "{AUDIENCE}"
agents = ["{AGENT_CLIENT}"]
services = ["{SERVICE_CLIENT}"]
{}"#,
                    self.issuer
                ),
            ),
        };
        let store = match &self.storage {
            Storage::Embedded(file) => format!("kind = \"embedded\"\npath = {file:?}"),
            Storage::Redis { address, pool } => {
                format!("kind = \"redis\"\nurl = \"redis://{address}\"\npool = {pool}")
            }
        };
        let audit = state.join("audit");
        let kept = state.join("kept");
        let keys = self.key_file();
        let mowers = self.mowers.as_ref().map_or(String::new(), |(mowers, _)| {
            let keys = self.mower_key_file();
            let urls: Vec<String> = mowers.iter().map(|it| format!("http://{it}")).collect();
            format!(
                "[[service]]\nname = \"mowers\"\nurl = {urls:?}\nobject = \"{ACCOUNT}\"\nkey_file = {keys:?}"
            )
        });
        format!(
            r#"[listen]
address = "{listen}"
ops = "{ops}"
{hosts}

[auth]
mode = "{mode}"

{issuers}

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

{mowers}

{extra}
"#
        )
    }

    /// Writes what the configuration file names: folders and keys.
    pub(super) fn prepare(&self) {
        for folder in ["audit", "kept"] {
            fs::create_dir_all(self.state.join(folder)).expect("a folder of ours");
        }
        self.write_keys();
        if let Some((_, keys)) = &self.mowers {
            fs::write(self.mower_key_file(), keys.join(",")).expect("a folder of ours");
        }
    }

    /// Writes the key file anew.
    pub(super) fn write_keys(&self) {
        let file = self.key_file();
        let fresh = file.with_extension("new");
        fs::write(&fresh, self.keys.join(",")).expect("a folder of ours");
        fs::rename(&fresh, &file).expect("a folder of ours");
    }

    fn mower_key_file(&self) -> PathBuf {
        self.state.join("mowers.keys")
    }

    fn key_file(&self) -> PathBuf {
        self.state.join("drones.keys")
    }
}

//! Everything together, each part a process, every line between them a relay
//! that a test can break and count on.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tempfile::TempDir;

use crate::chaos::Chaos;
use crate::gateway::{Authority, Gateway, GatewayConfig, Storage};
use crate::http::{Answer, Call};
use crate::idp::Idp;
use crate::mowers::{Mowers, MowersConfig};
use crate::personas::{ACCOUNT, FOREIGN, Persona};
use crate::poll;
use crate::redis::{Redis, Setup};
use crate::vehicles::{Drones, DronesConfig, Sim};

/// Which system is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Callers need tokens of the identity provider.
    pub enforced: bool,
    /// Records are kept in Redis, not in a file.
    pub redis: bool,
    /// How many gateways; more than one need Redis.
    pub gateways: usize,
    /// The mower service with its simulated mowers runs beside the drones.
    pub mowers: bool,
}

impl Plan {
    /// One gateway in Open mode on the embedded store.
    pub const OPEN: Plan = Plan {
        enforced: false,
        redis: false,
        gateways: 1,
        mowers: false,
    };

    /// One gateway in Enforced mode on the embedded store.
    pub const ENFORCED: Plan = Plan {
        enforced: true,
        ..Plan::OPEN
    };

    /// One gateway in Enforced mode on Redis.
    pub const REDIS: Plan = Plan {
        redis: true,
        ..Plan::ENFORCED
    };

    /// Two gateways in Enforced mode on one Redis.
    pub const PAIR: Plan = Plan {
        gateways: 2,
        ..Plan::REDIS
    };

    /// The same with the mower service.
    pub const fn with_mowers(self) -> Plan {
        Plan {
            mowers: true,
            ..self
        }
    }
}

/// A running system.
///
/// ```text
/// test ──> gateway ──upstream──> drones ──link──> sim
///             │ └──store──> redis   │
///            ops <──────feed────────┘
/// ```
#[derive(Debug)]
pub struct System {
    /// The gateways, at least one.
    pub gateways: Vec<Gateway>,
    /// The drone service.
    pub drones: Drones,
    /// The simulator.
    pub sim: Sim,
    /// The mower service, where the plan has it.
    pub mowers: Option<Mowers>,
    /// The identity provider; serves in Open mode too, unasked.
    pub idp: Idp,
    /// The store, when it is Redis.
    pub redis: Option<Redis>,
    /// Gateways to drone service.
    pub upstream: Chaos,
    /// Gateways to mower service; leads nowhere where there is none.
    pub fleet: Chaos,
    /// Gateways to Redis; leads nowhere on the embedded store.
    pub store: Chaos,
    /// Drone service to simulator.
    pub link: Chaos,
    /// Drone service to the operations listener of the first gateway.
    pub feed: Chaos,
    folder: TempDir,
}

impl System {
    /// Starts a system and waits until it can serve.
    pub async fn start(plan: Plan) -> System {
        System::start_with(plan, |config| config).await
    }

    /// [`System::start`] with a change to the configuration of each gateway.
    pub async fn start_with(plan: Plan, change: impl Fn(GatewayConfig) -> GatewayConfig) -> System {
        System::start_fleet(plan, change, |config| config).await
    }

    /// [`System::start_with`] with a change to the configuration of the mower
    /// service, too.
    pub async fn start_fleet(
        plan: Plan,
        change: impl Fn(GatewayConfig) -> GatewayConfig,
        change_fleet: impl FnOnce(MowersConfig) -> MowersConfig,
    ) -> System {
        assert!(
            plan.redis || plan.gateways == 1,
            "one gateway per embedded store"
        );
        let folder = tempfile::tempdir().expect("a folder for the system");
        let root = folder.path();
        let keys = vec![key("drones-1")];
        let sim = Sim::start(root);
        let link = Chaos::to(sim.address());
        let feed = Chaos::nowhere();
        let drones = DronesConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            link: link.address(),
            ops: Some(feed.address()),
            keys: keys.clone(),
            database: root.join("drones.db"),
            environment: Vec::new(),
        };
        let drones = Drones::start(drones, root);
        let upstream = Chaos::to(drones.address());
        let mower_keys = vec![key("mowers-1")];
        let mowers = plan.mowers.then(|| {
            let config = MowersConfig::new(feed.address(), mower_keys.clone(), root);
            Mowers::start(change_fleet(config), root)
        });
        let fleet = mowers
            .as_ref()
            .map_or_else(Chaos::nowhere, |mowers| Chaos::to(mowers.address()));
        let idp = Idp::start();
        let redis = plan.redis.then(|| Redis::start_with(Setup::default()));
        let store = redis
            .as_ref()
            .map_or_else(Chaos::nowhere, |redis| Chaos::to(redis.address()));
        let gateways = (1..=plan.gateways)
            .map(|number| {
                let name = format!("gateway-{number}");
                let state = root.join(&name);
                std::fs::create_dir(&state).expect("a folder in a folder of ours");
                let mut config = GatewayConfig::new(upstream.address(), keys.clone(), state);
                if plan.mowers {
                    config.mowers = Some((vec![fleet.address()], mower_keys.clone()));
                }
                if plan.enforced {
                    config.authority = Authority::Issuer(idp.issuer());
                }
                if plan.redis {
                    config.storage = Storage::Redis {
                        address: store.address(),
                        pool: 64,
                    };
                }
                Gateway::start(&name, change(config), root)
            })
            .collect();
        let system = System {
            gateways,
            drones,
            sim,
            mowers,
            idp,
            redis,
            upstream,
            fleet,
            store,
            link,
            feed,
            folder,
        };
        system.feed.aim(system.gateway().ops_address());
        for gateway in &system.gateways {
            gateway.ready().await;
        }
        if let Some(mowers) = &system.mowers {
            // The own one is made by the service too, some time after its start.
            for account in [ACCOUNT, FOREIGN] {
                mowers.create_account(account);
            }
        }
        system
    }

    /// The first gateway.
    pub fn gateway(&self) -> &Gateway {
        &self.gateways[0]
    }

    /// The first gateway, to break it.
    pub fn gateway_mut(&mut self) -> &mut Gateway {
        &mut self.gateways[0]
    }

    /// A call to the first gateway by `persona`.
    pub fn call(&self, persona: Persona, method: &str, path: &str) -> Call {
        let call = self.gateway().http().call(method, path);
        call.token(persona.token(&self.idp))
    }

    /// `GET path` at the first gateway by `persona`.
    pub async fn get(&self, persona: Persona, path: &str) -> Answer {
        self.call(persona, "GET", path).send().await
    }

    /// `POST path` with a body at the first gateway by `persona`.
    pub async fn post(&self, persona: Persona, path: &str, body: &serde_json::Value) -> Answer {
        self.call(persona, "POST", path).json(body).send().await
    }

    /// The folder of every file that a process of this system has written,
    /// logs included.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Every file below [`System::folder`], and the dump of Redis, that holds
    /// `secret`. What the store still has in memory alone is not seen on the
    /// embedded store: its file and its write-ahead log are.
    pub fn holding(&self, secret: &[u8]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        search(self.folder(), secret, &mut found);
        let dump = self.redis.as_ref().map(Redis::dump);
        if dump.is_some_and(|dump| contains(&dump, secret)) {
            found.push(PathBuf::from("redis dump"));
        }
        found
    }

    /// Waits until the swarm's counters are as `wanted` says.
    pub fn settle(&self, what: &str, wanted: impl Fn(crate::vehicles::Counters) -> bool) {
        poll::until(what, || wanted(self.sim.counters()).then_some(()));
    }
}

/// A new key, `id:base64url` of 32 random bytes.
pub fn key(id: &str) -> String {
    let mut bytes = [0; 32];
    aws_lc_rs::rand::fill(&mut bytes).expect("the system has randomness");
    format!("{id}:{}", URL_SAFE_NO_PAD.encode(bytes))
}

fn search(folder: &Path, secret: &[u8], found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of ours") {
        let path = entry.expect("a folder of ours").path();
        if path.is_dir() {
            search(&path, secret, found);
        } else if std::fs::read(&path).is_ok_and(|bytes| contains(&bytes, secret)) {
            found.push(path);
        }
    }
}

fn contains(bytes: &[u8], secret: &[u8]) -> bool {
    assert!(!secret.is_empty(), "everything contains nothing");
    bytes.windows(secret.len()).any(|window| window == secret)
}

//! The two ways in which the mower service is run.

use std::path::Path;
use std::process::Command;

use interlock_mowers::records::Place;
use serde_json::Value;
use tempfile::TempDir;
use uuid::Uuid;

use super::records::Fleet;
use crate::bench::wrk::CONNECTIONS;
use crate::chaos::Chaos;
use crate::gateway::{Authority, Gateway, GatewayConfig, Storage};
use crate::http::Call;
use crate::idp::Idp;
use crate::mowers::{Mowers, MowersConfig};
use crate::nats::Nats;
use crate::personas::Persona;
use crate::poll;
use crate::postgres::Postgres;
use crate::process::{Process, binary};
use crate::redis::{Redis, Setup};
use crate::system::key;

/// Which parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One file each for gateway and service, the bus inside of the service.
    Embedded,
    /// Redis, Postgres, NATS and a device gateway of its own.
    Distributed,
}

impl Kind {
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Embedded => "SQLite, bus in the service",
            Kind::Distributed => "Postgres, NATS, Redis",
        }
    }
}

/// Everything that runs, and a fleet that is known, held and at rest.
#[derive(Debug)]
pub(super) struct Stack {
    // Dropped first: they call the others.
    shard: Option<Process>,
    mowers: Mowers,
    pub(super) gateway: Gateway,
    _feed: Chaos,
    nats: Option<Nats>,
    postgres: Option<Postgres>,
    _redis: Option<Redis>,
    pub(super) idp: Idp,
    pub(super) fleet: Fleet,
    folder: TempDir,
}

impl Stack {
    /// Starts it with so many mowers, the first `grouped` of them in one group.
    pub(super) async fn start(kind: Kind, mowers: u32, grouped: u32) -> Stack {
        let folder = tempfile::tempdir().expect("a folder for the bench");
        let root = folder.path();
        let distributed = kind == Kind::Distributed;
        let nats = distributed.then(Nats::start);
        let postgres = distributed.then(Postgres::durable);
        let redis = distributed.then(|| {
            Redis::start_with(Setup {
                durable: true,
                ..Setup::default()
            })
        });
        let idp = Idp::start();
        let feed = Chaos::nowhere();
        let keys = vec![key("mowers-1")];
        let mut config = MowersConfig::new(feed.address(), keys.clone(), root);
        config.environment = vec![("INTERLOCK_LOG".to_owned(), "warn".to_owned())];
        let mut place = Place::File(root.join("mowers.db"));
        if let (Some(nats), Some(postgres)) = (&nats, &postgres) {
            config.bus = format!("kind = \"nats\"\nurl = \"{}\"", nats.url());
            config.records = format!("kind = \"postgres\"\nurl = \"{}\"", postgres.url());
            place = Place::Postgres(postgres.url());
        }
        let fleet = Fleet::seed(&place, mowers, grouped).await;
        let mowers = Mowers::start(config, root);
        let gateway = gateway(&mowers, keys, &idp, redis.as_ref(), root);
        feed.aim(gateway.ops_address());
        let shard = distributed.then(|| shard(root));
        let stack = Stack {
            shard,
            mowers,
            gateway,
            _feed: feed,
            nats,
            postgres,
            _redis: redis,
            idp,
            fleet,
            folder,
        };
        stack.known_and_held().await;
        stack
    }

    /// A call to the gateway.
    pub(super) fn call(&self, persona: Persona, method: &str, path: &str) -> Call {
        let call = self.gateway.http().call(method, path);
        call.token(persona.token(&self.idp))
    }

    /// A folder of ours.
    pub(super) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// CPU time of each part so far, in clock ticks. The bus, the device gateway
    /// and the mowers are in the service where they have no process.
    pub(super) fn ticks(&self) -> Vec<(&'static str, u64)> {
        let mut ticks = vec![
            ("gateway", self.gateway.process.cpu_ticks()),
            ("service", self.mowers.process.cpu_ticks()),
        ];
        let shard = self.shard.as_ref().map(Process::cpu_ticks);
        ticks.extend(shard.map(|it| ("device gateway", it)));
        ticks.extend(self.nats.as_ref().map(|it| ("NATS", it.cpu_ticks())));
        ticks.extend(
            self.postgres
                .as_ref()
                .map(|it| ("Postgres", it.cpu_ticks())),
        );
        ticks
    }

    /// Waits until the gateway knows every mower, and its device gateway has
    /// said how it is.
    async fn known_and_held(&self) {
        let token = Persona::Viewer.token(&self.idp);
        let http = self.gateway.http();
        for mower in &self.fleet.mowers {
            let path = state_path(*mower);
            poll::until_async(&format!("{mower} is known and held"), async || {
                let state = http.get(&path).token(token.as_ref()).send().await;
                (state.status == 200).then_some(())
            })
            .await;
        }
    }

    /// What a mower does now.
    pub(super) async fn state(&self, mower: Uuid) -> Value {
        let state = self.call(Persona::Viewer, "GET", &state_path(mower));
        state.send().await.expect(200).json()
    }
}

fn state_path(mower: Uuid) -> String {
    format!("/api/v1/fleet/mowers/{mower}/state")
}

fn gateway(
    mowers: &Mowers,
    keys: Vec<String>,
    idp: &Idp,
    redis: Option<&Redis>,
    root: &Path,
) -> Gateway {
    let state = root.join("gateway");
    std::fs::create_dir(&state).expect("a folder of ours");
    // Nothing asks for a drone here.
    let mut config = GatewayConfig::new(mowers.address(), vec![key("drones-1")], state);
    config.mowers = Some((vec![mowers.address()], keys));
    config.authority = Authority::Issuer(idp.issuer());
    config.log = "warn".to_owned();
    // One caller gives every command here.
    config.extra = "[limits]\nkeys_per_caller = 1000000".to_owned();
    if let Some(redis) = redis {
        config.storage = Storage::Redis {
            address: redis.address(),
            pool: 2 * CONNECTIONS,
        };
    }
    Gateway::start("gateway", config, root)
}

/// The device gateway, told what the service was told.
fn shard(root: &Path) -> Process {
    let mut command = Command::new(binary("interlock-mowers"));
    command
        .args(["device-gateway", "--config"])
        .arg(root.join("mowers.toml"))
        .env("INTERLOCK_LOG", "warn");
    let mut process = Process::start("device-gateway", root, &mut command);
    process.ready("`serving shard NAME` on standard output", |out| {
        out.contains("serving shard").then_some(())
    });
    process
}

//! Whatever else is broken, a stop reaches the swarm.

mod lane;
mod semantics;

use std::fs;
use std::path::PathBuf;

use interlock_tests::gateway::GatewayConfig;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};
use interlock_tests::wire::Wire;
use serde_json::Value;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tempfile::TempDir;

use crate::matrix::trouble::{block, told};
use crate::outage::alone::leave_alone;
use crate::outage::{flies, lands};
use crate::personas::stage::{self, route};
use crate::problems::machinery::copy;

/// A state in which everything but a stop may be refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bad {
    /// The caller may look, and nothing else.
    ViewerOnly,
    /// The identity provider is gone.
    NoKeys,
    /// Redis is gone.
    NoStore,
    /// Redis is frozen.
    HungStore,
    /// The policy bundle on disk does not load.
    RefusedBundle,
    /// The bundle in force fails to decide about stops.
    BrokenPolicy,
    /// Records cannot be written.
    NoRecords,
    /// The caller has used up every key and plan it may have.
    NoQuota,
    /// Every place for requests is taken.
    NoPlaces,
    /// Every connection is taken, by requests and by heads without an end.
    NoConnections,
    /// The gateway has just started, and is alone.
    Restarted,
    /// Somebody holds the drone service's file.
    LockedFile,
}

/// The least that may be configured.
const CONNECTIONS: usize = 16;

/// Connections beyond those that the gateway keeps free for stops.
const DRIBBLING: usize = 300;

/// A permit whose arithmetic overflows for callers on the same machine in
/// enforced mode, which no case of the bundle is: it passes every check at
/// load, and then no stop can be decided by this bundle.
const OVERFLOWING: &str = "@id(\"stop.overflow\")
@advice(\"Allows a stop that lives long, and fails at it.\")
permit (principal, action in Action::\"safety_write\", resource)
when
{
  resource in Scope::\"installation\" &&
  context.mode == Mode::\"enforced\" &&
  context.loopback &&
  context.ttl_ms + 9223372036854775807 + 1 > 0
};
";

/// What holds a bad state while it lasts.
#[derive(Default)]
struct Held {
    wires: Vec<Wire>,
    file: Option<SqliteConnection>,
}

struct Rig {
    system: System,
    bundle: PathBuf,
    _folder: TempDir,
}

impl Rig {
    async fn start(bad: Bad) -> Rig {
        let folder = tempfile::tempdir().unwrap();
        let bundle = folder.path().join("bundle");
        let change = |mut config: GatewayConfig| {
            copy(&config.bundle, &bundle);
            config.bundle = bundle.clone();
            config.extra = match bad {
                Bad::NoQuota => "[limits]\nkeys_per_caller = 1\nplans_per_caller = 1\n".to_owned(),
                Bad::NoPlaces => "[limits]\nmax_concurrent = 1\n".to_owned(),
                Bad::NoConnections => format!("[limits]\nconnections = {CONNECTIONS}\n"),
                _ => String::new(),
            };
            config
        };
        let plan = match bad {
            Bad::NoStore | Bad::HungStore | Bad::Restarted => Plan::REDIS,
            _ => Plan::ENFORCED,
        };
        Rig {
            system: System::start_with(plan, change).await,
            bundle,
            _folder: folder,
        }
    }

    /// Brings the state about, and shows that it is there.
    async fn begin(&mut self, bad: Bad) -> Held {
        let mut held = Held::default();
        match bad {
            Bad::ViewerOnly => {
                let start = self.post(Persona::Viewer, "/api/missions").await;
                assert_eq!(start, "forbidden");
            }
            Bad::NoKeys => {
                let fetches = self.system.idp.fetches();
                assert!(fetches > 0, "the keys were never fetched");
                self.system.idp.close();
            }
            Bad::NoStore => {
                self.system.redis.as_mut().unwrap().kill();
                self.refuses("store-unavailable").await;
            }
            Bad::HungStore => {
                self.system.redis.as_mut().unwrap().hang();
                self.refuses("store-unavailable").await;
            }
            Bad::RefusedBundle => {
                fs::write(self.bundle.join("permits/90-cut.cedar"), "permit (").unwrap();
                let refused = |told: &Value| !told["policy"]["refused"].is_null();
                told(&self.system, "the bundle is refused", refused).await;
            }
            Bad::BrokenPolicy => self.break_policy().await,
            Bad::NoRecords => {
                block(&self.system.gateway().config.state.join("audit"));
                self.refuses("audit-unavailable").await;
            }
            Bad::NoQuota => self.use_up_quota().await,
            Bad::NoPlaces => {
                held.wires.push(self.slow_body());
                self.overloaded().await;
            }
            Bad::NoConnections => {
                for _ in 0..CONNECTIONS {
                    held.wires.push(self.slow_body());
                }
                self.overloaded().await;
                for _ in 0..DRIBBLING {
                    let mut wire = Wire::connect(self.system.gateway().address());
                    wire.send("POST /api/swarm/land HTTP/1.1\r\nHo");
                    held.wires.push(wire);
                }
            }
            Bad::Restarted => {
                leave_alone(&mut self.system).await;
                // Which of its lacks is named is open: the service may not
                // have been heard of yet.
                let plans = "/api/mission-plans";
                let propose = self.system.post(Persona::Operator, plans, &route()).await;
                propose.expect(503);
            }
            Bad::LockedFile => held.file = Some(self.lock_file().await),
        }
        held
    }

    /// The type of the problem that a start or proposal meets.
    async fn post(&self, persona: Persona, path: &str) -> String {
        self.system.post(persona, path, &route()).await.problem()
    }

    async fn refuses(&self, problem: &str) {
        let refused = self.post(Persona::Operator, "/api/mission-plans").await;
        assert_eq!(refused, problem);
    }

    async fn break_policy(&self) {
        let hash = |told: &Value| told["policy"]["hash"].as_str().unwrap().to_owned();
        let ops = self.system.gateway().ops();
        let before = hash(&ops.get("/readyz").send().await.json());
        fs::write(self.bundle.join("permits/90-overflow.cedar"), OVERFLOWING).unwrap();
        let taken = |told: &Value| {
            let refused = &told["policy"]["refused"];
            assert!(refused.is_null(), "the bundle is refused: {refused}");
            hash(told) != before
        };
        told(&self.system, "the bundle is taken", taken).await;
    }

    async fn use_up_quota(&self) {
        let propose = |key: &str| {
            let call = self.system.call(CALLER, "POST", "/api/mission-plans");
            call.key(key).json(&route())
        };
        propose("one").send().await.expect(201);
        assert_eq!(propose("two").send().await.problem(), "quota-exceeded");
    }

    /// A request that has begun and does not end.
    fn slow_body(&self) -> Wire {
        let address = self.system.gateway().address();
        let token = Persona::Operator.token(&self.system.idp).unwrap();
        let mut wire = Wire::connect(address);
        wire.send(format!(
            "POST /api/missions HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 9\r\n\r\n"
        ));
        wire
    }

    async fn overloaded(&self) {
        poll::until_async("there is no room for a read", async || {
            let state = self.system.get(Persona::Viewer, "/api/swarm/state").await;
            (state.problem() == "overloaded").then_some(())
        })
        .await;
    }

    /// Nobody else can write, or begin to write.
    async fn lock_file(&self) -> SqliteConnection {
        let file = self.system.folder().join("drones.db");
        let mut other = SqliteConnectOptions::new()
            .filename(file)
            .connect()
            .await
            .unwrap();
        sqlx::query("BEGIN IMMEDIATE")
            .execute(&mut other)
            .await
            .unwrap();
        other
    }
}

/// Who stops: may look, and, where a quota is to be used up, propose.
const CALLER: Persona = Persona::Proposer;

/// Both stops in one bad state, each counted at the swarm.
async fn check(bad: Bad) {
    let mut rig = Rig::start(bad).await;
    let mission = stage::mission(&rig.system).await;
    flies(&rig.system).await;
    let held = rig.begin(bad).await;
    let caller = match bad {
        Bad::NoQuota => CALLER,
        _ => Persona::Viewer,
    };
    let recorded = bad != Bad::LockedFile;
    for (path, status) in [
        (format!("/api/missions/{mission}/abort"), 200),
        ("/api/swarm/land".to_owned(), 202),
    ] {
        let commands = rig.system.sim.counters().commands;
        let stop = rig.system.call(caller, "POST", &path).key("stop");
        let stop = stop.send().await;
        assert_eq!(stop.status, status, "{path}, {bad:?}: {}", stop.text());
        let told = rig.system.sim.counters().commands - commands;
        assert_eq!(told, 1, "{path}, {bad:?}: commands at the swarm");
        let answer = stop.json();
        let drones = answer["drones"].as_array().unwrap();
        assert!(!drones.is_empty(), "{path}, {bad:?}: {answer}");
        let all = drones.iter().all(|drone| drone["acknowledged"] == true);
        assert!(all, "{path}, {bad:?}: {answer}");
        assert_eq!(answer["recorded"], recorded, "{path}, {bad:?}: {answer}");
    }
    if bad == Bad::BrokenPolicy {
        let told = rig.system.gateway().process.stderr() + &rig.system.gateway().process.stdout();
        assert!(
            told.contains("\"alarm\":\"policy-broken\""),
            "nobody was told"
        );
    }
    drop(held);
    poll::until_async("there is room again", async || {
        let state = rig.system.get(Persona::Viewer, "/api/swarm/state").await;
        (state.status == 200).then_some(())
    })
    .await;
    lands(&rig.system).await;
    assert_eq!(rig.system.sim.counters().flights, 1, "{bad:?}");
}

#[tokio::test]
async fn by_somebody_who_may_only_look() {
    check(Bad::ViewerOnly).await;
}

#[tokio::test]
async fn while_the_identity_provider_is_gone() {
    check(Bad::NoKeys).await;
}

#[tokio::test]
async fn while_redis_is_gone() {
    check(Bad::NoStore).await;
}

#[tokio::test]
async fn while_redis_hangs() {
    check(Bad::HungStore).await;
}

#[tokio::test]
async fn while_the_bundle_is_refused() {
    check(Bad::RefusedBundle).await;
}

#[tokio::test]
async fn while_no_policy_can_decide() {
    check(Bad::BrokenPolicy).await;
}

#[tokio::test]
async fn while_records_cannot_be_written() {
    check(Bad::NoRecords).await;
}

#[tokio::test]
async fn after_every_quota_is_used_up() {
    check(Bad::NoQuota).await;
}

#[tokio::test]
async fn while_every_place_is_taken() {
    check(Bad::NoPlaces).await;
}

#[tokio::test]
async fn while_every_connection_is_taken() {
    check(Bad::NoConnections).await;
}

#[tokio::test]
async fn by_a_gateway_that_is_alone_since_its_start() {
    check(Bad::Restarted).await;
}

#[tokio::test]
async fn while_the_file_of_the_service_is_locked() {
    check(Bad::LockedFile).await;
}

/// The states above are bad: each of them is told apart from a good one.
#[tokio::test]
async fn a_caller_from_elsewhere_stops_nothing() {
    let system = System::start(Plan::ENFORCED).await;
    let land = system.call(Persona::Foreign, "POST", "/api/swarm/land");
    land.send().await.expect(404);
    assert_eq!(system.sim.counters().commands, 0);
}

//! The store is gone, in every way in which it can be: stops and reads go on,
//! nothing that flies is sent, and all is well again without a restart.

pub(crate) mod alone;
mod server;

use interlock_tests::chaos::{Chaos, Line};
use interlock_tests::gateway::{GatewayConfig, Storage};
use interlock_tests::http::{Answer, Call};
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::redis::{Redis, Setup};
use interlock_tests::stand_in::StandIn;
use interlock_tests::system::{Plan, System};
use serde_json::{Value, json};

use crate::matrix::trouble::told;
use crate::personas::stage::{self, route};

const PLANS: &str = "/api/mission-plans";

/// How the store is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outage {
    /// Nobody listens.
    Refused,
    /// The server is frozen with all its connections open.
    Hung,
    /// Every connection is reset.
    Reset,
    /// The server is frozen, and the one place for calls to it is taken.
    Exhausted,
}

/// A system on a Redis server that it reaches with nothing between, or over a
/// relay where that is to break.
struct Rig {
    system: System,
    service: StandIn,
    redis: Redis,
    line: Chaos,
}

impl Rig {
    async fn start(outage: Outage) -> Rig {
        let redis = Redis::start_with(Setup {
            durable: true,
            ..Setup::default()
        });
        let line = Chaos::to(redis.address());
        let address = match outage {
            Outage::Reset => line.address(),
            _ => redis.address(),
        };
        let pool = match outage {
            Outage::Exhausted => 1,
            _ => 64,
        };
        let change = |mut config: GatewayConfig| {
            config.storage = Storage::Redis { address, pool };
            config
        };
        let system = System::start_with(Plan::ENFORCED, change).await;
        let service = StandIn::before(system.drones.address());
        system.upstream.aim(service.address());
        Rig {
            system,
            service,
            redis,
            line,
        }
    }

    fn begin(&mut self, outage: Outage) {
        match outage {
            Outage::Refused => self.redis.kill(),
            Outage::Hung | Outage::Exhausted => self.redis.hang(),
            Outage::Reset => self.line.set(Line::Reset),
        }
    }

    fn end(&mut self, outage: Outage) {
        match outage {
            Outage::Refused => self.redis.restart(),
            Outage::Hung | Outage::Exhausted => self.redis.resume(),
            Outage::Reset => self.line.set(Line::Up),
        }
    }
}

/// Everything that moves, decides or plans, with and without a key where that
/// makes no difference.
fn writes(system: &System, plan: &str, code: &str, pending: &str) -> Vec<(&'static str, Call)> {
    let call = |persona, path: &str| system.call(persona, "POST", path);
    let dispatch = || {
        let call = call(Persona::Operator, &format!("{PLANS}/{plan}/dispatch"));
        call.json(&json!({ "approvalCode": code }))
    };
    let decide = |word: &str| call(Persona::Approver, &format!("{PLANS}/{pending}/{word}"));
    vec![
        ("dispatch", dispatch()),
        ("dispatch with a key", dispatch().key("dispatch")),
        ("propose", call(Persona::Proposer, PLANS).json(&route())),
        ("approve", decide("approve")),
        ("approve with a key", decide("approve").key("approve")),
        ("reject", decide("reject")),
        (
            "start with a key",
            call(Persona::Operator, "/api/missions")
                .json(&route())
                .key("start"),
        ),
    ]
}

fn refused(what: &str, answer: &Answer) {
    assert_eq!(answer.status, 503, "{what}: {}", answer.text());
    assert_eq!(answer.problem(), "store-unavailable", "{what}");
    assert_eq!(answer.json()["effect"], "none", "{what}");
}

/// The drones that the state says are on their way down or there.
pub(crate) async fn landing(system: &System) -> usize {
    let state = system.get(Persona::Viewer, "/api/swarm/state").await;
    let state = state.expect(200).json();
    let drones = state["drones"].as_array().unwrap().iter();
    drones
        .filter(|drone| {
            let status = drone["status"].as_str().unwrap_or_default().to_lowercase();
            ["landing", "landed", "idle"].contains(&status.as_str())
        })
        .count()
}

/// Waits until every drone is on its way down or there.
pub(crate) async fn lands(system: &System) {
    poll::until_async("the swarm lands", async || {
        let state = system.get(Persona::Viewer, "/api/swarm/state").await;
        let all = state.expect(200).json()["drones"].as_array().unwrap().len();
        (landing(system).await == all).then_some(())
    })
    .await;
}

/// Waits until the mission's drones are so high that no stop has them on the
/// ground before the next one.
pub(crate) async fn flies(system: &System) {
    poll::until_async("the swarm flies", async || {
        let state = system.get(Persona::Viewer, "/api/swarm/state").await;
        let state = state.expect(200).json();
        let drones = state["drones"].as_array().unwrap().iter();
        let up = drones
            .filter(|drone| drone["position"]["z"].as_f64() > Some(3.0))
            .count();
        (up >= 3).then_some(())
    })
    .await;
}

async fn check(outage: Outage) {
    let mut rig = Rig::start(outage).await;
    let (plan, code) = stage::approved(&rig.system).await;
    let pending = stage::pending(&rig.system).await;
    let mission = stage::mission(&rig.system).await;
    flies(&rig.system).await;
    rig.begin(outage);
    let before = (rig.service.heard(), rig.system.sim.counters());

    // All at once, so that there is no place left in the store's pool.
    let calls = writes(&rig.system, &plan, &code, &pending);
    let running: Vec<_> = calls
        .into_iter()
        .map(|(what, call)| (what, tokio::spawn(call.send())))
        .collect();
    for (what, answer) in running {
        refused(&format!("{what}, {outage:?}"), &answer.await.unwrap());
    }
    let after = (rig.service.heard(), rig.system.sim.counters());
    assert_eq!(after, before, "{outage:?}: something was sent");

    for path in [
        "/health".to_owned(),
        "/api/swarm/state".to_owned(),
        PLANS.to_owned(),
        format!("{PLANS}/{plan}"),
        format!("/api/missions/{mission}"),
    ] {
        let read = rig.system.get(Persona::Viewer, &path).await;
        assert_eq!(read.status, 200, "{path}, {outage:?}: {}", read.text());
    }

    for (path, status) in [
        (format!("/api/missions/{mission}/abort"), 200),
        ("/api/swarm/land".to_owned(), 202),
    ] {
        let commands = rig.system.sim.counters().commands;
        let stop = rig.system.call(Persona::Viewer, "POST", &path);
        let stop = stop.key("stop").send().await;
        assert_eq!(stop.status, status, "{path}, {outage:?}: {}", stop.text());
        let told = rig.system.sim.counters().commands - commands;
        assert_eq!(told, 1, "{path}, {outage:?}: commands at the swarm");
    }
    lands(&rig.system).await;
    let gone = |told: &Value| told["store"]["ready"] == false && told["ready"] == false;
    told(&rig.system, "readiness says that the store is gone", gone).await;

    rig.end(outage);
    recovers(&rig, outage, &plan).await;
}

/// Everything works again, in the same process.
async fn recovers(rig: &Rig, outage: Outage, plan: &str) {
    let system = &rig.system;
    system.gateway().ready().await;
    // The code was not touched.
    let plan = system
        .get(Persona::Viewer, &format!("{PLANS}/{plan}"))
        .await;
    assert_eq!(plan.expect(200).json()["status"], "Approved", "{outage:?}");
    stage::ground(system).await;
    let (plan, code) = stage::approved(system).await;
    let starts = system.sim.counters().starts;
    let code = json!({ "approvalCode": code });
    let path = format!("{PLANS}/{plan}/dispatch");
    let flown = system.post(Persona::Operator, &path, &code).await;
    flown.expect(201);
    assert_eq!(system.sim.counters().starts - starts, 1, "{outage:?}");
}

#[tokio::test]
async fn redis_refuses_connections() {
    check(Outage::Refused).await;
}

#[tokio::test]
async fn redis_hangs() {
    check(Outage::Hung).await;
}

#[tokio::test]
async fn redis_resets_connections() {
    check(Outage::Reset).await;
}

#[tokio::test]
async fn the_pool_of_a_hanging_redis_is_exhausted() {
    check(Outage::Exhausted).await;
}

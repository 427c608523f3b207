//! Mowers to command, and the system they live in: whole in one process, or
//! with a bus and a database of its own and its mowers in shards.

use interlock_tests::chaos::Chaos;
use interlock_tests::gateway::GatewayConfig;
use interlock_tests::http::Answer;
use interlock_tests::mowers::{LEASE, Mowers, MowersConfig, STOP_LIFE, Shard, arrivals};
use interlock_tests::nats::Nats;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::postgres::Postgres;
use interlock_tests::system::{Plan, System};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::personas::stage::fleet::FLEET;
use crate::personas::stage::text;

/// One gateway in Enforced mode, the fleet in one process.
pub(super) const EMBEDDED: Plan = Plan::ENFORCED.with_mowers();

/// A mower that can be started.
#[derive(Clone, Debug)]
pub(super) struct Mower {
    pub(super) id: String,
    pub(super) area: String,
}

/// A mower in the default site, held by its device gateway.
pub(super) async fn mower(system: &System) -> Mower {
    mower_with(system, &json!({})).await
}

/// The same with options of the simulation.
pub(super) async fn mower_with(system: &System, options: &Value) -> Mower {
    known(system).await;
    let body = registration(&Uuid::new_v4().to_string(), options);
    let path = format!("{FLEET}/mowers");
    let answer = system.post(Persona::Manager, &path, &body).await;
    let id = text(&answer.expect(201).json()["id"]);
    let area = held(system, &id).await;
    Mower { id, area }
}

/// Waits until the gateway has heard of the account, which the service makes at
/// its start.
async fn known(system: &System) {
    let path = format!("{FLEET}/sites?include_default=true");
    poll::until_async("the account is known", async || {
        let answer = system.get(Persona::Viewer, &path).await;
        let sites = (answer.status == 200).then(|| answer.json())?;
        (!sites["items"].as_array()?.is_empty()).then_some(())
    })
    .await;
}

/// What registers a simulated mower of that serial.
pub(super) fn registration(serial: &str, options: &Value) -> Value {
    json!({
        "name": "Mower", "vendor": "Simulated", "model": "luba", "serial": serial,
        "connection": { "kind": "simulated", "options": options },
    })
}

/// Waits until a device gateway holds it; an area of its map.
pub(super) async fn held(system: &System, mower: &str) -> String {
    let path = format!("{FLEET}/mowers/{mower}/map");
    poll::until_async("the mower is held", async || {
        let answer = system.get(Persona::Viewer, &path).await;
        (answer.status == 200).then(|| text(&answer.json()["areas"][0]["id"]))
    })
    .await
}

/// What starts a mower; it may live for so many seconds.
pub(super) fn start(mower: &Mower, seconds: u16) -> Value {
    json!({
        "command": { "kind": "start_mow", "area_ids": [mower.area] },
        "area_clear_confirmed": true, "ttl_seconds": seconds,
    })
}

/// What sets the height of its blade.
pub(super) fn height(millimeters: u16) -> Value {
    json!({ "command": { "kind": "set_blade_height", "height_mm": millimeters } })
}

/// A command by the operator.
pub(super) async fn command(system: &System, mower: &str, body: &Value) -> Answer {
    let path = format!("{FLEET}/mowers/{mower}/commands");
    system.post(Persona::Operator, &path, body).await
}

/// An emergency stop by somebody who may only look.
pub(super) async fn stop(system: &System, mower: &str) -> Answer {
    let path = format!("{FLEET}/mowers/{mower}/emergency-stop");
    system.call(Persona::Viewer, "POST", &path).send().await
}

/// The record of a command, if it can be read.
pub(super) async fn find(system: &System, command: &str) -> Option<Value> {
    let path = format!("{FLEET}/commands/{command}");
    let answer = system.get(Persona::Viewer, &path).await;
    (answer.status == 200).then(|| answer.json())
}

/// Waits until the record of a command is as `wanted` says.
pub(super) async fn record(
    system: &System,
    what: &str,
    command: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    poll::until_seen(what, async || {
        let record = find(system, command).await;
        let seen = || format!("{record:?}");
        let found = record.as_ref().filter(|it| wanted(it));
        found.cloned().ok_or_else(seen)
    })
    .await
}

/// Waits until a command has that status.
pub(super) async fn ends(system: &System, command: &str, status: &str) -> Value {
    let what = format!("the command is {status}");
    let open = ["pending", "accepted"];
    let over =
        |it: &Value| it["status"] == status || !open.iter().any(|open| it["status"] == *open);
    let ended = record(system, &what, command, over).await;
    assert_eq!(ended["status"], status, "{ended}");
    ended
}

/// The records of a mower's commands, newest first.
pub(super) async fn records(system: &System, mower: &str) -> Vec<Value> {
    let path = format!("{FLEET}/commands?mower={mower}");
    let page = system.get(Persona::Viewer, &path).await.expect(200).json();
    page["items"].as_array().expect("a list").clone()
}

/// What a mower says of itself.
pub(super) async fn state(system: &System, mower: &str) -> Value {
    let path = format!("{FLEET}/mowers/{mower}/state");
    system.get(Persona::Viewer, &path).await.expect(200).json()
}

/// Waits until a mower says what `wanted` wants.
pub(super) async fn shows(
    system: &System,
    what: &str,
    mower: &str,
    wanted: impl Fn(&Value) -> bool,
) -> Value {
    let path = format!("{FLEET}/mowers/{mower}/state");
    poll::until_async(what, async || {
        let answer = system.get(Persona::Viewer, &path).await;
        let state = (answer.status == 200).then(|| answer.json());
        state.filter(|state| wanted(state))
    })
    .await
}

/// Waits until a mower stands, and will until somebody resets it.
pub(super) async fn latched(system: &System, mower: &str) {
    let stopped = |state: &Value| state["emergency"]["latched"] == true;
    shows(system, "the mower is stopped", mower, stopped).await;
}

/// What the clock of a device gateway may be off the fleet's: half of the
/// slowest round trip by which it measures.
const SKEW: SignedDuration = SignedDuration::from_millis(500);

/// Waits until that time is over for everybody.
pub(super) async fn after(at: &Value) {
    let at: Timestamp = text(at).parse().expect("a time");
    let over = async || (Timestamp::now() > at + SKEW).then_some(());
    poll::until_async("the time is over", over).await;
}

/// Checks what an answer says went wrong, and whether a mower may have acted.
pub(super) fn refused(answer: &Answer, status: u16, kind: &str, effect: &str) {
    let told = (answer.status, answer.problem());
    assert_eq!(told, (status, kind.to_owned()), "{}", answer.text());
    assert_eq!(answer.json()["effect"], effect, "{}", answer.text());
}

/// Checks that a stop which was not carried out says so, and what to do.
pub(super) fn not_stopped(answer: &Answer, effect: &str) {
    match effect {
        "none" => refused(answer, 503, "not-stopped", effect),
        _ => refused(answer, 504, "may-not-have-stopped", effect),
    }
    let told = answer.json();
    let (title, detail) = (text(&told["title"]), text(&told["detail"]));
    assert!(title.contains("may still be moving"), "{told}");
    assert!(detail.contains("own stop"), "{told}");
}

/// A fleet whose mowers live in shards on a NATS server.
#[derive(Debug)]
pub(super) struct Spread {
    pub(super) system: System,
    pub(super) shards: Vec<Shard>,
    pub(super) nats: Nats,
    /// The service to the bus; the shards have no relay between.
    pub(super) line: Chaos,
    pub(super) postgres: Option<Postgres>,
    /// Replicas of the service besides that of the system.
    pub(super) others: Vec<Mowers>,
}

/// What a fleet is made of.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    pub(super) plan: Plan,
    pub(super) shards: usize,
    pub(super) replicas: usize,
    /// The records are in PostgreSQL, not in a file.
    pub(super) postgres: bool,
    /// For how many seconds a shard keeps a mower without a word from the service.
    pub(super) lease: u8,
    /// For how many seconds a stop is tried.
    pub(super) stop_life: u8,
    /// Lines of the service's `[settings]` table.
    pub(super) extra: &'static str,
}

impl Shape {
    /// One of each.
    pub(super) const ONE: Shape = Shape {
        plan: EMBEDDED,
        shards: 1,
        replicas: 1,
        postgres: false,
        lease: LEASE,
        stop_life: STOP_LIFE,
        extra: "",
    };
}

impl Spread {
    pub(super) async fn start(shape: Shape) -> Spread {
        Spread::start_with(shape, |config| config).await
    }

    /// With a change to the configuration of each gateway.
    pub(super) async fn start_with(
        shape: Shape,
        change: impl Fn(GatewayConfig) -> GatewayConfig,
    ) -> Spread {
        let nats = Nats::start();
        let line = Chaos::to(nats.address());
        let postgres = shape.postgres.then(Postgres::start);
        let told = |mut config: MowersConfig| {
            config.bus = bus(&line.address().to_string());
            if let Some(postgres) = &postgres {
                config.records = format!("kind = \"postgres\"\nurl = \"{}\"", postgres.url());
            }
            config.lease = shape.lease;
            config.stop_life = shape.stop_life;
            config.extra = shape.extra.to_owned();
            config
        };
        let system = System::start_fleet(shape.plan, change, told).await;
        let folder = system.folder().to_owned();
        let first = system.mowers.as_ref().expect("a fleet").config().clone();
        let shards = (1..=shape.shards).map(|number| {
            let mut config = first.named(&format!("shard-{number}"), &folder);
            config.bus = bus(&nats.address().to_string());
            Shard::start(config, &folder)
        });
        let shards: Vec<Shard> = shards.collect();
        for shard in &shards {
            // Before that, a mower would be given to another and come to it later.
            poll::until("the shard is known", || {
                let known = "the fleet service knows this shard";
                shard.process.stderr().contains(known).then_some(())
            });
        }
        let others = (2..=shape.replicas).map(|number| {
            let config = first.named(&format!("mowers-{number}"), &folder);
            Mowers::start(config, &folder)
        });
        let others = others.collect();
        Spread {
            system,
            shards,
            nats,
            line,
            postgres,
            others,
        }
    }

    /// The replica that the system began with.
    pub(super) fn fleet(&mut self) -> &mut Mowers {
        self.system.mowers.as_mut().expect("a fleet")
    }

    /// How often a command has reached a mower.
    pub(super) fn arrivals(&self, command: &str) -> usize {
        let shards = self.shards.iter();
        shards.map(|shard| arrivals(&shard.process, command)).sum()
    }

    /// Waits until the service says whether it has its bus.
    pub(super) async fn bus_is(&self, status: &str) {
        let path = format!("{FLEET}/readyz");
        poll::until_async("the service knows of its bus", async || {
            let told = self.system.get(Persona::Viewer, &path).await.json();
            (told["checks"]["bus"]["status"] == status).then_some(())
        })
        .await;
    }
}

fn bus(address: &str) -> String {
    format!("kind = \"nats\"\nurl = \"nats://{address}\"")
}

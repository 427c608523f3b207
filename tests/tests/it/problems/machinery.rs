//! What can go wrong in the gateway's own house: store, records, policies,
//! registry, room.

use std::fs;
use std::path::Path;

use interlock_gateway::problem::Kind;
use interlock_guard::{FEED_HEADER, KeySet, Keys, sign_feed};
use interlock_tests::gateway::{Gateway, GatewayConfig};
use interlock_tests::http::Answer;
use interlock_tests::personas::{ACCOUNT, Persona};
use interlock_tests::poll;
use interlock_tests::system::{Plan, System, key};
use interlock_tests::vehicles::SWARM;
use interlock_tests::wire::Wire;
use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::seen::Seen;
use crate::personas::stage::{self, route};

pub(super) const KINDS: [&[Kind]; 5] = [STORE, RECORDS, POLICIES, REGISTRY, ROOM];

const STORE: &[Kind] = &[Kind::Internal, Kind::StoreUnavailable];
const RECORDS: &[Kind] = &[Kind::AuditUnavailable];
const POLICIES: &[Kind] = &[Kind::PolicyBroken];
const REGISTRY: &[Kind] = &[Kind::StaleRevision, Kind::RegistryStale];
const ROOM: &[Kind] = &[Kind::Overloaded];

const PLANS: &str = "/api/mission-plans";

/// Everything that a store can do wrong, on a real one.
#[tokio::test]
async fn of_the_store_are_seen() {
    let mut system = System::start(Plan {
        enforced: false,
        ..Plan::REDIS
    })
    .await;
    let mut seen = Seen::default();

    // Somebody else's hand was in it.
    let plan = stage::pending(&system).await;
    let record = format!("interlock:{{plan:{plan}}}");
    let redis = system.redis.as_mut().unwrap();
    redis.command::<()>(&["HSET", &record, "json", "{\"id\":"]);
    let approve = system.call(
        Persona::Approver,
        "POST",
        &format!("{PLANS}/{plan}/approve"),
    );
    seen.note(Kind::Internal, "none", &approve.send().await);

    let before = system.upstream.bytes_to_target();
    system.redis.as_mut().unwrap().kill();
    let refused = system.post(Persona::Proposer, PLANS, &route()).await;
    seen.note(Kind::StoreUnavailable, "none", &refused);
    assert!(refused.header("retry-after").is_some());
    assert_eq!(
        system.upstream.bytes_to_target(),
        before,
        "something was sent"
    );

    seen.all(STORE);
}

/// What cannot be recorded is not done.
#[tokio::test]
async fn of_the_records_are_seen() {
    let system = System::start(Plan::OPEN).await;
    let mut seen = Seen::default();
    // A file where the folder was: no rights in the world can write there.
    let folder = system.gateway().config.state.join("audit");
    fs::remove_dir_all(&folder).unwrap();
    fs::write(&folder, "in the way").unwrap();
    let before = system.upstream.bytes_to_target();
    for path in [PLANS, "/api/missions"] {
        let refused = system.post(Persona::Operator, path, &route()).await;
        seen.note(Kind::AuditUnavailable, "none", &refused);
    }
    assert_eq!(
        system.upstream.bytes_to_target(),
        before,
        "something was sent"
    );
    seen.all(RECORDS);
}

/// A guard whose arithmetic overflows in open mode, where no case of the
/// bundle proposes: it passes every check at load.
const OVERFLOWING: &str = "@id(\"guard.overflow\")
@advice(\"Refuses what lives too long, and fails at it.\")
forbid (principal, action == Action::\"plan_propose\", resource)
when
{
  resource in Scope::\"installation\" &&
  context.mode == Mode::\"open\" &&
  context.ttl_ms + 9223372036854775807 + 1 > 0
};
";

/// Copies a folder with everything in it.
pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

#[tokio::test]
async fn of_the_policies_are_seen() {
    let folder = tempfile::tempdir().unwrap();
    let bundle = folder.path().join("bundle");
    let change = |mut config: GatewayConfig| {
        copy(&config.bundle, &bundle);
        fs::write(bundle.join("guards/90-overflow.cedar"), OVERFLOWING).unwrap();
        config.bundle = bundle.clone();
        config
    };
    let system = System::start_with(Plan::OPEN, change).await;
    let mut seen = Seen::default();
    let before = system.upstream.bytes_to_target();
    let refused = system.post(Persona::Proposer, PLANS, &route()).await;
    let told = seen.note(Kind::PolicyBroken, "none", &refused);
    assert!(told["decision"].is_string(), "the record is named: {told}");
    assert_eq!(
        system.upstream.bytes_to_target(),
        before,
        "something was sent"
    );
    // Where the guard is not asked nothing is broken.
    stage::mission(&system).await;
    seen.all(POLICIES);
}

/// One call to the registry as the drone service makes it.
async fn feed(gateway: &Gateway, object: &Value) -> Answer {
    let keys = Keys::new(KeySet::parse(&gateway.config.keys[0]).unwrap());
    let path = format!("/registry/objects/Swarm/{SWARM}");
    let body = object.to_string();
    let call = ("PUT", path.as_str(), body.as_bytes());
    let token = sign_feed(&keys, "drones", call, Uuid::new_v4(), Timestamp::now()).unwrap();
    let call = gateway.ops().call("PUT", &path).header(FEED_HEADER, &token);
    call.body("application/json", body).send().await
}

/// A swarm that was registered, and a service that has said nothing since.
#[tokio::test]
async fn of_the_registry_are_seen() {
    let mut seen = Seen::default();
    let folder = tempfile::tempdir().unwrap();
    let service = interlock_tests::chaos::Chaos::nowhere();
    let state = folder.path().to_owned();
    let config = GatewayConfig::new(service.address(), vec![key("drones-1")], state);
    let gateway = Gateway::start("unheard", config, folder.path());
    let put = |revision: u64| json!({ "revision": revision, "parents": [ACCOUNT] });
    feed(&gateway, &put(7)).await.expect(200);
    let older = feed(&gateway, &put(6)).await;
    let told = seen.note(Kind::StaleRevision, "none", &older);
    assert_eq!(told["currentRevision"], 7);

    for path in [PLANS, "/api/missions"] {
        let refused = gateway.http().post(path).json(&route()).send().await;
        seen.note(Kind::RegistryStale, "none", &refused);
    }
    assert_eq!(service.accepted(), 0, "something was sent");
    seen.all(REGISTRY);
}

/// One place for all requests, and somebody who holds it.
#[tokio::test]
async fn of_the_room_are_seen() {
    let change = |mut config: GatewayConfig| {
        config.extra = "[limits]\nmax_concurrent = 1\n".to_owned();
        config
    };
    let system = System::start_with(Plan::OPEN, change).await;
    let mut seen = Seen::default();
    let address = system.gateway().address();
    let mut slow = Wire::connect(address);
    let json = "Content-Type: application/json\r\nContent-Length: 9";
    slow.send(format!(
        "POST /api/missions HTTP/1.1\r\nHost: {address}\r\n{json}\r\n\r\n"
    ));
    let refused = poll::until_async("the place is taken", async || {
        let answer = system.get(Persona::Viewer, "/api/swarm/state").await;
        (answer.status != 200).then_some(answer)
    })
    .await;
    seen.note(Kind::Overloaded, "none", &refused);
    assert!(refused.header("retry-after").is_some());
    // A stop has room of its own.
    let land = system.call(Persona::Viewer, "POST", "/api/swarm/land");
    land.send().await.expect(202);
    seen.all(ROOM);
}

//! Whether the system can serve: `/health` and `/alive` for everybody,
//! `/readyz` for operators.

use std::sync::Arc;

use interlock_policies::Mode;
use interlock_surface::{ROWS, ResourceFrom, Row};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::gateway::Gateway;
use crate::registry::is_fed;
use crate::reply::{self, Reply};

/// How long after its last word an instance counts as gone.
const INSTANCE_GONE: SignedDuration = SignedDuration::from_secs(5);

/// `GET /health` and `GET /alive`. Alive says that this process answers;
/// health says whether its services are there: 503 until each was heard of.
pub(crate) fn answer(gateway: &Gateway, row: &Row) -> Reply {
    if row.action == Some("alive") {
        return reply::json(200, &json!({ "status": "Healthy" }));
    }
    let now = gateway.clock.now();
    let mut checks = Map::new();
    let mut worst = Level::Healthy;
    for name in gateway.services.keys() {
        let level = match gateway.registry.age(name, now) {
            None => Level::Unhealthy,
            Some(age) if age > gateway.limits.stale_after => Level::Degraded,
            Some(_) => Level::Healthy,
        };
        worst = worst.max(level);
        let description = match level {
            Level::Healthy => "the service reports",
            Level::Degraded => "the service has not been heard of lately",
            Level::Unhealthy => "the service has not been heard of yet",
        };
        checks.insert(
            name.clone(),
            json!({ "status": level.as_str(), "description": description, "data": {} }),
        );
        if let Some(beat) = gateway.registry.heartbeats().get(name) {
            worst = worst.max(adopt(&mut checks, &beat.checks));
        }
    }
    let mode = match gateway.authn.mode() {
        Mode::Open => "Open",
        Mode::Enforced => "Enforced",
    };
    checks.insert(
        "auth".to_owned(),
        json!({ "status": "Healthy", "description": "who may call", "data": { "mode": mode } }),
    );
    let status = if worst == Level::Unhealthy { 503 } else { 200 };
    let body = json!({ "status": worst.as_str(), "checks": checks });
    reply::json(status, &body)
}

/// Takes a service's own checks over. One of them being bad degrades: a
/// restart of the gateway would not help.
fn adopt(checks: &mut Map<String, Value>, reported: &Value) -> Level {
    let mut worst = Level::Healthy;
    for (name, check) in reported.as_object().into_iter().flatten() {
        if check.get("status").and_then(Value::as_str) != Some("Healthy") {
            worst = Level::Degraded;
        }
        checks.insert(name.clone(), check.clone());
    }
    worst
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Healthy,
    Degraded,
    Unhealthy,
}

impl Level {
    fn as_str(self) -> &'static str {
        match self {
            Level::Healthy => "Healthy",
            Level::Degraded => "Degraded",
            Level::Unhealthy => "Unhealthy",
        }
    }
}

/// `GET /readyz`: what a load balancer and an operator need to know. Ready
/// means that everything but stops works too.
pub(crate) async fn readiness(gateway: &Arc<Gateway>) -> (bool, Value) {
    let now = gateway.clock.now();
    let store = gateway.store.health.ping().await;
    let policies = gateway.policies.active();
    let refused = gateway.policies.refused();
    let keys = gateway.authn.keys(now);
    let head = gateway.audit.head();
    let services: Map<String, Value> = gateway
        .services
        .keys()
        .map(|name| (name.clone(), service(gateway, name, now)))
        .collect();
    let heard = gateway
        .services
        .keys()
        .all(|name| gateway.heard_of(name, now).is_ok() && registered(gateway, name));
    let keyed = keys.iter().all(|set| set.keys > 0);
    let recording = !gateway.audit.is_failing();
    let ready = store.is_ok() && heard && keyed && recording;
    let body = json!({
        "ready": ready,
        "instance": gateway.instance,
        "mode": gateway.authn.mode().as_str(),
        "store": {
            "kind": gateway.store.kind,
            "ready": store.is_ok(),
            "fault": store.err().map(|cause| cause.to_string()),
        },
        "policy": {
            "hash": policies.bundle.hash(),
            "since": policies.since,
            "policies": policies.bundle.len(),
            "refused": refused,
        },
        "instances": instances(gateway, now).await,
        "issuers": keys.iter().map(|set| json!({
            "issuer": set.issuer,
            "keys": set.keys,
            "ageSeconds": set.age.map(|age| age.as_secs()),
            "stale": set.stale,
            "fault": set.fault,
        })).collect::<Vec<_>>(),
        "services": services,
        "registry": { "generation": gateway.registry.generation(), "objects": gateway.registry.len() },
        "audit": { "recording": recording, "head": *head },
    });
    (ready, body)
}

fn service(gateway: &Gateway, name: &str, now: Timestamp) -> Value {
    let age = gateway.registry.age(name, now);
    json!({
        "heard": gateway.heard_of(name, now).is_ok(),
        "registered": registered(gateway, name),
        "ageSeconds": age.map(|age| age.as_secs_f64()),
    })
}

/// Whether the object is known that the service's rows are about: until then
/// it is there for nobody, whatever the service says of its health.
fn registered(gateway: &Gateway, name: &str) -> bool {
    let Some(service) = gateway.services.get(name) else {
        return false;
    };
    let mut about = ROWS.iter().filter(|row| {
        row.service == name
            && row.action.is_some()
            && row.resource_from == ResourceFrom::Service
            && is_fed(row.resource)
    });
    about.all(|row| {
        let known = gateway
            .registry
            .known(row.resource.as_str(), &service.object);
        known.is_some_and(|object| !object.deleted)
    })
}

/// The instances that share the store, with the bundle each decides by: two
/// hashes mean that an edit has not reached everybody.
async fn instances(gateway: &Gateway, now: Timestamp) -> Value {
    let since = now.checked_sub(INSTANCE_GONE).unwrap_or(Timestamp::MIN);
    match gateway.store.registry.instances(since).await {
        Ok(instances) => instances
            .iter()
            .map(|instance| json!({ "name": instance.name, "policyHash": instance.bundle }))
            .collect(),
        Err(_) => Value::Null,
    }
}

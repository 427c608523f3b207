use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::{Guard, Refusal};
use crate::clock::Clock;
use crate::keys::{Key, KeySet, Keys};
use crate::layer::tests::{SetClock, grant, sign};

const VECTORS: &str = include_str!("../../../../docs/grant-vectors.json");

#[derive(Deserialize)]
struct Vectors {
    service: String,
    keys: Vec<KeyVector>,
    start: i64,
    grants: Vec<Vector>,
}

#[derive(Deserialize)]
struct KeyVector {
    kid: String,
    secret: String,
}

#[derive(Deserialize)]
struct Vector {
    name: String,
    expect: String,
    now: i64,
    request: RequestVector,
    claims: Value,
    token: String,
}

#[derive(Deserialize)]
struct RequestVector {
    method: String,
    path: String,
    body: String,
}

fn vectors() -> Vectors {
    serde_json::from_str(VECTORS).unwrap()
}

fn keys(vectors: &Vectors) -> Keys {
    let one = |key: &KeyVector| Key::parse(&format!("{}:{}", key.kid, key.secret)).unwrap();
    Keys::new(KeySet::new(vectors.keys.iter().map(one).collect()).unwrap())
}

fn outcome(guard: &Guard, vector: &Vector) -> &'static str {
    let RequestVector { method, path, body } = &vector.request;
    match guard.check(&vector.token, method, path, body.as_bytes()) {
        Ok(_) => "granted",
        Err(refusal) => refusal.reason(),
    }
}

#[test]
fn every_vector_has_its_outcome() {
    let vectors = vectors();
    assert_eq!(vectors.service, "drones");
    let clock = Arc::new(SetClock::at(vectors.start));
    let guard = Guard::new("drones", keys(&vectors), clock.clone());
    for vector in &vectors.grants {
        clock.set(vector.now);
        assert_eq!(outcome(&guard, vector), vector.expect, "{}", vector.name);
    }
}

/// The vectors are worth something only if they see a guard that checks less.
#[test]
fn the_vectors_show_every_reason_but_those_of_the_transport() {
    let vectors = vectors();
    let seen: Vec<&str> = vectors.grants.iter().map(|v| v.expect.as_str()).collect();
    for refusal in [
        Refusal::Malformed,
        Refusal::Algorithm,
        Refusal::Type,
        Refusal::UnknownKey,
        Refusal::Signature,
        Refusal::Issuer,
        Refusal::Audience,
        Refusal::Claims,
        Refusal::Row,
        Refusal::Method,
        Refusal::Path,
        Refusal::Body,
        Refusal::Expired,
        Refusal::NotYet,
        Refusal::Life,
        Refusal::BeforeStart,
        Refusal::Replayed,
    ] {
        assert!(seen.contains(&refusal.reason()), "{}", refusal.reason());
    }
}

#[test]
fn what_a_vector_claims_is_what_its_token_says() {
    let vectors = vectors();
    let clock = Arc::new(SetClock::at(vectors.start));
    let guard = Guard::new("drones", keys(&vectors), clock.clone());
    for vector in vectors.grants.iter().filter(|v| v.expect == "granted") {
        clock.set(vector.now);
        let RequestVector { method, path, body } = &vector.request;
        let granted = guard
            .check(&vector.token, method, path, body.as_bytes())
            .unwrap();
        let Value::Object(told) = &vector.claims else {
            panic!("claims are an object");
        };
        let read = serde_json::to_value(granted.claims()).unwrap();
        for (name, value) in told.iter().filter(|(name, _)| *name != "later") {
            assert_eq!(read.get(name), Some(value), "{}: {name}", vector.name);
        }
    }
}

#[test]
fn keys_rotate_without_restart() {
    let clock = Arc::new(SetClock::at(1_764_500_000));
    let [old, new] = ["old", "new"].map(|kid| Key::new(kid, &[kid.len() as u8; 32]).unwrap());
    let keys = Keys::new(KeySet::new(vec![old.clone()]).unwrap());
    let guard = Guard::new("drones", keys.clone(), clock.clone());
    let check = |kid: &str, n: u128| {
        let claims = grant(Uuid::from_u128(n), clock.now());
        let token = sign(kid, &[kid.len() as u8; 32], &claims);
        guard
            .check(&token, "POST", "/api/missions", b"{}")
            .map(|_| ())
    };
    assert_eq!(check("old", 1), Ok(()));
    assert_eq!(check("new", 2), Err(Refusal::UnknownKey));
    keys.rotate(KeySet::new(vec![new.clone(), old]).unwrap());
    assert_eq!(check("old", 3), Ok(()));
    assert_eq!(check("new", 4), Ok(()));
    keys.rotate(KeySet::new(vec![new]).unwrap());
    assert_eq!(check("old", 5), Err(Refusal::UnknownKey));
    assert_eq!(
        check("new", 3),
        Err(Refusal::Replayed),
        "memory outlives a key"
    );
}

#[test]
fn a_full_memory_refuses_writes_and_lets_reads_and_stops_pass() {
    let clock = Arc::new(SetClock::at(1_764_500_000));
    let key = Key::new("k", &[1; 32]).unwrap();
    let keys = Keys::new(KeySet::new(vec![key]).unwrap());
    let guard = Guard::with_capacity("drones", keys, clock.clone(), 1);
    let check = |n: u128, row: &str, method: &str, path: &str| {
        let mut claims = grant(Uuid::from_u128(n), clock.now());
        claims["row"] = row.into();
        claims["method"] = method.into();
        claims["path"] = path.into();
        let token = sign("k", &[1; 32], &claims);
        guard.check(&token, method, path, b"{}").map(|_| ())
    };
    let start = |n| check(n, "drones.mission.start", "POST", "/api/missions");
    assert_eq!(start(1), Ok(()));
    assert_eq!(start(2), Err(Refusal::Full));
    assert_eq!(
        check(3, "drones.swarm.land", "POST", "/api/swarm/land"),
        Ok(())
    );
    assert_eq!(
        check(4, "drones.swarm.state", "GET", "/api/swarm/state"),
        Ok(())
    );
    clock.set(clock.now().as_second() + 40);
    assert_eq!(start(5), Ok(()), "room once the first has expired");
}

#[test]
fn a_wrong_body_does_not_spend_the_grant() {
    let clock = Arc::new(SetClock::at(1_764_500_000));
    let keys = Keys::new(KeySet::new(vec![Key::new("k", &[1; 32]).unwrap()]).unwrap());
    let guard = Guard::new("drones", keys, clock.clone());
    let token = sign("k", &[1; 32], &grant(Uuid::from_u128(1), clock.now()));
    let check = |body: &[u8]| {
        guard
            .check(&token, "POST", "/api/missions", body)
            .map(|_| ())
    };
    assert_eq!(check(b"[]"), Err(Refusal::Body));
    assert_eq!(check(b"{}"), Ok(()));
    assert_eq!(check(b"{}"), Err(Refusal::Replayed));
}

#[test]
fn debug_shows_no_secret() {
    let clock = Arc::new(SetClock::at(1));
    let keys = Keys::new(
        KeySet::new(vec![
            Key::new("k", b"0123456789abcdef0123456789abcdef").unwrap(),
        ])
        .unwrap(),
    );
    let shown = format!("{:?}", Guard::new("drones", keys, clock));
    assert!(
        shown.contains("redacted") && !shown.contains("0123456789"),
        "{shown}"
    );
}

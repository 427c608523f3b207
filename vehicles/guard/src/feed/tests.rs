use jiff::Timestamp;
use serde::Deserialize;
use uuid::Uuid;

use super::{sign_feed, verify_feed};
use crate::keys::{Key, KeySet, Keys};

const VECTORS: &str = include_str!("../../../../docs/grant-vectors.json");

#[derive(Deserialize)]
struct Vectors {
    keys: Vec<KeyVector>,
    feed: Vec<Vector>,
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
    token: String,
}

#[derive(Deserialize)]
struct RequestVector {
    method: String,
    path: String,
    body: String,
}

fn keys(vectors: &Vectors) -> Keys {
    let one = |key: &KeyVector| Key::parse(&format!("{}:{}", key.kid, key.secret)).unwrap();
    Keys::new(KeySet::new(vectors.keys.iter().map(one).collect()).unwrap())
}

#[test]
fn every_feed_vector_has_its_outcome() {
    let vectors: Vectors = serde_json::from_str(VECTORS).unwrap();
    let keys = keys(&vectors).current();
    for vector in &vectors.feed {
        let RequestVector { method, path, body } = &vector.request;
        let now = Timestamp::from_second(vector.now).unwrap();
        let call = (method.as_str(), path.as_str(), body.as_bytes());
        let outcome = match verify_feed(&keys, "drones", &vector.token, call, now) {
            Ok(_) => "trusted",
            Err(error) => error.reason(),
        };
        assert_eq!(outcome, vector.expect, "{}", vector.name);
    }
}

#[test]
fn what_is_signed_verifies_for_thirty_seconds() {
    let vectors: Vectors = serde_json::from_str(VECTORS).unwrap();
    let keys = keys(&vectors);
    let now = Timestamp::from_second(1_764_500_000).unwrap();
    let call = ("PUT", "/registry/objects/Swarm/swarm-1", b"{}".as_slice());
    let token = sign_feed(&keys, "drones", call, Uuid::from_u128(1), now).unwrap();
    let claims = verify_feed(&keys.current(), "drones", &token, call, now).unwrap();
    assert_eq!(claims.exp - claims.iat, 30);
    assert_eq!(claims.jti, Uuid::from_u128(1));
}

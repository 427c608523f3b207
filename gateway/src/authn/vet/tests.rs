use jsonwebtoken::Algorithm;
use serde_json::{Value, json};

use super::{KEYS, KeyFault, SetError, Vetted, vet};
use crate::authn::testkit::{SigningKey, encode};

fn vetted(keys: &[Value]) -> Result<Vetted, SetError> {
    vet(json!({"keys": keys}).to_string().as_bytes())
}

/// A key alone in its set is refused for this reason.
fn check(key: &Value, fault: KeyFault) {
    match vetted(std::slice::from_ref(key)).unwrap_err() {
        SetError::Empty(faults) => assert_eq!(faults, [fault], "{key}"),
        other => panic!("{key}: {other}"),
    }
}

fn with(key: &Value, member: &str, value: impl Into<Value>) -> Value {
    let mut changed = key.clone();
    changed[member] = value.into();
    changed
}

fn without(key: &Value, member: &str) -> Value {
    let mut changed = key.clone();
    changed.as_object_mut().unwrap().remove(member);
    changed
}

#[test]
fn each_key_is_bound_to_one_algorithm() {
    for (alg, expected) in [
        ("RS256", Algorithm::RS256),
        ("PS256", Algorithm::PS256),
        ("ES256", Algorithm::ES256),
        ("ES384", Algorithm::ES384),
        ("EdDSA", Algorithm::EdDSA),
    ] {
        let key = SigningKey::new(alg, "k").jwk();
        let set = vetted(std::slice::from_ref(&key)).unwrap();
        assert_eq!(set.keys[0].algorithm(), expected);
        assert_eq!(set.keys[0].kid(), Some("k"));
        assert!(set.left_out.is_empty());
        // Without `alg` the curve decides, and RSA is RS256.
        let set = vetted(&[without(&key, "alg")]).unwrap();
        let bound = set.keys[0].algorithm();
        assert!(bound == expected || (alg == "PS256" && bound == Algorithm::RS256));
    }
}

#[test]
fn a_key_that_does_not_fit_is_left_out() {
    let ec = SigningKey::new("ES256", "k").jwk();
    let rsa = SigningKey::new("RS256", "k").jwk();
    let ed = SigningKey::new("EdDSA", "k").jwk();
    for (key, alg) in [
        (&ec, "ES384"),
        (&ec, "RS256"),
        (&ec, "HS256"),
        (&ec, "none"),
        (&rsa, "ES256"),
        (&rsa, "RS512"),
        (&rsa, "RSA-OAEP"),
        (&ed, "ES256"),
    ] {
        check(&with(key, "alg", alg), KeyFault::Algorithm);
    }
    check(&with(&ec, "crv", "P-384"), KeyFault::Algorithm);
    check(&with(&ec, "crv", "secp256k1"), KeyFault::Algorithm);
    check(&with(&ec, "kty", "RSA"), KeyFault::Algorithm);
    check(&with(&ed, "crv", "X25519"), KeyFault::Algorithm);
    check(&without(&ec, "crv"), KeyFault::Algorithm);
    check(&without(&ec, "kty"), KeyFault::Algorithm);
    check(&with(&ec, "use", "enc"), KeyFault::Use);
    check(&with(&ec, "key_ops", json!(["sign"])), KeyFault::Use);
    check(&with(&ec, "key_ops", "verify"), KeyFault::Use);
    check(&with(&ec, "kid", 1), KeyFault::Member("kid"));
    check(&without(&ec, "y"), KeyFault::Member("y"));
    check(&with(&ec, "x", "AA=="), KeyFault::Member("x"));
    check(&with(&ec, "x", encode([1; 31])), KeyFault::Coordinate);
    check(&with(&ec, "y", encode([1; 33])), KeyFault::Coordinate);
    check(&with(&ed, "x", encode([1; 31])), KeyFault::Coordinate);
    check(&without(&rsa, "n"), KeyFault::Member("n"));
    check(&with(&rsa, "n", encode([0; 256])), KeyFault::Member("n"));
}

#[test]
fn weak_rsa_keys_are_left_out() {
    let rsa = SigningKey::new("RS256", "k").jwk();
    let modulus = |bytes: usize, last: u8| {
        let mut modulus = vec![0xff; bytes];
        modulus[bytes - 1] = last;
        encode(modulus)
    };
    check(&with(&rsa, "n", modulus(128, 1)), KeyFault::Modulus(1024));
    check(&with(&rsa, "n", modulus(1025, 1)), KeyFault::Modulus(8200));
    check(&with(&rsa, "n", modulus(256, 2)), KeyFault::Modulus(2048));
    // Leading zeros do not make a key longer.
    let padded = encode([vec![0; 128], vec![0xff; 128]].concat());
    check(&with(&rsa, "n", padded), KeyFault::Modulus(1024));
    for exponent in [
        &[1][..],
        &[3],
        &[1, 0, 0],
        &[1, 0, 2],
        &[1, 0, 0, 0, 1],
        &[1; 9],
    ] {
        check(&with(&rsa, "e", encode(exponent)), KeyFault::Exponent);
    }
}

#[test]
fn a_set_with_a_fault_of_its_own_is_refused_whole() {
    let good = SigningKey::new("ES256", "k1").jwk();
    let other = SigningKey::new("ES256", "k2").jwk();
    assert_eq!(
        vetted(&[good.clone(), other.clone()]).unwrap().keys.len(),
        2
    );

    let same = with(&other, "kid", "k1");
    assert_eq!(
        vetted(&[good.clone(), same]).unwrap_err(),
        SetError::DuplicateKid("k1".to_owned())
    );
    // A duplicate hides nothing by being unusable itself.
    let unusable = with(&with(&other, "kid", "k1"), "use", "enc");
    assert_eq!(
        vetted(&[good.clone(), unusable]).unwrap_err(),
        SetError::DuplicateKid("k1".to_owned())
    );
    let oct = json!({"kty": "oct", "k": "c2VjcmV0"});
    assert_eq!(
        vetted(&[good.clone(), oct]).unwrap_err(),
        SetError::Symmetric
    );
    let private = with(&other, "d", "AQAB");
    assert_eq!(
        vetted(&[good.clone(), private]).unwrap_err(),
        SetError::Private
    );
    assert_eq!(
        vetted(&vec![good.clone(); KEYS + 1]).unwrap_err(),
        SetError::Many(KEYS + 1)
    );
    assert_eq!(vetted(&[]).unwrap_err(), SetError::Empty(Vec::new()));
    assert_eq!(vetted(&[json!(1)]).unwrap_err(), SetError::Shape);
    assert_eq!(vet(b"{}").unwrap_err(), SetError::Shape);
    assert_eq!(vet(b"[]").unwrap_err(), SetError::Shape);

    // One weak key beside a good one costs only itself.
    let weak = with(&other, "crv", "P-521");
    let set = vetted(&[good, weak]).unwrap();
    assert_eq!((set.keys.len(), set.left_out.len()), (1, 1));
}

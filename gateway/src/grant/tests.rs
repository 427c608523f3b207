//! Grants against the published vectors, and keyrings against bad ones.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_policies::{PrincipalFacts, PrincipalKind, Role};
use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::grant::{
    ApprovalFacts, Crossing, GRANT_LIFE_SECONDS, GrantError, Keyring, KeyringError, Mint, Speaker,
};
use crate::grant::{Keyrings, ReturnedError};
use crate::identity::Identity;

/// The vector that has one.
const STANDING: &str = "a read with the revision that was judged and the standing of its caller";

const VECTORS: &str = include_str!("../../../docs/grant-vectors.json");

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap()
}

fn id(value: &Value, key: &str) -> Option<Uuid> {
    value[key].as_str().map(|text| text.parse().unwrap())
}

fn identity(value: &Value) -> Identity {
    Identity {
        issuer: text(value, "issuer").to_owned(),
        subject: text(value, "subject").to_owned(),
        actor: value["actor"].as_str().map(str::to_owned),
    }
}

/// A mint for `drones` with the vectors' keys, `first` signing.
fn mint(vectors: &Value, first: &str) -> Mint {
    let mut keys: Vec<(&str, &str)> = vectors["keys"]
        .as_array()
        .unwrap()
        .iter()
        .map(|key| (text(key, "kid"), text(key, "secret")))
        .collect();
    keys.sort_by_key(|(kid, _)| *kid != first);
    let line: Vec<String> = keys
        .iter()
        .map(|(kid, key)| format!("{kid}:{key}"))
        .collect();
    let ring = Keyring::parse(&line.join(",")).unwrap();
    Mint::new(in_force("drones", ring))
}

/// What a token said that gave its bearer the vector's standing.
fn facts(caller: &Value) -> Option<PrincipalFacts> {
    let standing = caller.get("standing")?;
    let role = |pair: &Value| {
        let role = Role::named(pair[0].as_str().unwrap());
        (role.unwrap(), pair[1].as_str().unwrap().to_owned())
    };
    let tenants = standing["tenants"].as_array().unwrap().iter();
    Some(PrincipalFacts {
        kind: PrincipalKind::Person,
        issuer: text(caller, "issuer").to_owned(),
        subject: text(caller, "subject").to_owned(),
        actor: None,
        person: None,
        bounds: Vec::new(),
        tenants: tenants.map(|id| id.as_str().unwrap().to_owned()).collect(),
        grants: standing["roles"]
            .as_array()
            .unwrap()
            .iter()
            .map(role)
            .collect(),
        suspended: standing["suspended"].as_bool().unwrap(),
    })
}

/// Mints what the vector's claims say.
fn mint_vector(vectors: &Value, vector: &Value) -> String {
    let claims = &vector["claims"];
    let caller = identity(&claims["caller"]);
    let approval = &claims["approval"];
    let parties = approval.is_object().then(|| {
        (
            identity(&approval["approver"]),
            identity(&approval["proposer"]),
        )
    });
    let millis = |key: &str| Timestamp::from_millisecond(claims[key].as_i64().unwrap()).unwrap();
    let standing = facts(&claims["caller"]);
    let speaker = Speaker {
        kind: text(&claims["caller"], "kind"),
        identity: &caller,
        action: claims["action"].as_str(),
        bundle: text(claims, "bundle"),
        registry: claims["registry"].as_u64().unwrap(),
        revision: claims["revision"].as_u64(),
        standing: standing.as_ref(),
        decision: id(claims, "decision"),
        asked_at: millis("askedAt"),
    };
    let crossing = Crossing {
        row: interlock_surface::row(text(claims, "row")).unwrap(),
        path_and_query: text(claims, "path"),
        body: text(&vector["request"], "body").as_bytes(),
        operation: id(claims, "operation"),
        now: Timestamp::from_second(claims["iat"].as_i64().unwrap()).unwrap(),
        deadline: millis("deadline"),
        approval: parties.as_ref().map(|(approver, proposer)| ApprovalFacts {
            plan: id(approval, "plan").unwrap(),
            digest: text(approval, "digest"),
            approver,
            proposer,
            attempt: u32::try_from(approval["attempt"].as_u64().unwrap()).unwrap(),
            fence: &approval["fence"],
        }),
    };
    let value = mint(vectors, text(&vector["header"], "kid"))
        .sign(id(claims, "jti").unwrap(), &speaker, &crossing)
        .unwrap()
        .into_header();
    assert!(value.is_sensitive());
    value.to_str().unwrap().to_owned()
}

#[test]
fn our_grants_are_the_published_ones_byte_for_byte() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let named = [
        "a write",
        "a dispatch, with what a person approved",
        "a read",
        "a stop",
        STANDING,
        "the second key",
    ];
    for name in named {
        let all = vectors["grants"].as_array().unwrap();
        let vector = all.iter().find(|vector| vector["name"] == name).unwrap();
        assert_eq!(vector["expect"], "granted");
        let life =
            vector["claims"]["exp"].as_i64().unwrap() - vector["claims"]["iat"].as_i64().unwrap();
        assert_eq!(life, GRANT_LIFE_SECONDS);
        assert_eq!(
            mint_vector(&vectors, vector),
            text(vector, "token"),
            "{name}"
        );
    }
}

#[test]
fn a_grant_is_read_back_by_whoever_shares_its_keys() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let find = |name: &str| {
        let all = vectors["grants"].as_array().unwrap();
        all.iter().find(|vector| vector["name"] == name).unwrap()
    };
    let vector = find(STANDING);
    let mint = mint(&vectors, "drones-1");
    let exp = vector["claims"]["exp"].as_i64().unwrap();
    let iat = vector["claims"]["iat"].as_i64().unwrap();
    let back = |service: &str, token: &str, second: i64| {
        mint.returned(service, token, Timestamp::from_second(second).unwrap())
    };
    let told = back("drones", text(vector, "token"), iat).unwrap();
    assert_eq!(
        Some(&told.caller.facts),
        facts(&vector["claims"]["caller"]).as_ref()
    );
    assert_eq!(*told.caller.identity, identity(&vector["claims"]["caller"]));
    assert_eq!(told.row, text(&vector["claims"], "row"));
    assert_eq!(told.decision, id(&vector["claims"], "decision"));

    let check = |service: &str, token: &str, second: i64, expected: ReturnedError| {
        assert_eq!(
            back(service, token, second).unwrap_err(),
            expected,
            "{token} at {second}"
        );
    };
    let token = text(vector, "token");
    assert!(back("drones", token, exp + 5).is_ok());
    check("drones", token, exp + 6, ReturnedError::Time);
    assert!(back("drones", token, iat - 2).is_ok());
    check("drones", token, iat - 3, ReturnedError::Time);
    check("mowers", token, iat, ReturnedError::UnknownKey);
    check("drones", "x", iat, ReturnedError::Malformed);
    let named = |name: &str| text(find(name), "token");
    check("drones", named("a write"), iat, ReturnedError::NoStanding);
    check(
        "drones",
        named("another issuer"),
        iat,
        ReturnedError::Signature,
    );
    check(
        "drones",
        named("another audience"),
        iat,
        ReturnedError::Signature,
    );
    check(
        "drones",
        named("signed with another key"),
        iat,
        ReturnedError::Signature,
    );
    check(
        "drones",
        named("claims changed after signing"),
        iat,
        ReturnedError::Signature,
    );
    check(
        "drones",
        named("a feed token"),
        iat,
        ReturnedError::Malformed,
    );
    check(
        "drones",
        named("an unknown key id"),
        iat,
        ReturnedError::UnknownKey,
    );
}

#[test]
fn a_changed_claim_is_another_token() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let vector = &vectors["grants"][0];
    let mut changed = vector.clone();
    changed["claims"]["path"] = "/api/missions?x".into();
    assert_ne!(mint_vector(&vectors, &changed), text(vector, "token"));
    let mut changed = vector.clone();
    changed["request"]["body"] = "{}".into();
    assert_ne!(mint_vector(&vectors, &changed), text(vector, "token"));
}

#[test]
fn the_published_token_verifies_with_our_keys_and_no_other_does() {
    let vectors: Value = serde_json::from_str(VECTORS).unwrap();
    let token = text(&vectors["grants"][0], "token");
    let (message, signature) = token.rsplit_once('.').unwrap();
    let key = |index: usize| {
        let key = &vectors["keys"][index];
        Keyring::parse(&format!("{}:{}", text(key, "kid"), text(key, "secret"))).unwrap()
    };
    let verified = |ring: &Keyring, kid: &str| {
        jsonwebtoken::crypto::verify(
            signature,
            message.as_bytes(),
            ring.decoding_key(kid).unwrap(),
            jsonwebtoken::Algorithm::HS256,
        )
        .unwrap()
    };
    assert!(verified(&key(0), "drones-1"));
    assert!(!verified(&key(1), "drones-2"));
    assert!(key(0).decoding_key("drones-2").is_none());
}

#[test]
fn a_service_without_keys_gets_no_grant() {
    let mint = Mint::new(in_force("mowers", Keyring::parse(&key("m", 32)).unwrap()));
    let settled = mint.settling("gateway-1", "", &settling("drones.internal.settle"));
    assert!(matches!(settled, Err(GrantError::NoKey(service)) if service == "drones"));
}

#[test]
fn only_an_internal_row_is_called_without_a_permit() {
    let mint = Mint::new(in_force("drones", Keyring::parse(&key("d", 32)).unwrap()));
    let call = |row| mint.settling("gateway-1", "", &settling(row));
    assert!(call("drones.internal.settle").is_ok());
    let refused = call("drones.mission.start");
    assert!(matches!(
        refused,
        Err(GrantError::NotInternal("drones.mission.start"))
    ));
}

fn settling(row: &str) -> Crossing<'static> {
    Crossing {
        row: interlock_surface::row(row).unwrap(),
        path_and_query: "/",
        body: &[],
        operation: None,
        now: Timestamp::UNIX_EPOCH,
        deadline: Timestamp::UNIX_EPOCH,
        approval: None,
    }
}

fn in_force(service: &str, ring: Keyring) -> Keyrings {
    let rings = HashMap::from([(service.to_owned(), ring)]);
    Arc::new(ArcSwap::from_pointee(rings))
}

fn key(kid: &str, bytes: usize) -> String {
    format!("{kid}:{}", URL_SAFE_NO_PAD.encode(vec![7; bytes]))
}

#[test]
fn bad_keyrings_are_refused_without_their_secrets() {
    let check = |line: &str, expected: KeyringError| {
        let fault = Keyring::parse(line).unwrap_err();
        let secret = line.split(':').next_back().unwrap();
        let said = fault.to_string();
        assert!(secret.is_empty() || !said.contains(secret), "{said}");
        assert_eq!(fault, expected);
    };
    let kid = |kid: &str| kid.to_owned();
    check("", KeyringError::Empty { place: 1 });
    check(
        &format!("{},", key("a", 32)),
        KeyringError::Empty { place: 2 },
    );
    check("c2VjcmV0", KeyringError::NoId { place: 1 });
    check(&key("", 32), KeyringError::BadId { place: 1 });
    check(&key("a b", 32), KeyringError::BadId { place: 1 });
    check(&key("a\"", 32), KeyringError::BadId { place: 1 });
    check(&key(&"a".repeat(65), 32), KeyringError::BadId { place: 1 });
    check("a:not+base64/", KeyringError::NotBase64 { kid: kid("a") });
    check(
        &key("a", 31),
        KeyringError::TooShort {
            kid: kid("a"),
            bytes: 31,
        },
    );
    check(
        &format!("{},{}", key("a", 32), key("a", 33)),
        KeyringError::Duplicate { kid: kid("a") },
    );
}

#[test]
fn a_keyring_prints_no_secret() {
    let ring = Keyring::parse(&format!("{}, {}", key("a", 32), key("b", 40))).unwrap();
    assert_eq!(format!("{ring:?}"), r#"["a:***", "b:***"]"#);
}

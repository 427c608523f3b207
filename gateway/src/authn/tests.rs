use http::HeaderMap;
use http::header::{AUTHORIZATION, COOKIE, HeaderValue};
use interlock_policies::{INSTALLATION, Mode, PrincipalKind, Role};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};

use super::bearer::BearerError;
use super::jws::JwsError;
use super::principal::ClaimsError;
use super::testkit::{Idp, NOW, SigningKey, at, bearer, claims, encode};
use super::{Authenticator, AuthnError};
use crate::config::auth::AuthConfig;

async fn enforced(keys: &[&SigningKey]) -> (Idp, Authenticator) {
    let idp = Idp::start(keys).await;
    let config = AuthConfig {
        mode: Mode::Enforced,
        issuers: vec![idp.config()],
    };
    let authenticator = Authenticator::from_config(&config, None).unwrap();
    (idp, authenticator)
}

async fn check(authenticator: &Authenticator, token: &str, expected: Result<(), AuthnError>) {
    let answer = authenticator.caller(&bearer(token), at(0)).await;
    assert_eq!(answer.map(drop), expected, "{token}");
}

#[tokio::test]
async fn every_algorithm_verifies_with_its_own_key() {
    let keys = ["RS256", "PS256", "ES256", "ES384", "EdDSA"].map(|alg| SigningKey::new(alg, alg));
    let (idp, authenticator) = enforced(&keys.each_ref()).await;
    for key in &keys {
        check(&authenticator, &key.token(&claims(&idp.url)), Ok(())).await;
        // The same key under every other name of an algorithm.
        for alg in [
            "RS256", "PS256", "ES256", "ES384", "EdDSA", "RS512", "HS256", "none", "NoNe", "es256",
            "",
        ] {
            if alg == key.alg() {
                continue;
            }
            let header = json!({"alg": alg, "kid": key.kid, "typ": "at+jwt"});
            let token = key.sign(&header, &claims(&idp.url));
            check(&authenticator, &token, Err(JwsError::Algorithm.into())).await;
        }
        // The public key as HMAC secret, through a library that does as told.
        let secret = EncodingKey::from_secret(&key.der()).unwrap();
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some(key.kid.clone());
        header.typ = Some("at+jwt".to_owned());
        let token = jsonwebtoken::encode(&header, &claims(&idp.url), &secret).unwrap();
        check(&authenticator, &token, Err(JwsError::Algorithm.into())).await;
    }
}

#[tokio::test]
async fn a_caller_is_what_the_token_says() {
    let key = SigningKey::new("ES256", "k1");
    let (idp, authenticator) = enforced(&[&key]).await;
    let headers = bearer(&key.token(&claims(&idp.url)));
    let caller = authenticator.caller(&headers, at(0)).await.unwrap();
    assert_eq!(caller.identity.issuer, idp.url);
    assert_eq!(caller.identity.subject, "alice");
    assert_eq!(caller.kind, PrincipalKind::Person);
    assert_eq!(caller.facts.tenants, ["acme"]);
    assert_eq!(caller.facts.grants, [(Role::OPERATOR, "acme".to_owned())]);
    assert!(caller.token_digest.is_some());

    // The second time from the cache, until the token ends.
    let again = authenticator.caller(&headers, at(304)).await.unwrap();
    assert!(std::sync::Arc::ptr_eq(&caller, &again));
    let late = authenticator.caller(&headers, at(305)).await;
    assert_eq!(late.unwrap_err(), ClaimsError::Expired.into());
}

#[tokio::test]
async fn no_token_is_nobody() {
    let (_idp, authenticator) = enforced(&[&SigningKey::new("ES256", "k1")]).await;
    let mut headers = HeaderMap::new();
    headers.insert(COOKIE, HeaderValue::from_static("token=a.b.c"));
    let caller = authenticator.caller(&headers, at(0)).await.unwrap();
    assert_eq!(caller.kind, PrincipalKind::Anonymous);
    assert!(caller.facts.tenants.is_empty() && caller.facts.grants.is_empty());
    assert!(caller.facts.actor.is_none());
}

#[tokio::test]
async fn a_present_and_bad_token_is_an_error() {
    let key = SigningKey::new("ES256", "k1");
    let (idp, authenticator) = enforced(&[&key]).await;
    let good = key.token(&claims(&idp.url));
    check(&authenticator, &good, Ok(())).await;

    let (head, signature) = good.rsplit_once('.').unwrap();
    let (header, payload) = head.split_once('.').unwrap();
    let other = encode(claims(&idp.url).to_string().replace("alice", "mallory"));
    for (token, error) in [
        (format!("{header}.{payload}"), JwsError::Encoding),
        (format!("{header}.{payload}."), JwsError::Encoding),
        (format!("{good}.{signature}"), JwsError::Encoding),
        (format!("{header}..{signature}"), JwsError::Encoding),
        (format!("{header}.{other}.{signature}"), JwsError::Signature),
        (format!("{head}.{}", encode([0; 64])), JwsError::Signature),
        (format!("{head}.{}", encode([7; 63])), JwsError::Signature),
    ] {
        // An empty payload fails as claims, before any signature is looked at.
        let answer = authenticator.caller(&bearer(&token), at(0)).await;
        match answer.unwrap_err() {
            AuthnError::Jws(found) => assert_eq!(found, error, "{token}"),
            AuthnError::Claims(ClaimsError::Json(_)) => assert!(payload_of(&token).is_empty()),
            other => panic!("{token}: {other}"),
        }
    }

    let mut basic = HeaderMap::new();
    basic.insert(AUTHORIZATION, HeaderValue::from_static("Basic YTpi"));
    let answer = authenticator.caller(&basic, at(0)).await;
    assert_eq!(answer.unwrap_err(), BearerError::Scheme.into());
}

fn payload_of(token: &str) -> &str {
    token.split('.').nth(1).unwrap()
}

#[tokio::test]
async fn one_encoding_of_a_signature_is_accepted() {
    let key = SigningKey::new("ES256", "k1");
    let (idp, authenticator) = enforced(&[&key]).await;
    let good = key.token(&claims(&idp.url));
    // 64 bytes leave four unused bits in the last character.
    let (start, last) = good.split_at(good.len() - 1);
    let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let place = alphabet.find(last).unwrap();
    for stray in 1..16 {
        let stray = alphabet.chars().nth(place + stray).unwrap();
        let sloppy = format!("{start}{stray}");
        check(&authenticator, &sloppy, Err(JwsError::Encoding.into())).await;
    }
    let padded = format!("{good}==");
    check(&authenticator, &padded, Err(BearerError::Malformed.into())).await;
    check(&authenticator, &good, Ok(())).await;
}

#[tokio::test]
async fn the_header_holds_no_surprises() {
    let (first, second) = (
        SigningKey::new("ES256", "k1"),
        SigningKey::new("ES256", "k2"),
    );
    let (idp, authenticator) = enforced(&[&first, &second]).await;
    let check = async |change: Value, expected: Result<(), AuthnError>| {
        let mut header = json!({"alg": "ES256", "kid": "k1", "typ": "at+jwt"});
        for (name, value) in change.as_object().unwrap() {
            match value {
                Value::Null => header.as_object_mut().unwrap().remove(name),
                value => header
                    .as_object_mut()
                    .unwrap()
                    .insert(name.clone(), value.clone()),
            };
        }
        check(
            &authenticator,
            &first.sign(&header, &claims(&idp.url)),
            expected,
        )
        .await;
    };
    check(json!({}), Ok(())).await;
    check(json!({"typ": "AT+JWT"}), Ok(())).await;
    check(json!({"typ": "application/at+jwt"}), Ok(())).await;
    // An ID token, a logout token, a proof of possession, or none of them.
    for typ in ["JWT", "logout+jwt", "dpop+jwt", "at", ""] {
        check(json!({"typ": typ}), Err(JwsError::Type.into())).await;
    }
    check(json!({"typ": null}), Err(JwsError::Type.into())).await;
    check(json!({"typ": 1}), Err(JwsError::Member("typ").into())).await;
    check(json!({"alg": null}), Err(JwsError::Member("alg").into())).await;
    check(
        json!({"crit": ["exp"]}),
        Err(JwsError::Extension("crit").into()),
    )
    .await;
    check(
        json!({"b64": false}),
        Err(JwsError::Extension("b64").into()),
    )
    .await;
    // Two keys: the token has to say which.
    check(json!({"kid": null}), Err(AuthnError::UnknownKey)).await;
    check(json!({"kid": "k2"}), Err(JwsError::Signature.into())).await;
    check(json!({"kid": "../k1"}), Err(AuthnError::UnknownKey)).await;
    // A key or an address that the token brings along changes nothing.
    let fetches = idp.fetches();
    let mallory = SigningKey::new("ES256", "k1");
    let header = json!({
        "alg": "ES256", "kid": "k1", "typ": "at+jwt",
        "jwk": mallory.jwk(), "jku": "http://127.0.0.1:1/", "x5u": "http://127.0.0.1:1/",
    });
    let brought = mallory.sign(&header, &claims(&idp.url));
    let answer = authenticator.caller(&bearer(&brought), at(0)).await;
    assert_eq!(answer.unwrap_err(), JwsError::Signature.into());
    assert_eq!(idp.fetches(), fetches);
}

#[tokio::test]
async fn a_single_key_may_go_without_an_id() {
    let key = SigningKey::new("ES256", "k1");
    let (idp, authenticator) = enforced(&[&key]).await;
    let header = json!({"alg": "ES256", "typ": "at+jwt"});
    let token = key.sign(&header, &claims(&idp.url));
    check(&authenticator, &token, Ok(())).await;
}

#[tokio::test]
async fn claims_are_checked_after_the_signature() {
    let key = SigningKey::new("ES256", "k1");
    let (idp, authenticator) = enforced(&[&key]).await;
    let mut expired = claims(&idp.url);
    expired["exp"] = json!(NOW - 60);
    let error = ClaimsError::Expired.into();
    check(&authenticator, &key.token(&expired), Err(error)).await;
    let mallory = SigningKey::new("ES256", "k1");
    let error = JwsError::Signature.into();
    check(&authenticator, &mallory.token(&expired), Err(error)).await;
    for issuer in ["https://other.example", &format!("{}/", idp.url)] {
        let token = key.token(&claims(issuer));
        check(&authenticator, &token, Err(AuthnError::UnknownIssuer)).await;
    }
}

#[tokio::test]
async fn in_open_mode_everybody_is_the_local_operator() {
    let authenticator = Authenticator::open();
    for headers in [HeaderMap::new(), bearer("not.a.token")] {
        let caller = authenticator.caller(&headers, at(0)).await.unwrap();
        assert_eq!(caller.identity.issuer, "local");
        assert_eq!(caller.identity.subject, "operator");
        assert_eq!(caller.kind, PrincipalKind::Person);
        assert_eq!(caller.facts.tenants, [INSTALLATION]);
        let everywhere = Role::BUILT_IN.map(|role| (role, INSTALLATION.to_owned()));
        assert_eq!(caller.facts.grants, everywhere);
    }
    assert!(authenticator.keys(at(0)).is_empty());
}

/// The pipeline works detached from the connection, on any thread.
#[test]
fn telling_a_caller_can_move_between_threads() {
    fn check(_: impl Send) {}
    check(Authenticator::open().caller(&HeaderMap::new(), at(0)));
}

#[test]
fn nothing_of_a_token_shows_in_debug_or_errors() {
    let token = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.c2ln";
    let shown = [
        format!("{:?}", super::cache::TokenDigest::of(token)),
        AuthnError::from(JwsError::Signature).to_string(),
    ];
    for shown in shown {
        assert!(!shown.contains("eyJ"), "{shown}");
    }
}

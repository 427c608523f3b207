use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use http::HeaderMap;
use serde_json::{Value, json};

use super::IssuerKeys;
use crate::authn::testkit::{Answer, Idp, SigningKey, at, bearer, claims, set};
use crate::authn::{Authenticator, AuthnError};
use crate::config::auth::IssuerConfig;

fn authenticator(idp: &Idp) -> Authenticator {
    let config = idp.config();
    let keys = IssuerKeys::new(&config, None).unwrap();
    Authenticator::enforced(vec![(config, keys)])
}

fn good(idp: &Idp, key: &SigningKey, subject: &str) -> HeaderMap {
    let mut claims = claims(&idp.url);
    claims["sub"] = subject.into();
    claims["exp"] = json!(at(1_000_000).as_second());
    bearer(&key.token(&claims))
}

async fn check(
    authenticator: &Authenticator,
    headers: &HeaderMap,
    seconds: i64,
    expected: Result<(), AuthnError>,
) {
    let answer = authenticator.caller(headers, at(seconds)).await;
    assert_eq!(answer.map(drop), expected, "at {seconds} s");
}

#[tokio::test]
async fn a_new_key_works_after_one_cooldown_and_an_old_one_goes_with_its_set() {
    let (first, second) = (
        SigningKey::new("ES256", "k1"),
        SigningKey::new("ES256", "k2"),
    );
    let idp = Idp::start(&[&first]).await;
    let authenticator = authenticator(&idp);
    let (old, new) = (good(&idp, &first, "alice"), good(&idp, &second, "alice"));
    check(&authenticator, &old, 0, Ok(())).await;

    idp.publish(&[&first, &second]);
    check(&authenticator, &new, 29, Err(AuthnError::UnknownKey)).await;
    assert_eq!(idp.fetches(), 1);
    check(&authenticator, &new, 30, Ok(())).await;
    check(&authenticator, &old, 30, Ok(())).await;
    assert_eq!(idp.fetches(), 2);

    idp.publish(&[&second]);
    // Not due before the refresh period is over.
    authenticator.refresh_if_due(at(329)).await;
    check(&authenticator, &old, 329, Ok(())).await;
    authenticator.refresh_if_due(at(330)).await;
    check(&authenticator, &old, 330, Err(AuthnError::UnknownKey)).await;
    check(&authenticator, &new, 330, Ok(())).await;
}

#[tokio::test]
async fn a_good_set_is_never_replaced_by_a_failed_fetch() {
    let key = SigningKey::new("ES256", "k1");
    let idp = Idp::start(&[&key]).await;
    let authenticator = authenticator(&idp);
    let token = good(&idp, &key, "alice");
    check(&authenticator, &token, 0, Ok(())).await;

    let jwk = key.jwk();
    let oct = json!({"kty": "oct", "k": "c2VjcmV0", "kid": "s"});
    let faults = [
        (Answer::Status(500), "answered 500"),
        (Answer::Status(204), "answered 204"),
        (
            Answer::Redirect(format!("{}/elsewhere", idp.url)),
            "answered 307",
        ),
        (
            Answer::Text(vec![b' '; 10_000_000]),
            "larger than 262144 bytes",
        ),
        (Answer::Text(b"<html>".to_vec()), "not JSON"),
        (
            Answer::Text(br#"{"keys":[],"keys":[]}"#.to_vec()),
            "`keys` is given more than once",
        ),
        (Answer::Keys(json!({"keys": []})), "no usable key"),
        (
            Answer::Keys(json!({"keys": [jwk, jwk]})),
            "more than one key with the id `k1`",
        ),
        (Answer::Keys(json!({"keys": [jwk, oct]})), "symmetric key"),
        (Answer::Keys(json!({"keys": vec![oct; 101]})), "101 keys"),
    ];
    let mut now = 0;
    for (answer, fault) in faults {
        idp.answer(answer);
        now += 300;
        authenticator.refresh_if_due(at(now)).await;
        let status = authenticator.keys(at(now)).remove(0);
        let said = status.fault.unwrap();
        assert!(said.contains(fault), "{said}");
        assert_eq!(status.keys, 1);
        // A subject of its own, so that the token is not in the cache.
        check(&authenticator, &good(&idp, &key, fault), now, Ok(())).await;
    }
    let status = authenticator.keys(at(now)).remove(0);
    assert!(status.stale);
    assert_eq!(status.age, Some(jiff::SignedDuration::from_secs(now)));

    idp.publish(&[&key]);
    authenticator.refresh_if_due(at(now + 300)).await;
    let status = authenticator.keys(at(now + 300)).remove(0);
    assert_eq!((status.fault, status.stale), (None, false));
}

#[tokio::test]
async fn an_issuer_that_hangs_is_given_up() {
    let key = SigningKey::new("ES256", "k1");
    let idp = Idp::start(&[&key]).await;
    let state = tempfile::tempdir().unwrap();
    let before = IssuerKeys::new(&idp.config(), Some(state.path())).unwrap();
    before.refresh_if_due(at(0)).await;

    // The set is there from disk, so that the short wait is for the hang alone.
    idp.answer(Answer::Hang);
    let config = IssuerConfig {
        fetch_timeout: Duration::from_millis(1),
        ..idp.config()
    };
    let keys = IssuerKeys::new(&config, Some(state.path())).unwrap();
    let authenticator = Authenticator::enforced(vec![(config, keys)]);
    authenticator.refresh_if_due(at(300)).await;
    let status = authenticator.keys(at(300)).remove(0);
    assert!(status.fault.unwrap().contains("no answer from the issuer"));
    let token = good(&idp, &key, "alice");
    check(&authenticator, &token, 300, Ok(())).await;
}

#[tokio::test]
async fn a_thousand_unknown_keys_cause_one_fetch_per_cooldown() {
    let key = SigningKey::new("ES256", "k1");
    let idp = Idp::start(&[&key]).await;
    let authenticator = Arc::new(authenticator(&idp));
    check(&authenticator, &good(&idp, &key, "first"), 0, Ok(())).await;
    idp.answer(Answer::Status(500));

    for (round, seconds) in [(1, 30), (2, 60)] {
        let asked = (0..1_000).map(|number| {
            let header = json!({"alg": "ES256", "kid": format!("x{number}"), "typ": "at+jwt"});
            let forged = bearer(&key.sign(&header, &claims(&idp.url)));
            let good = good(&idp, &key, &format!("{round}-{number}"));
            let authenticator = Arc::clone(&authenticator);
            async move {
                check(
                    &authenticator,
                    &forged,
                    seconds,
                    Err(AuthnError::UnknownKey),
                )
                .await;
                check(&authenticator, &good, seconds, Ok(())).await;
            }
        });
        futures_util::future::join_all(asked).await;
        assert_eq!(idp.fetches(), 1 + round);
    }
}

#[tokio::test]
async fn a_fetch_never_holds_up_a_known_key() {
    let key = SigningKey::new("ES256", "k1");
    let idp = Idp::start(&[&key]).await;
    let authenticator = authenticator(&idp);
    check(&authenticator, &good(&idp, &key, "first"), 0, Ok(())).await;

    idp.answer(Answer::Hang);
    let header = json!({"alg": "ES256", "kid": "unknown", "typ": "at+jwt"});
    let forged = bearer(&key.sign(&header, &claims(&idp.url)));
    let mut waiting = Box::pin(authenticator.caller(&forged, at(30)));
    assert!((&mut waiting).now_or_never().is_none());
    // Answered in a single poll, while the fetch hangs.
    let good = good(&idp, &key, "second");
    let answer = authenticator.caller(&good, at(30)).now_or_never();
    assert_eq!(answer.unwrap().unwrap().identity.subject, "second");
    assert!((&mut waiting).now_or_never().is_none());
}

#[tokio::test]
async fn a_caller_that_hangs_up_does_not_cut_the_fetch_off() {
    let key = SigningKey::new("ES256", "k1");
    let idp = Idp::start(&[&key]).await;
    let authenticator = authenticator(&idp);
    let token = good(&idp, &key, "alice");
    assert!(authenticator.caller(&token, at(0)).now_or_never().is_none());
    // The second caller joins the fetch of the first, inside its cooldown.
    check(&authenticator, &token, 1, Ok(())).await;
    assert_eq!(idp.fetches(), 1);
}

#[tokio::test]
async fn a_restart_without_the_issuer_still_verifies() {
    let key = SigningKey::new("ES256", "k1");
    let idp = Idp::start(&[&key]).await;
    let config = idp.config();
    let state = tempfile::tempdir().unwrap();
    let token = good(&idp, &key, "alice");
    let start = || {
        let keys = IssuerKeys::new(&config, Some(state.path())).unwrap();
        Authenticator::enforced(vec![(config.clone(), keys)])
    };
    check(&start(), &token, 0, Ok(())).await;

    idp.stop();
    let restarted = start();
    assert_eq!(
        restarted
            .caller(&token, at(900))
            .now_or_never()
            .unwrap()
            .unwrap()
            .identity
            .subject,
        "alice"
    );
    let status = restarted.keys(at(900)).remove(0);
    assert_eq!((status.keys, status.stale, status.fetches), (1, true, 0));

    // A damaged file is not trusted, and keeps nothing down.
    let file = std::fs::read_dir(state.path().join("keys"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    let saved = std::fs::read_to_string(file.path()).unwrap();
    for damaged in [
        "",
        "{}",
        &saved.replace("ES256", "HS256"),
        &saved.replace(&idp.url, "other"),
    ] {
        std::fs::write(file.path(), damaged).unwrap();
        check(&start(), &token, 900, Err(AuthnError::KeysUnavailable)).await;
    }
    std::fs::write(file.path(), &saved).unwrap();
    check(&start(), &token, 900, Ok(())).await;
}

#[tokio::test]
async fn a_document_of_another_issuer_or_address_is_refused() {
    let key = SigningKey::new("ES256", "k1");
    let idp = Idp::start(&[&key]).await;
    let token = good(&idp, &key, "alice");
    let fault = async || {
        let authenticator = authenticator(&idp);
        check(&authenticator, &token, 0, Err(AuthnError::KeysUnavailable)).await;
        assert_eq!(idp.fetches(), 0);
        authenticator.keys(at(0)).remove(0).fault.unwrap()
    };
    idp.name_issuer(&format!("{}/", idp.url));
    assert!(fault().await.contains("names another issuer"));
    idp.name_issuer(&idp.url);
    for address in ["http://169.254.169.254/keys", "file:///etc/passwd", "keys"] {
        idp.name_jwks_uri(address);
        assert!(
            fault().await.contains("is not an `https` address"),
            "{address}"
        );
    }
    idp.name_jwks_uri(&format!("{}/keys", idp.url));
    check(&authenticator(&idp), &token, 0, Ok(())).await;
}

#[tokio::test]
async fn one_issuers_key_does_not_vouch_for_another() {
    let (first, second) = (SigningKey::new("ES256", "1"), SigningKey::new("ES256", "1"));
    let (one, two) = (Idp::start(&[&first]).await, Idp::start(&[&second]).await);
    let issuers = [&one, &two].map(|idp| {
        let config = idp.config();
        let keys = IssuerKeys::new(&config, None).unwrap();
        (config, keys)
    });
    let authenticator = Authenticator::enforced(issuers.to_vec());
    check(&authenticator, &good(&one, &first, "alice"), 0, Ok(())).await;
    check(&authenticator, &good(&two, &second, "alice"), 0, Ok(())).await;
    let crossed = bearer(&second.token(&claims(&one.url)));
    let wrong = AuthnError::Jws(crate::authn::jws::JwsError::Signature);
    check(&authenticator, &crossed, 0, Err(wrong)).await;
}

#[tokio::test]
async fn the_first_set_is_asked_for_every_second() {
    let key = SigningKey::new("ES256", "k1");
    let idp = Idp::start(&[&key]).await;
    let authenticator = authenticator(&idp);
    let token = good(&idp, &key, "alice");
    idp.answer(Answer::Status(503));
    let unavailable = || Err(AuthnError::KeysUnavailable);
    check(&authenticator, &token, 0, unavailable()).await;
    idp.publish(&[&key]);
    check(&authenticator, &token, 0, unavailable()).await;
    assert_eq!(idp.fetches(), 1);
    check(&authenticator, &token, 1, Ok(())).await;
}

#[tokio::test]
async fn a_clock_set_back_does_not_stop_the_refreshing() {
    let (first, second) = (
        SigningKey::new("ES256", "k1"),
        SigningKey::new("ES256", "k2"),
    );
    let idp = Idp::start(&[&first]).await;
    let authenticator = authenticator(&idp);
    check(&authenticator, &good(&idp, &first, "alice"), 3_600, Ok(())).await;
    idp.publish(&[&second]);
    check(&authenticator, &good(&idp, &second, "alice"), 0, Ok(())).await;
    authenticator.refresh_if_due(at(-60)).await;
    assert_eq!(idp.fetches(), 3);
}

#[tokio::test]
async fn an_unchanged_set_keeps_verified_tokens() {
    let key = SigningKey::new("ES256", "k1");
    let idp = Idp::start(&[&key]).await;
    let keys = IssuerKeys::new(&idp.config(), None).unwrap();
    keys.refresh_if_due(at(0)).await;
    assert_eq!(keys.generation(), 1);
    keys.refresh_if_due(at(300)).await;
    assert_eq!((keys.generation(), idp.fetches()), (1, 2));
    let other: Value = set(&[&SigningKey::new("ES256", "k1")]);
    idp.answer(Answer::Keys(other));
    keys.refresh_if_due(at(600)).await;
    assert_eq!(keys.generation(), 2);
}

//! Tokens that are not what they say.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use interlock_tests::idp::{Algorithm, Idp, Mood, SigningKey};
use interlock_tests::personas::{ACCOUNT, Persona};
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};
use jsonwebtoken::{EncodingKey, Header};
use serde_json::{Value, json};

use crate::personas::stage::route;

/// The header of a good token, to be spoilt.
fn header(idp: &Idp) -> Header {
    let mut header = Header::new(jsonwebtoken::Algorithm::ES256);
    header.typ = Some("at+jwt".to_owned());
    header.kid = Some(idp.current().id().to_owned());
    header
}

/// `header.payload` of the operator's token with another header.
fn unsigned(header: &Value, token: &str) -> String {
    let header = URL_SAFE_NO_PAD.encode(header.to_string());
    format!("{header}.{}", token.split('.').nth(1).expect("a payload"))
}

async fn status(system: &System, authorization: &str) -> u16 {
    let call = system.gateway().http().post("/api/mission-plans");
    let call = call.header("authorization", authorization).json(&route());
    call.send().await.status
}

#[tokio::test]
async fn a_token_that_is_not_what_it_says_is_401() {
    let system = System::start(Plan::ENFORCED).await;
    let idp = &system.idp;
    let claims = || idp.claims("olivia").with_roles(ACCOUNT, &["operator"]);
    let good = idp.sign(&claims());
    let key = idp.current();
    let id = key.id().to_owned();
    let x = URL_SAFE_NO_PAD
        .decode(key.public()["x"].as_str().unwrap())
        .unwrap();
    let y = URL_SAFE_NO_PAD
        .decode(key.public()["y"].as_str().unwrap())
        .unwrap();
    let coordinates = [&[4][..], &x, &y].concat();
    let hmac = |secret: &[u8]| {
        let mut header = header(idp);
        header.alg = jsonwebtoken::Algorithm::HS256;
        let payload: Value = serde_json::from_slice(
            &URL_SAFE_NO_PAD
                .decode(good.split('.').nth(1).unwrap())
                .unwrap(),
        )
        .unwrap();
        let key = EncodingKey::from_secret(secret).unwrap();
        jsonwebtoken::encode(&header, &payload, &key).unwrap()
    };
    let none = |alg: &str| {
        let header = json!({ "alg": alg, "typ": "at+jwt", "kid": id });
        format!("{}.", unsigned(&header, &good))
    };
    let typed = |typ: Option<&str>| {
        let mut header = header(idp);
        header.typ = typ.map(str::to_owned);
        key.sign_with(&header, &claims())
    };
    let other = Idp::start();
    let twin = SigningKey::generate(&id, Algorithm::Es256);
    let eddsa = SigningKey::generate(&id, Algorithm::EdDsa);
    let signature = good.rsplit('.').next().unwrap().to_owned();
    let with_key = {
        let header = json!({ "alg": "ES256", "typ": "at+jwt", "kid": id, "jwk": twin.public() });
        format!("{}.{signature}", unsigned(&header, &good))
    };
    let before = system.upstream.bytes_to_target();
    for (id, token) in [
        (
            "B37 HS256 with the public key's JSON",
            hmac(key.public().to_string().as_bytes()),
        ),
        ("B37 HS256 with the coordinates", hmac(&coordinates)),
        ("B37 HS256 with x alone", hmac(&x)),
        ("B37 none", none("none")),
        ("B37 None", none("NoNe")),
        ("B37 no algorithm", none("")),
        (
            "B37 none, with the old signature",
            none("none") + &signature,
        ),
        ("B37 another algorithm of the key", {
            let header = json!({ "alg": "EdDSA", "typ": "at+jwt", "kid": key.id() });
            format!("{}.{signature}", unsigned(&header, &good))
        }),
        ("B37 another key with the id", twin.sign(&claims())),
        ("B37 another kind of key with the id", eddsa.sign(&claims())),
        ("B37 with a key of its own", with_key),
        ("B38 another issuer's key", other.current().sign(&claims())),
        (
            "B38 another issuer",
            other.sign(&other.claims("olivia").with_roles(ACCOUNT, &["operator"])),
        ),
        (
            "B38 the issuer in another case",
            idp.sign(&claims().with("iss", idp.issuer().to_uppercase())),
        ),
        (
            "B38 the issuer with a slash",
            idp.sign(&claims().with("iss", format!("{}/", idp.issuer()))),
        ),
        ("B43 an ID token", typed(Some("JWT"))),
        ("B43 no type", typed(None)),
        ("B43 a proof of possession", typed(Some("dpop+jwt"))),
        ("B43 a logout token", typed(Some("logout+jwt"))),
        (
            "B43 another audience",
            idp.sign(&claims().with("aud", "another-service")),
        ),
        ("B43 no audience", idp.sign(&claims().without("aud"))),
        ("B43 no end", idp.sign(&claims().without("exp"))),
        ("B43 no subject", idp.sign(&claims().without("sub"))),
        (
            "B43 a subject that is no text",
            idp.sign(&claims().with("sub", 7)),
        ),
        (
            "B43 not yet",
            idp.sign(&claims().with("nbf", 99_999_999_999_i64)),
        ),
        ("cut", good[..good.len() - 1].to_owned()),
        ("padded", format!("{good}=")),
        ("four parts", format!("{good}.x")),
        ("empty", ".".to_owned()),
    ] {
        assert_eq!(
            status(&system, &format!("Bearer {token}")).await,
            401,
            "{id}"
        );
    }
    for (id, authorization) in [
        (
            "B20 two tokens in one line",
            format!("Bearer {good}, Bearer {good}"),
        ),
        ("another scheme", format!("Basic {good}")),
        ("no scheme", good.clone()),
        ("a token and more", format!("Bearer {good} x")),
    ] {
        let status = status(&system, &authorization).await;
        assert!([400, 401].contains(&status), "{id}: {status}");
    }
    assert_eq!(
        system.upstream.bytes_to_target(),
        before,
        "nothing was sent"
    );
    assert_eq!(status(&system, &format!("Bearer {good}")).await, 201);
}

/// A good key set stands whatever becomes of the provider, and a thousand bad
/// tokens ask it hardly anything.
#[tokio::test]
async fn a_provider_in_trouble_is_asked_once_per_cooldown() {
    let system = System::start(Plan::ENFORCED).await;
    let good = format!("Bearer {}", Persona::Proposer.token(&system.idp).unwrap());
    assert_eq!(status(&system, &good).await, 201);
    let asked = system.idp.fetches();
    for mood in [
        Mood::Failing,
        Mood::Hanging,
        Mood::Huge,
        Mood::Garbage("{\"keys\":[]}".to_owned()),
    ] {
        system.idp.set(mood.clone());
        for number in 0..50 {
            let stranger = SigningKey::generate(
                &format!("stranger-{}-{number}", system.idp.fetches()),
                Algorithm::Es256,
            );
            let bad = stranger.sign(&system.idp.claims("olivia"));
            assert_eq!(
                status(&system, &format!("Bearer {bad}")).await,
                401,
                "B40 {mood:?}"
            );
        }
        let read = system.get(Persona::Viewer, "/api/swarm/state").await;
        assert_eq!(read.status, 200, "B40 {mood:?}");
    }
    let more = system.idp.fetches() - asked;
    assert!(
        more <= 3,
        "B40 {more} fetches for 200 unknown keys within one cooldown"
    );
}

/// A key that was added is known after one look.
#[tokio::test]
async fn a_new_key_works_without_a_restart() {
    let system = System::start(Plan::ENFORCED).await;
    system
        .get(Persona::Viewer, "/api/swarm/state")
        .await
        .expect(200);
    system.idp.add_key(Algorithm::EdDsa);
    poll::until_async("B41 the new key is known", async || {
        let answer = system.get(Persona::Viewer, "/api/swarm/state").await;
        (answer.status == 200).then_some(())
    })
    .await;
}

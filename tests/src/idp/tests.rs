use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::{DecodingKey, Validation};
use serde_json::Value;

use super::{AUDIENCE, Algorithm, Idp, Mood};
use crate::http::Http;

/// Verifies a token as a client of discovery would.
async fn verifies(idp: &Idp, token: &str) -> bool {
    let http = Http::to(idp.address);
    let discovery = http
        .get("/.well-known/openid-configuration")
        .send()
        .await
        .expect(200);
    assert_eq!(
        discovery.json()["jwks_uri"],
        format!("{}/jwks", idp.issuer())
    );
    let keys: JwkSet = serde_json::from_slice(&http.get("/jwks").send().await.body).unwrap();
    let header = jsonwebtoken::decode_header(token).unwrap();
    let Some(key) = keys.find(&header.kid.unwrap()) else {
        return false;
    };
    let mut rules = Validation::new(header.alg);
    rules.set_audience(&[AUDIENCE]);
    rules.set_issuer(&[idp.issuer()]);
    let key = DecodingKey::from_jwk(key).unwrap();
    jsonwebtoken::decode::<Value>(token, &key, &rules).is_ok()
}

#[tokio::test]
async fn tokens_verify_against_the_published_keys() {
    let idp = Idp::start();
    let first = idp.sign(&idp.claims("alice"));
    assert!(verifies(&idp, &first).await);
    idp.add_key(Algorithm::EdDsa);
    let second = idp.sign(&idp.claims("alice"));
    assert!(verifies(&idp, &first).await && verifies(&idp, &second).await);
    idp.rotate(Algorithm::Es256);
    assert!(!verifies(&idp, &first).await && !verifies(&idp, &second).await);
    assert_eq!(idp.fetches(), 5);
}

#[tokio::test]
async fn has_the_faults_it_is_told_to_have() {
    let mut idp = Idp::start();
    let http = Http::to(idp.address);
    idp.set(Mood::Failing);
    assert_eq!(http.get("/jwks").send().await.status, 500);
    idp.set(Mood::Huge);
    assert!(http.get("/jwks").send().await.body.len() > 1024 * 1024);
    idp.set(Mood::Garbage("{".to_owned()));
    assert_eq!(http.get("/jwks").send().await.text(), "{");
    idp.close();
    // A connection of the pool would end in another way.
    let http = Http::to(idp.address);
    assert!(http.get("/jwks").try_send().await.unwrap_err().is_connect());
    idp.open();
    idp.set(Mood::Serving);
    assert_eq!(http.get("/jwks").send().await.status, 200);
}

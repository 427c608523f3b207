//! A real issuer for tests: keys, tokens, and an HTTP server with faults.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    KeyPair, RSA_PKCS1_SHA256, RSA_PSS_SHA256, RsaKeyPair,
};
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use crate::config::auth::IssuerConfig;

/// The moment tests call now.
pub(crate) const NOW: i64 = 1_764_500_000;

pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(NOW + seconds).unwrap()
}

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// A request's headers with one bearer token.
pub(crate) fn bearer(token: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&format!("Bearer {token}")).unwrap();
    headers.insert(header::AUTHORIZATION, value);
    headers
}

enum Pair {
    Rsa(RsaKeyPair),
    Pss(RsaKeyPair),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

/// A signing key and its public JWK.
pub(crate) struct SigningKey {
    pub(crate) kid: String,
    pair: Pair,
}

impl SigningKey {
    pub(crate) fn new(alg: &str, kid: &str) -> Self {
        let rsa = || RsaKeyPair::generate(KeySize::Rsa2048).unwrap();
        let ec = |curve| EcdsaKeyPair::generate(curve).unwrap();
        let pair = match alg {
            "RS256" => Pair::Rsa(rsa()),
            "PS256" => Pair::Pss(rsa()),
            "ES256" => Pair::Ec(ec(&ECDSA_P256_SHA256_FIXED_SIGNING)),
            "ES384" => Pair::Ec(ec(&ECDSA_P384_SHA384_FIXED_SIGNING)),
            "EdDSA" => Pair::Ed(Ed25519KeyPair::generate().unwrap()),
            other => panic!("no such algorithm: {other}"),
        };
        Self {
            kid: kid.to_owned(),
            pair,
        }
    }

    pub(crate) fn alg(&self) -> &'static str {
        match &self.pair {
            Pair::Rsa(_) => "RS256",
            Pair::Pss(_) => "PS256",
            Pair::Ec(pair) if pair.public_key().as_ref().len() == 65 => "ES256",
            Pair::Ec(_) => "ES384",
            Pair::Ed(_) => "EdDSA",
        }
    }

    /// The public key as issuers publish it.
    pub(crate) fn jwk(&self) -> Value {
        let mut jwk = match &self.pair {
            Pair::Rsa(pair) | Pair::Pss(pair) => {
                let public = pair.public_key();
                json!({
                    "kty": "RSA",
                    "n": encode(public.modulus().big_endian_without_leading_zero()),
                    "e": encode(public.exponent().big_endian_without_leading_zero()),
                })
            }
            Pair::Ec(pair) => {
                let point = pair.public_key().as_ref();
                let (x, y) = point[1..].split_at((point.len() - 1) / 2);
                let crv = if x.len() == 32 { "P-256" } else { "P-384" };
                json!({"kty": "EC", "crv": crv, "x": encode(x), "y": encode(y)})
            }
            Pair::Ed(pair) => {
                json!({"kty": "OKP", "crv": "Ed25519", "x": encode(pair.public_key())})
            }
        };
        jwk["kid"] = self.kid.clone().into();
        jwk["alg"] = self.alg().into();
        jwk["use"] = "sig".into();
        jwk
    }

    /// The public key as a PEM-less DER, which attackers use as HMAC secret.
    pub(crate) fn der(&self) -> Vec<u8> {
        match &self.pair {
            Pair::Rsa(pair) | Pair::Pss(pair) => {
                pair.public_key().as_der().unwrap().as_ref().to_vec()
            }
            Pair::Ec(pair) => pair.public_key().as_ref().to_vec(),
            Pair::Ed(pair) => pair.public_key().as_ref().to_vec(),
        }
    }

    pub(crate) fn signature(&self, message: &[u8]) -> Vec<u8> {
        let random = SystemRandom::new();
        match &self.pair {
            Pair::Rsa(pair) | Pair::Pss(pair) => {
                let padding: &'static dyn aws_lc_rs::signature::RsaEncoding = match &self.pair {
                    Pair::Pss(_) => &RSA_PSS_SHA256,
                    _ => &RSA_PKCS1_SHA256,
                };
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(padding, &random, message, &mut signature)
                    .unwrap();
                signature
            }
            Pair::Ec(pair) => pair.sign(&random, message).unwrap().as_ref().to_vec(),
            Pair::Ed(pair) => pair.sign(message).as_ref().to_vec(),
        }
    }

    /// A token with exactly this header and these claims.
    pub(crate) fn sign(&self, header: &Value, claims: &Value) -> String {
        let signed = format!(
            "{}.{}",
            encode(header.to_string()),
            encode(claims.to_string())
        );
        let signature = encode(self.signature(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// A good token of this key.
    pub(crate) fn token(&self, claims: &Value) -> String {
        let header = json!({"alg": self.alg(), "kid": self.kid, "typ": "at+jwt"});
        self.sign(&header, claims)
    }
}

/// Claims of a good token.
pub(crate) fn claims(issuer: &str) -> Value {
    json!({
        "iss": issuer,
        "aud": "interlock",
        "sub": "alice",
        "exp": NOW + 300,
        "interlock_tenants": ["acme"],
        "interlock_grants": {"operator": ["acme"]},
    })
}

/// What the issuer's key address does.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Keys(Value),
    Text(Vec<u8>),
    Status(u16),
    Redirect(String),
    Hang,
}

#[derive(Debug)]
struct Behaviour {
    issuer: String,
    jwks_uri: String,
    answer: Answer,
    fetches: u64,
}

/// An issuer on loopback.
#[derive(Debug)]
pub(crate) struct Idp {
    pub(crate) url: String,
    behaviour: Arc<Mutex<Behaviour>>,
    server: AbortHandle,
}

impl Idp {
    pub(crate) async fn start(keys: &[&SigningKey]) -> Self {
        let listener = tokio::net::TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0)))
            .await
            .unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let behaviour = Arc::new(Mutex::new(Behaviour {
            issuer: url.clone(),
            jwks_uri: format!("{url}/keys"),
            answer: Answer::Keys(set(keys)),
            fetches: 0,
        }));
        let router = Router::new()
            .route("/.well-known/openid-configuration", get(document))
            .route("/keys", get(answer))
            .with_state(Arc::clone(&behaviour));
        let server = tokio::spawn(async move { axum::serve(listener, router).await });
        Self {
            url,
            behaviour,
            server: server.abort_handle(),
        }
    }

    /// The configuration that accepts this issuer.
    pub(crate) fn config(&self) -> IssuerConfig {
        IssuerConfig {
            // Long, so that a busy machine fails no test.
            fetch_timeout: Duration::from_secs(60),
            ..IssuerConfig::new(&self.url, "interlock")
        }
    }

    pub(crate) fn answer(&self, answer: Answer) {
        self.behaviour.lock().unwrap().answer = answer;
    }

    pub(crate) fn publish(&self, keys: &[&SigningKey]) {
        self.answer(Answer::Keys(set(keys)));
    }

    pub(crate) fn name_issuer(&self, issuer: &str) {
        self.behaviour.lock().unwrap().issuer = issuer.to_owned();
    }

    pub(crate) fn name_jwks_uri(&self, uri: &str) {
        self.behaviour.lock().unwrap().jwks_uri = uri.to_owned();
    }

    /// How often the keys were asked for.
    pub(crate) fn fetches(&self) -> u64 {
        self.behaviour.lock().unwrap().fetches
    }

    pub(crate) fn stop(&self) {
        self.server.abort();
    }
}

impl Drop for Idp {
    fn drop(&mut self) {
        self.stop();
    }
}

pub(crate) fn set(keys: &[&SigningKey]) -> Value {
    json!({"keys": keys.iter().map(|key| key.jwk()).collect::<Vec<_>>()})
}

async fn document(State(behaviour): State<Arc<Mutex<Behaviour>>>) -> Response {
    let behaviour = behaviour.lock().unwrap();
    axum::Json(json!({"issuer": behaviour.issuer, "jwks_uri": behaviour.jwks_uri})).into_response()
}

async fn answer(State(behaviour): State<Arc<Mutex<Behaviour>>>) -> Response {
    let answer = {
        let mut behaviour = behaviour.lock().unwrap();
        behaviour.fetches += 1;
        behaviour.answer.clone()
    };
    match answer {
        Answer::Keys(keys) => axum::Json(keys).into_response(),
        Answer::Text(text) => text.into_response(),
        Answer::Status(status) => StatusCode::from_u16(status).unwrap().into_response(),
        Answer::Redirect(to) => Redirect::temporary(&to).into_response(),
        Answer::Hang => std::future::pending().await,
    }
}

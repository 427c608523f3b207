//! Signing keys, and what is signed with them.

use std::fmt;

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair,
};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{EncodingKey, Header};
use serde_json::{Map, Value, json};
use uuid::Uuid;

/// What a key signs with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
}

/// A key pair with its id.
#[derive(Clone)]
pub struct SigningKey {
    id: String,
    algorithm: Algorithm,
    private: EncodingKey,
    public: Value,
}

impl SigningKey {
    /// A new pair. Not part of any key set until it is put there, so also what
    /// a forger has.
    pub fn generate(id: &str, algorithm: Algorithm) -> SigningKey {
        let random = SystemRandom::new();
        let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        let (private, public) = match algorithm {
            Algorithm::Es256 => {
                let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let document = EcdsaKeyPair::generate_pkcs8(curve, &random).expect("a key");
                let pair = EcdsaKeyPair::from_pkcs8(curve, document.as_ref()).expect("a key");
                // SEC 1: 0x04, then 32 bytes each of x and y.
                let (x, y) = pair.public_key().as_ref()[1..].split_at(32);
                let public = json!({
                    "kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": id,
                    "x": encode(x), "y": encode(y),
                });
                (EncodingKey::from_ec_der(document.as_ref()), public)
            }
            Algorithm::EdDsa => {
                let document = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
                let pair = Ed25519KeyPair::from_pkcs8(document.as_ref()).expect("a key");
                let public = json!({
                    "kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": id,
                    "x": encode(pair.public_key().as_ref()),
                });
                (EncodingKey::from_ed_der(document.as_ref()), public)
            }
        };
        SigningKey {
            id: id.to_owned(),
            algorithm,
            private,
            public,
        }
    }

    /// The public half as a JSON Web Key (RFC 7517).
    pub fn public(&self) -> &Value {
        &self.public
    }

    /// The id in the header of its tokens.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// A signed token of type `at+jwt` (RFC 9068).
    pub fn sign(&self, claims: &Claims) -> String {
        let mut header = Header::new(match self.algorithm {
            Algorithm::Es256 => jsonwebtoken::Algorithm::ES256,
            Algorithm::EdDsa => jsonwebtoken::Algorithm::EdDSA,
        });
        header.typ = Some("at+jwt".to_owned());
        header.kid = Some(self.id.clone());
        self.sign_with(&header, claims)
    }

    /// A signed token with any header.
    pub fn sign_with(&self, header: &Header, claims: &Claims) -> String {
        jsonwebtoken::encode(header, &claims.0, &self.private).expect("claims can be signed")
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "SigningKey({}, {:?})", self.id, self.algorithm)
    }
}

/// The claims of a token.
#[derive(Clone, Debug)]
pub struct Claims(Map<String, Value>);

impl Claims {
    /// Those every good token has (RFC 9068), valid from now for an hour.
    pub fn of(issuer: &str, audience: &str, subject: &str) -> Claims {
        let now = Timestamp::now();
        Claims(Map::new())
            .with("iss", issuer)
            .with("aud", audience)
            .with("sub", subject)
            .with("iat", now.as_second())
            .with("jti", Uuid::new_v4().to_string())
            .expiring(now + SignedDuration::from_hours(1))
    }

    /// With one claim set.
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Claims {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// Without one claim.
    pub fn without(mut self, name: &str) -> Claims {
        self.0.remove(name);
        self
    }

    /// With another end.
    pub fn expiring(self, at: Timestamp) -> Claims {
        self.with("exp", at.as_second())
    }
}

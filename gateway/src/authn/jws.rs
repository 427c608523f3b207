//! A signed token in compact form (RFC 7515), read strictly: one encoding of
//! each part, a header with no surprises, an algorithm that is the key's.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::Algorithm;
use serde_json::{Map, Value};

use super::vet::VettedKey;
use crate::edge::json::{self, JsonError};

/// Why a token is not a JWS we can accept.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum JwsError {
    /// Not three parts of unpadded base64url without stray bits (RFC 7515
    /// section 2), or an empty signature.
    #[error("the token is not three parts of base64url joined by dots")]
    Encoding,
    /// The header is not a strict JSON object.
    #[error("the token's header is malformed: {0}")]
    Header(#[from] JsonError),
    /// A header member is missing or mistyped.
    #[error("the token's header member `{0}` is missing or malformed")]
    Member(&'static str),
    /// Extensions that must be understood (RFC 7515 section 4.1.11), or a
    /// payload that is not base64url (RFC 7797).
    #[error("the token's header uses `{0}`, which is not supported")]
    Extension(&'static str),
    /// `alg` is not the algorithm of the key.
    #[error("the token's algorithm is not the one of its key")]
    Algorithm,
    /// `typ` is not accepted (RFC 8725 section 3.11).
    #[error("the token's type is not accepted here; an access token is needed")]
    Type,
    /// The signature is wrong.
    #[error("the token's signature does not verify")]
    Signature,
}

/// A token taken apart, its signature not yet checked.
#[derive(Clone, Debug)]
pub struct Jws<'token> {
    signed: &'token str,
    signature: &'token str,
    algorithm: String,
    kid: Option<String>,
    typ: Option<String>,
    payload: Vec<u8>,
}

impl<'token> Jws<'token> {
    /// Takes a token apart.
    ///
    /// # Errors
    /// [`JwsError`] for any encoding but the one canonical one.
    pub fn parse(token: &'token str) -> Result<Self, JwsError> {
        let (signed, signature) = token.rsplit_once('.').ok_or(JwsError::Encoding)?;
        let (header, payload) = signed.split_once('.').ok_or(JwsError::Encoding)?;
        // A fourth part would leave a dot in the payload, which is no base64url.
        let decode = |part: &str| URL_SAFE_NO_PAD.decode(part).map_err(|_| JwsError::Encoding);
        if decode(signature)?.is_empty() {
            return Err(JwsError::Encoding);
        }
        let payload = decode(payload)?;
        let header = json::parse(&decode(header)?)?;
        let header = header.as_object().ok_or(JwsError::Member("alg"))?;
        for extension in ["crit", "b64"] {
            if header.contains_key(extension) {
                return Err(JwsError::Extension(extension));
            }
        }
        let algorithm = text(header, "alg")?.ok_or(JwsError::Member("alg"))?;
        Ok(Self {
            signed,
            signature,
            algorithm,
            kid: text(header, "kid")?,
            typ: text(header, "typ")?,
            payload,
        })
    }

    /// The id of the key that is said to have signed it.
    pub fn kid(&self) -> Option<&str> {
        self.kid.as_deref()
    }

    /// The payload. Nothing in it holds until [`Jws::verify`] has passed.
    pub fn unverified_payload(&self) -> &[u8] {
        &self.payload
    }

    /// Checks `typ` against the accepted media types, in lower case and without
    /// `application/` (RFC 7515 section 4.1.9). A missing `typ` is refused.
    ///
    /// # Errors
    /// [`JwsError::Type`].
    pub fn typed(&self, accepted: &[String]) -> Result<(), JwsError> {
        let typ = self.typ.as_deref().ok_or(JwsError::Type)?;
        let typ = typ.to_ascii_lowercase();
        let typ = typ.strip_prefix("application/").unwrap_or(&typ);
        if accepted.iter().any(|known| known.eq_ignore_ascii_case(typ)) {
            Ok(())
        } else {
            Err(JwsError::Type)
        }
    }

    /// Checks the signature with the key and the key's own algorithm.
    ///
    /// # Errors
    /// [`JwsError::Algorithm`] or [`JwsError::Signature`].
    pub fn verify(&self, key: &VettedKey) -> Result<(), JwsError> {
        if !named(&self.algorithm, key.algorithm()) {
            return Err(JwsError::Algorithm);
        }
        let verified = jsonwebtoken::crypto::verify(
            self.signature,
            self.signed.as_bytes(),
            key.key(),
            key.algorithm(),
        );
        match verified {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(JwsError::Signature),
        }
    }
}

/// Whether a header's `alg` names `algorithm`, case-sensitively (RFC 7515
/// section 4.1.1).
fn named(alg: &str, algorithm: Algorithm) -> bool {
    matches!(
        (alg, algorithm),
        ("RS256", Algorithm::RS256)
            | ("PS256", Algorithm::PS256)
            | ("ES256", Algorithm::ES256)
            | ("ES384", Algorithm::ES384)
            | ("EdDSA" | "Ed25519", Algorithm::EdDSA)
    )
}

fn text(header: &Map<String, Value>, name: &'static str) -> Result<Option<String>, JwsError> {
    match header.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(JwsError::Member(name)),
    }
}

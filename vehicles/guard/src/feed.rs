//! The token a service sends when it feeds the gateway's registry.

use jiff::Timestamp;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, Header, Validation, decode, decode_header, encode};
use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use crate::digest::body_digest;
use crate::guard::{LEEWAY_SECONDS, MAX_LIFE_SECONDS};
use crate::keys::{KeySet, Keys};

#[cfg(test)]
mod tests;

/// The header that carries the token.
pub const FEED_HEADER: &str = "interlock-service";

/// A type of its own, so that a grant sent back is not a feed call (RFC 8725 section 3.11).
const FEED_TYPE: &str = "interlock-feed+jwt";
const GATEWAY: &str = "interlock";
/// How long a signed call may take to arrive, seconds.
const LIFE_SECONDS: i64 = 30;

/// The claims of a feed token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FeedClaims {
    /// The service that calls.
    pub iss: String,
    /// Who is called: always `interlock`.
    pub aud: String,
    /// When it was signed, seconds since the epoch.
    pub iat: i64,
    /// When it ends, seconds since the epoch.
    pub exp: i64,
    /// Names this very call; the gateway accepts it once.
    pub jti: Uuid,
    /// The request method as sent.
    pub method: String,
    /// The path and query as sent.
    pub path: String,
    /// [`body_digest`] of the body as sent.
    pub body: String,
}

/// Signs one call of `service` to the gateway, with the first key.
///
/// # Errors
/// [`FeedError::Signing`] when the signature cannot be made.
pub fn sign_feed(
    keys: &Keys,
    service: &str,
    (method, path_and_query, body): (&str, &str, &[u8]),
    jti: Uuid,
    now: Timestamp,
) -> Result<String, FeedError> {
    let set = keys.current();
    let key = set.first().ok_or(FeedError::Signing)?;
    let header = Header {
        typ: Some(FEED_TYPE.to_owned()),
        kid: Some(key.kid().to_owned()),
        ..Header::new(Algorithm::HS256)
    };
    let claims = FeedClaims {
        iss: service.to_owned(),
        aud: GATEWAY.to_owned(),
        iat: now.as_second(),
        exp: now.as_second().saturating_add(LIFE_SECONDS),
        jti,
        method: method.to_owned(),
        path: path_and_query.to_owned(),
        body: body_digest(body),
    };
    encode(&header, &claims, key.encoding()).map_err(|_| FeedError::Signing)
}

/// Checks one call of `service`. Who calls this still has to refuse a `jti` seen before.
///
/// # Errors
/// [`FeedError`].
pub fn verify_feed(
    keys: &KeySet,
    service: &str,
    token: &str,
    (method, path_and_query, body): (&str, &str, &[u8]),
    now: Timestamp,
) -> Result<FeedClaims, FeedError> {
    let header = decode_header(token).map_err(|_| FeedError::Malformed)?;
    if header.alg != Algorithm::HS256 || header.typ.as_deref() != Some(FEED_TYPE) {
        return Err(FeedError::Malformed);
    }
    let kid = header.kid.as_deref().ok_or(FeedError::UnknownKey)?;
    let key = keys.find(kid).ok_or(FeedError::UnknownKey)?;
    let mut validation = Validation::new(Algorithm::HS256);
    // Without this list the library lets a token pass that has no `aud` or `iss` at all.
    validation.set_required_spec_claims(&["iss", "aud", "exp"]);
    validation.set_issuer(&[service]);
    validation.set_audience(&[GATEWAY]);
    validation.validate_exp = false;
    validation.validate_nbf = false;
    let claims = decode::<FeedClaims>(token, key.decoding(), &validation)
        .map_err(|error| match error.kind() {
            ErrorKind::InvalidSignature => FeedError::Signature,
            ErrorKind::InvalidIssuer | ErrorKind::InvalidAudience => FeedError::Party,
            _ => FeedError::Malformed,
        })?
        .claims;
    let now = now.as_second();
    let life = claims.exp.saturating_sub(claims.iat);
    if claims.exp.saturating_add(LEEWAY_SECONDS) < now
        || claims.iat > now.saturating_add(LEEWAY_SECONDS)
        || !(0..=MAX_LIFE_SECONDS).contains(&life)
    {
        return Err(FeedError::Time);
    }
    if (claims.method.as_str(), claims.path.as_str()) != (method, path_and_query)
        || claims.body != body_digest(body)
    {
        return Err(FeedError::OtherCall);
    }
    Ok(claims)
}

/// Why a feed call cannot be signed or trusted. No variant carries any part of the token.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum FeedError {
    /// The token could not be made.
    #[error("the feed token could not be signed")]
    Signing,
    /// Not a well-formed feed token.
    #[error("the token is not a well-formed feed token")]
    Malformed,
    /// No key of that id.
    #[error("the token names no known key")]
    UnknownKey,
    /// The signature does not hold.
    #[error("the signature of the token does not hold")]
    Signature,
    /// From another service, or for somebody else.
    #[error("the token is from another service or for another audience")]
    Party,
    /// Expired, from the future, or too long-lived.
    #[error("the token is not valid at this time")]
    Time,
    /// Signed for another method, path or body.
    #[error("the token is for another method, path or body")]
    OtherCall,
}

impl FeedError {
    /// A stable word for logs and test vectors.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::Signing => "signing",
            Self::Malformed => "malformed",
            Self::UnknownKey => "unknown-key",
            Self::Signature => "signature",
            Self::Party => "party",
            Self::Time => "time",
            Self::OtherCall => "other-call",
        }
    }
}

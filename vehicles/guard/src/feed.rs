//! The token a service sends when it feeds the gateway's registry.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use crate::digest::body_digest;
use crate::guard::{GATEWAY, LEEWAY_SECONDS, MAX_LIFE_SECONDS};
use crate::keys::{KeySet, Keys};
use crate::token::{self, Unopened};

#[cfg(test)]
mod tests;

/// The header that carries the token.
pub const FEED_HEADER: &str = "interlock-service";

/// A type of its own, so that a grant sent back is not a feed call (RFC 8725 section 3.11).
const FEED_TYPE: &str = "interlock-feed+jwt";
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
    token::sign(keys, FEED_TYPE, &claims).ok_or(FeedError::Signing)
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
    let claims: FeedClaims = token::open(keys, token, FEED_TYPE, (service, GATEWAY))?;
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

impl From<Unopened> for FeedError {
    fn from(cause: Unopened) -> Self {
        match cause {
            Unopened::UnknownKey => Self::UnknownKey,
            Unopened::Signature => Self::Signature,
            Unopened::Issuer | Unopened::Audience => Self::Party,
            Unopened::Malformed | Unopened::Algorithm | Unopened::Type | Unopened::Claims => {
                Self::Malformed
            }
        }
    }
}

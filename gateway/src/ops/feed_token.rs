//! Verifies the token of a service that feeds the registry: HS256 with the
//! key that it shares with the gateway, bound to one call.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;
use thiserror::Error;
use uuid::Uuid;

use crate::grant::Keyrings;
use crate::grant::{GRANT_ISSUER, body_digest};

/// A type of its own, so that a grant sent back is not a feed call (RFC 8725
/// section 3.11).
const TYPE: &str = "interlock-feed+jwt";
/// How far the clocks of service and gateway may differ, in seconds.
const LEEWAY: i64 = 2;
/// How long a token may be good for, in seconds.
const MAX_LIFE: i64 = 60;
/// Tokens remembered at once. Services beat once a second.
const REMEMBERED: usize = 65_536;

/// Why a feed call is not taken.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum FeedTokenError {
    #[error("send the service's token in one `Interlock-Service` header")]
    Missing,
    #[error("the `Interlock-Service` token is malformed")]
    Malformed,
    #[error("the token names no key of a configured service")]
    UnknownKey,
    #[error("the token does not verify")]
    Signature,
    #[error("the token's time has passed or not come; compare the clocks")]
    Time,
    #[error("the token was made for another call")]
    OtherCall,
    #[error("the token was used before; make one for each call")]
    Replayed,
    #[error("too many feed calls at once; slow down")]
    Busy,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    iat: i64,
    exp: i64,
    jti: Uuid,
    method: String,
    path: String,
    body: String,
}

/// The services' keys, and the tokens seen.
#[derive(Debug)]
pub(super) struct FeedTokens {
    rings: Keyrings,
    seen: Mutex<HashMap<Uuid, i64>>,
}

/// The call a token must be made for.
pub(super) struct Bound<'a> {
    pub(super) method: &'a str,
    pub(super) path_and_query: &'a str,
    pub(super) body: &'a [u8],
}

impl FeedTokens {
    pub(super) fn new(rings: Keyrings) -> Self {
        FeedTokens {
            rings,
            seen: Mutex::default(),
        }
    }

    /// The service that makes this call.
    pub(super) fn verify(
        &self,
        token: &str,
        call: &Bound<'_>,
        now: Timestamp,
    ) -> Result<String, FeedTokenError> {
        let header = decode_header(token).map_err(|_| FeedTokenError::Malformed)?;
        if header.alg != Algorithm::HS256 || header.typ.as_deref() != Some(TYPE) {
            return Err(FeedTokenError::Malformed);
        }
        let kid = header.kid.as_deref().ok_or(FeedTokenError::UnknownKey)?;
        // A key id may be the same at two services: the claim that verifies
        // decides which of them it is.
        let rings = self.rings.load();
        let keys = rings
            .iter()
            .filter_map(|(service, ring)| Some((service, ring.decoding_key(kid)?)));
        let mut fault = FeedTokenError::UnknownKey;
        for (service, key) in keys {
            let mut validation = Validation::new(Algorithm::HS256);
            validation.set_required_spec_claims(&["iss", "aud", "exp"]);
            validation.set_issuer(&[service]);
            validation.set_audience(&[GRANT_ISSUER]);
            // Times are judged below, against the injected clock.
            validation.validate_exp = false;
            validation.validate_nbf = false;
            match decode::<Claims>(token, key, &validation) {
                Ok(data) => {
                    self.check(&data.claims, call, now)?;
                    return Ok(data.claims.iss);
                }
                Err(_) => fault = FeedTokenError::Signature,
            }
        }
        Err(fault)
    }

    fn check(
        &self,
        claims: &Claims,
        call: &Bound<'_>,
        now: Timestamp,
    ) -> Result<(), FeedTokenError> {
        let now = now.as_second();
        let life = claims.exp.saturating_sub(claims.iat);
        let in_time = claims.exp.saturating_add(LEEWAY) >= now
            && claims.iat <= now.saturating_add(LEEWAY)
            && (0..=MAX_LIFE).contains(&life);
        if !in_time {
            return Err(FeedTokenError::Time);
        }
        let bound = claims.method == call.method
            && claims.path == call.path_and_query
            && claims.body == body_digest(call.body);
        if !bound {
            return Err(FeedTokenError::OtherCall);
        }
        self.once(claims.jti, claims.exp, now)
    }

    fn once(&self, jti: Uuid, exp: i64, now: i64) -> Result<(), FeedTokenError> {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= REMEMBERED {
            seen.retain(|_, until| until.saturating_add(LEEWAY) >= now);
        }
        if seen.contains_key(&jti) {
            return Err(FeedTokenError::Replayed);
        }
        if seen.len() >= REMEMBERED {
            return Err(FeedTokenError::Busy);
        }
        seen.insert(jti, exp);
        Ok(())
    }
}

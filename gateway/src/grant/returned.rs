//! A grant that comes back: a service shows it to ask about the same caller.

use std::sync::Arc;

use interlock_policies::{PrincipalFacts, PrincipalKind};
use jiff::Timestamp;
use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use serde::Deserialize;
use thiserror::Error;
use uuid::Uuid;

use super::standing::Standing;
use super::{GRANT_ISSUER, Mint};
use crate::authn::Caller;
use crate::identity::Identity;

/// The type of a grant: no other token signed with the same key passes for one
/// (RFC 8725 section 3.11).
const TYPE: &str = "interlock-grant+jwt";
/// How long after its end a grant is still taken back, in seconds: a service
/// asks while it works on the call.
const AFTERWARDS: i64 = 5;
/// How far the clocks of two gateways may differ, in seconds.
const LEEWAY: i64 = 2;

/// Why a grant is not taken back. No variant carries any part of it.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum ReturnedError {
    /// Not a grant.
    #[error("`grant` is no grant of this gateway")]
    Malformed,
    /// No key of that id is shared with the service.
    #[error("`grant` names no key that is shared with this service")]
    UnknownKey,
    /// The signature or one of the fixed claims does not hold.
    #[error("`grant` does not verify: it must be the one received, for this very service")]
    Signature,
    /// Its time has passed or not come.
    #[error("`grant` is too old, or from the future: ask while the call is being worked on")]
    Time,
    /// Its row judges no members.
    #[error("`grant` carries no standing: its row does not declare `judges_members`")]
    NoStanding,
}

/// Who was granted what, read back from a grant of ours.
#[derive(Clone, Debug)]
pub struct Returned {
    /// The caller, with what its token said.
    pub caller: Caller,
    /// The row that was granted.
    pub row: String,
    /// The decision behind it.
    pub decision: Option<Uuid>,
}

#[derive(Deserialize)]
struct Claims {
    iat: i64,
    exp: i64,
    caller: Who,
    row: String,
    decision: Option<Uuid>,
}

#[derive(Deserialize)]
struct Who {
    kind: String,
    issuer: String,
    subject: String,
    actor: Option<String>,
    standing: Option<Standing>,
}

impl Mint {
    /// Reads back a grant that was made for `service`, by this gateway or
    /// another one with the same keys.
    ///
    /// # Errors
    /// [`ReturnedError`].
    pub fn returned(
        &self,
        service: &str,
        token: &str,
        now: Timestamp,
    ) -> Result<Returned, ReturnedError> {
        let header = decode_header(token).map_err(|_| ReturnedError::Malformed)?;
        if header.alg != Algorithm::HS256 || header.typ.as_deref() != Some(TYPE) {
            return Err(ReturnedError::Malformed);
        }
        let kid = header.kid.as_deref().ok_or(ReturnedError::UnknownKey)?;
        let rings = self.rings.load();
        let key = rings
            .get(service)
            .and_then(|ring| ring.decoding_key(kid))
            .ok_or(ReturnedError::UnknownKey)?;
        let mut validation = Validation::new(Algorithm::HS256);
        validation.set_required_spec_claims(&["iss", "aud", "exp"]);
        validation.set_issuer(&[GRANT_ISSUER]);
        validation.set_audience(&[service]);
        // Times are judged below, against the injected clock.
        validation.validate_exp = false;
        validation.validate_nbf = false;
        let claims = decode::<Claims>(token, key, &validation)
            .map_err(|_| ReturnedError::Signature)?
            .claims;
        let now = now.as_second();
        let in_time = claims.iat <= now.saturating_add(LEEWAY)
            && now <= claims.exp.saturating_add(AFTERWARDS);
        if !in_time {
            return Err(ReturnedError::Time);
        }
        let who = claims.caller;
        let standing = who.standing.ok_or(ReturnedError::NoStanding)?;
        let kind = PrincipalKind::ALL
            .into_iter()
            .find(|kind| kind.as_str() == who.kind)
            .ok_or(ReturnedError::Malformed)?;
        Ok(Returned {
            caller: Caller {
                identity: Arc::new(Identity {
                    issuer: who.issuer.clone(),
                    subject: who.subject.clone(),
                    actor: who.actor.clone(),
                }),
                kind,
                facts: PrincipalFacts {
                    kind,
                    issuer: who.issuer,
                    subject: who.subject,
                    actor: who.actor,
                    person: None,
                    bounds: Vec::new(),
                    grants: standing.grants(),
                    tenants: standing.tenants,
                    suspended: standing.suspended,
                },
                token_digest: None,
                expires_at: None,
            },
            row: claims.row,
            decision: claims.decision,
        })
    }
}

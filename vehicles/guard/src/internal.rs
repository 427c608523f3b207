//! A grant that a service signs for itself: for its own maintenance commands, which then come in
//! through the same door as everything else.

use jiff::Timestamp;
use uuid::Uuid;

use crate::claims::{Caller, CallerKind, Claims};
use crate::digest::body_digest;
use crate::feed::FeedError;
use crate::guard::{GATEWAY, GRANT_TYPE};
use crate::keys::Keys;
use crate::token;

#[cfg(test)]
mod tests;

/// How long such a grant lives, seconds.
const LIFE_SECONDS: i64 = 30;

/// Signs one call of an internal row of `service` to itself, with the first key. The caller is the
/// service. Whoever has the key can sign anything; this signs only what no policy decides about.
///
/// # Errors
/// [`FeedError::Signing`] when the row is not an internal one, or the signature cannot be made.
pub fn sign_internal(
    keys: &Keys,
    row: &'static interlock_surface::Row,
    (path_and_query, body): (&str, &[u8]),
    operation: Uuid,
    now: Timestamp,
) -> Result<String, FeedError> {
    if row.class != interlock_surface::Class::Internal {
        return Err(FeedError::Signing);
    }
    let life = LIFE_SECONDS.saturating_mul(1000);
    let claims = Claims {
        iss: GATEWAY.to_owned(),
        aud: row.service.to_owned(),
        iat: now.as_second(),
        exp: now.as_second().saturating_add(LIFE_SECONDS),
        nbf: None,
        jti: Uuid::new_v4(),
        caller: Caller {
            kind: CallerKind::Service,
            issuer: GATEWAY.to_owned(),
            subject: row.service.to_owned(),
            actor: None,
            standing: None,
        },
        row: row.name.to_owned(),
        action: None,
        method: row.method.as_str().to_owned(),
        path: path_and_query.to_owned(),
        body: body_digest(body),
        bundle: None,
        registry: None,
        revision: None,
        decision: None,
        operation: Some(operation),
        asked_at: now.as_millisecond(),
        deadline: now.as_millisecond().saturating_add(life),
        approval: None,
    };
    token::sign(keys, GRANT_TYPE, &claims).ok_or(FeedError::Signing)
}

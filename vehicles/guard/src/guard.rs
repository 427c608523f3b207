//! Checks one grant against one request.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use interlock_surface::{Class, Listener, Match, Row, find};
use jiff::Timestamp;

use crate::claims::Claims;
use crate::clock::Clock;
use crate::digest::body_digest;
use crate::keys::Keys;
use crate::layer::Granted;
use crate::refusal::Refusal;
use crate::replay::ReplayMemory;
use crate::token;

#[cfg(test)]
mod tests;

/// The header that carries the grant.
pub const GRANT_HEADER: &str = "interlock-grant";

/// Media type of the token, so that no other token signed with the same key passes for a grant
/// (RFC 8725 section 3.11).
pub(crate) const GRANT_TYPE: &str = "interlock-grant+jwt";
pub(crate) const GATEWAY: &str = "interlock";

/// What two clocks may differ, seconds.
pub(crate) const LEEWAY_SECONDS: i64 = 2;
/// The longest life of a grant, seconds: it bounds how long a used one must be remembered.
pub(crate) const MAX_LIFE_SECONDS: i64 = 120;
/// A grant is about one kilobyte, and some twenty with a standing as large as a caller's token
/// allows; anything beyond this is not one.
const MAX_TOKEN_BYTES: usize = 32 * 1024;
/// How many unexpired used grants are remembered: over 500 writes a second for two minutes.
const REPLAY_CAPACITY: usize = 1 << 16;

/// Verifies the grants of one service.
pub struct Guard {
    service: &'static str,
    keys: Keys,
    clock: Arc<dyn Clock>,
    /// Grants from before this may have been used in an earlier life of this process.
    start: Timestamp,
    replay: Mutex<ReplayMemory>,
}

impl Guard {
    /// A guard for `service`, whose life begins now.
    #[must_use]
    pub fn new(service: &'static str, keys: Keys, clock: Arc<dyn Clock>) -> Self {
        Self::with_capacity(service, keys, clock, REPLAY_CAPACITY)
    }

    fn with_capacity(
        service: &'static str,
        keys: Keys,
        clock: Arc<dyn Clock>,
        capacity: usize,
    ) -> Self {
        let start = clock.now();
        Self {
            service,
            keys,
            clock,
            start,
            replay: Mutex::new(ReplayMemory::new(capacity)),
        }
    }

    /// Checks everything that can be checked before the body is read: signature, claims, times,
    /// and that method and path are the granted ones. `path_and_query` is as received.
    ///
    /// # Errors
    /// [`Refusal`].
    pub(crate) fn verify(
        &self,
        token: &str,
        method: &str,
        path_and_query: &str,
    ) -> Result<Verified, Refusal> {
        let claims = self.decode(token)?;
        if claims.method != method {
            return Err(Refusal::Method);
        }
        if claims.path != path_and_query {
            return Err(Refusal::Path);
        }
        let row = self.row(&claims)?;
        let asked_at = milliseconds(claims.asked_at)?;
        let deadline = milliseconds(claims.deadline)?;
        require_claims_of(row.class, &claims)?;
        if row.class != Class::SafetyWrite {
            self.check_times(row.class, &claims, asked_at)?;
        }
        Ok(Verified {
            row,
            asked_at,
            deadline,
            claims,
            token: Token(token.to_owned()),
        })
    }

    /// Checks the body, and spends the grant when the row is neither a read nor a stop.
    ///
    /// # Errors
    /// [`Refusal::Body`], [`Refusal::Replayed`] and [`Refusal::Full`].
    pub(crate) fn admit(&self, verified: Verified, body: &[u8]) -> Result<Granted, Refusal> {
        if verified.claims.body != body_digest(body) {
            return Err(Refusal::Body);
        }
        if is_spent_by_use(verified.row.class) {
            let until = verified.claims.exp.saturating_add(LEEWAY_SECONDS);
            let now = self.clock.now().as_second();
            // A panic elsewhere cannot leave the memory half changed in a way that forgets.
            let mut memory = self.replay.lock().unwrap_or_else(PoisonError::into_inner);
            memory.spend(verified.claims.jti, until, now)?;
        }
        Ok(Granted::new(verified))
    }

    /// Checks a whole request at once; what [`crate::require_grant`] does in two steps.
    ///
    /// # Errors
    /// [`Refusal`].
    pub fn check(
        &self,
        token: &str,
        method: &str,
        path_and_query: &str,
        body: &[u8],
    ) -> Result<Granted, Refusal> {
        let verified = self.verify(token, method, path_and_query)?;
        self.admit(verified, body)
    }

    fn decode(&self, token: &str) -> Result<Claims, Refusal> {
        if token.len() > MAX_TOKEN_BYTES {
            return Err(Refusal::Malformed);
        }
        let parties = (GATEWAY, self.service);
        Ok(token::open(
            &self.keys.current(),
            token,
            GRANT_TYPE,
            parties,
        )?)
    }

    /// The row the grant names, if it is the one this service serves at this method and path.
    /// A grant that names a stop is lenient about time, so it must not open any other row.
    fn row(&self, claims: &Claims) -> Result<&'static Row, Refusal> {
        let path = claims.path.split('?').next().unwrap_or_default();
        match find(Listener::Service(self.service), &claims.method, path) {
            Match::Found { rows, .. } => {
                let named = rows.iter().find(|row| row.name == claims.row);
                named.ok_or(Refusal::Row)
            }
            Match::MethodNotAllowed { .. } | Match::NotFound => Err(Refusal::Row),
        }
    }

    fn check_times(
        &self,
        class: Class,
        claims: &Claims,
        asked_at: Timestamp,
    ) -> Result<(), Refusal> {
        let now = self.clock.now().as_second();
        if claims.exp.saturating_add(LEEWAY_SECONDS) < now {
            return Err(Refusal::Expired);
        }
        let starts = claims.nbf.unwrap_or(claims.iat).max(claims.iat);
        if starts > now.saturating_add(LEEWAY_SECONDS) {
            return Err(Refusal::NotYet);
        }
        let life = claims.exp.saturating_sub(claims.iat);
        if !(0..=MAX_LIFE_SECONDS).contains(&life) {
            return Err(Refusal::Life);
        }
        // `iat` alone leaves the rest of its second open: a grant used in the last moment of one
        // life would hold in the first of the next. It is never signed before it was asked for.
        let begun = claims.iat >= self.start.as_second()
            && asked_at.as_millisecond() >= self.start.as_millisecond();
        if is_spent_by_use(class) && !begun {
            return Err(Refusal::BeforeStart);
        }
        Ok(())
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("service", &self.service)
            .field("keys", &self.keys)
            .finish_non_exhaustive()
    }
}

/// A grant whose signature, claims, times, method and path hold; the body is still to come.
#[derive(Debug)]
pub(crate) struct Verified {
    pub(crate) row: &'static Row,
    pub(crate) asked_at: Timestamp,
    pub(crate) deadline: Timestamp,
    pub(crate) claims: Claims,
    pub(crate) token: Token,
}

/// The grant as received. Its `Debug` form is redacted.
pub(crate) struct Token(pub(crate) String);

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<redacted>")
    }
}

/// Repeating a read shows nothing new, and a stop repeated is harmless; all else counts once.
fn is_spent_by_use(class: Class) -> bool {
    !class.is_read() && class != Class::SafetyWrite
}

/// Rows between gateway and service carry no decision, and reads no operation.
fn require_claims_of(class: Class, claims: &Claims) -> Result<(), Refusal> {
    let decided = claims.action.is_some() && claims.decision.is_some();
    let internal = class == Class::Internal;
    let writes = is_spent_by_use(class) && !internal;
    if (!decided && !internal) || (claims.operation.is_none() && writes) {
        return Err(Refusal::Claims);
    }
    Ok(())
}

fn milliseconds(value: i64) -> Result<Timestamp, Refusal> {
    Timestamp::from_millisecond(value).map_err(|_| Refusal::Claims)
}

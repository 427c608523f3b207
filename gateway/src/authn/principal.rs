//! From verified claims to a principal.

use std::sync::Arc;

use interlock_policies::{PrincipalFacts, PrincipalKind, Role};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value};

use super::Caller;
use super::cache::TokenDigest;
use crate::config::auth::IssuerConfig;
use crate::edge::json::{self, JsonError};
use crate::identity::Identity;

/// How far the clocks of issuer and gateway may differ.
pub const LEEWAY: SignedDuration = SignedDuration::from_secs(5);

/// The longest subject, actor, client or scope id, in bytes.
pub const ID_BYTES: usize = 255;

/// The most tenants, and the most grants, one token may carry.
pub const ENTRIES: usize = 256;

/// Why verified or unverified claims are refused.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ClaimsError {
    /// The payload is not a strict JSON object.
    #[error("the token's claims are malformed: {0}")]
    Json(#[from] JsonError),
    /// A required claim is missing.
    #[error("the token has no `{0}` claim")]
    Missing(String),
    /// A claim of the wrong type, empty, or out of bounds.
    #[error("the token's `{0}` claim is malformed")]
    Malformed(String),
    /// `exp` has passed.
    #[error("the token has expired")]
    Expired,
    /// `nbf` has not come.
    #[error("the token is not valid yet")]
    NotYet,
    /// `aud` does not name this gateway.
    #[error("the token is not meant for this gateway")]
    Audience,
}

/// The claims of a token. They hold only after its signature was verified.
#[derive(Clone, Debug)]
pub struct Claims(Map<String, Value>);

impl Claims {
    /// Reads a payload.
    ///
    /// # Errors
    /// [`ClaimsError::Json`], also when it is not an object.
    pub fn parse(payload: &[u8]) -> Result<Self, ClaimsError> {
        match json::parse(payload)? {
            Value::Object(claims) => Ok(Self(claims)),
            _ => Err(JsonError::Syntax { line: 1, column: 1 }.into()),
        }
    }

    /// `iss`, by which the key set is chosen.
    ///
    /// # Errors
    /// When it is missing or not a string.
    pub fn issuer(&self) -> Result<&str, ClaimsError> {
        self.required("iss", |value| value.as_str())
    }

    /// The caller these claims describe under the issuer's mapping.
    ///
    /// # Errors
    /// [`ClaimsError`] names the claim.
    pub fn caller(
        &self,
        config: &IssuerConfig,
        digest: TokenDigest,
        now: Timestamp,
    ) -> Result<Caller, ClaimsError> {
        let expires_at = self.valid(config, now)?;
        let subject = self.id("sub")?.ok_or_else(|| missing("sub"))?;
        let client = self.client(config)?;
        let delegate = self.delegate()?;
        let listed = |list: &[String]| client.as_ref().is_some_and(|client| list.contains(client));
        let kind = if listed(&config.services) {
            PrincipalKind::Service
        } else if delegate.is_some() || listed(&config.agents) {
            PrincipalKind::Agent
        } else {
            PrincipalKind::Person
        };
        // An agent's client that carries a person's subject acts for that
        // person, whether or not the issuer says so with `act`.
        let actor = match (delegate, kind) {
            (Some(actor), _) => Some(actor),
            (None, PrincipalKind::Agent) => client.filter(|client| *client != subject),
            (None, _) => None,
        };
        Ok(Caller {
            identity: Arc::new(Identity {
                issuer: config.issuer.clone(),
                subject: subject.clone(),
                actor: actor.clone(),
            }),
            kind,
            facts: PrincipalFacts {
                kind,
                issuer: config.issuer.clone(),
                subject,
                actor,
                person: None,
                bounds: Vec::new(),
                tenants: self.tenants(&config.claims.tenants)?,
                grants: self.grants(&config.claims.grants)?,
                suspended: false,
            },
            token_digest: Some(digest),
            expires_at: Some(expires_at),
        })
    }

    /// Time and audience (RFC 7519 section 4.1). Returns when the token ends.
    fn valid(&self, config: &IssuerConfig, now: Timestamp) -> Result<Timestamp, ClaimsError> {
        let expires_at = self.date("exp")?.ok_or_else(|| missing("exp"))?;
        if now.duration_since(expires_at) >= LEEWAY {
            return Err(ClaimsError::Expired);
        }
        let not_before = self.date("nbf")?;
        if not_before.is_some_and(|start| start.duration_since(now) > LEEWAY) {
            return Err(ClaimsError::NotYet);
        }
        self.date("iat")?;
        let ours = |value: &Value| value.as_str() == Some(&config.audience);
        let meant = match self.0.get("aud") {
            None => return Err(missing("aud")),
            Some(Value::Array(list)) if list.iter().all(Value::is_string) => list.iter().any(ours),
            Some(single @ Value::String(_)) => ours(single),
            Some(_) => return Err(malformed("aud")),
        };
        if !meant {
            return Err(ClaimsError::Audience);
        }
        Ok(expires_at)
    }

    /// The OAuth client: the configured claim, or `azp` where it is absent.
    fn client(&self, config: &IssuerConfig) -> Result<Option<String>, ClaimsError> {
        match self.id(&config.claims.client)? {
            Some(client) => Ok(Some(client)),
            None => self.id("azp"),
        }
    }

    /// The subject of `act` (RFC 8693 section 4.1): the outermost one acts now.
    fn delegate(&self) -> Result<Option<String>, ClaimsError> {
        match self.0.get("act") {
            None => Ok(None),
            Some(Value::Object(act)) => match act.get("sub").and_then(bounded) {
                Some(subject) => Ok(Some(subject)),
                None => Err(malformed("act")),
            },
            Some(_) => Err(malformed("act")),
        }
    }

    fn tenants(&self, name: &str) -> Result<Vec<String>, ClaimsError> {
        match self.0.get(name) {
            None => Ok(Vec::new()),
            Some(list) => ids(list).ok_or_else(|| malformed(name)),
        }
    }

    /// Role grants: `{"operator": ["acme"]}`. What a role gives, the bundle
    /// knows; one that it does not have gives nothing, and a text that can name
    /// none is left out: it must not take a stop away from its bearer.
    fn grants(&self, name: &str) -> Result<Vec<(Role, String)>, ClaimsError> {
        let Some(claim) = self.0.get(name) else {
            return Ok(Vec::new());
        };
        let roles = claim.as_object().ok_or_else(|| malformed(name))?;
        let mut grants = Vec::new();
        for (role, scopes) in roles {
            let scopes = ids(scopes).ok_or_else(|| malformed(name))?;
            let Some(role) = Role::named(role) else {
                continue;
            };
            grants.extend(scopes.into_iter().map(|scope| (role.clone(), scope)));
        }
        if grants.len() > ENTRIES {
            return Err(malformed(name));
        }
        Ok(grants)
    }

    fn required<'claims, T>(
        &'claims self,
        name: &str,
        read: impl FnOnce(&'claims Value) -> Option<T>,
    ) -> Result<T, ClaimsError> {
        let value = self.0.get(name).ok_or_else(|| missing(name))?;
        read(value).ok_or_else(|| malformed(name))
    }

    fn id(&self, name: &str) -> Result<Option<String>, ClaimsError> {
        match self.0.get(name) {
            None => Ok(None),
            Some(value) => match bounded(value) {
                Some(id) => Ok(Some(id)),
                None => Err(malformed(name)),
            },
        }
    }

    /// A `NumericDate`: seconds, possibly with a fraction (RFC 7519 section 2).
    fn date(&self, name: &str) -> Result<Option<Timestamp>, ClaimsError> {
        let Some(value) = self.0.get(name) else {
            return Ok(None);
        };
        let seconds = value.as_f64().ok_or_else(|| malformed(name))?;
        SignedDuration::try_from_secs_f64(seconds)
            .ok()
            .and_then(|since| Timestamp::from_duration(since).ok())
            .map(Some)
            .ok_or_else(|| malformed(name))
    }
}

/// A text that is not blank, of bounded length, without control characters.
fn bounded(value: &Value) -> Option<String> {
    let text = value.as_str()?;
    let fits =
        !text.trim().is_empty() && text.len() <= ID_BYTES && !text.chars().any(char::is_control);
    fits.then(|| text.to_owned())
}

fn ids(list: &Value) -> Option<Vec<String>> {
    let list = list.as_array()?;
    if list.len() > ENTRIES {
        return None;
    }
    list.iter().map(bounded).collect()
}

fn missing(name: &str) -> ClaimsError {
    ClaimsError::Missing(name.to_owned())
}

fn malformed(name: &str) -> ClaimsError {
    ClaimsError::Malformed(name.to_owned())
}

#[cfg(test)]
mod tests;

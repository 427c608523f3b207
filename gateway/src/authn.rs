//! Who is calling: bearer tokens, key sets, principals.
//!
//! In open mode everybody is the local operator and the listener is loopback;
//! in enforced mode a caller is what a token of a configured issuer says, or
//! nobody. A token that is present and bad is an error, never nobody.

use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use http::HeaderMap;
use interlock_policies::{INSTALLATION, Mode, PrincipalFacts, PrincipalKind, Role};
use jiff::Timestamp;
use metrics::{Counter, counter};

use crate::clock::Clock;
use crate::config::auth::{AuthConfig, IssuerConfig};
use crate::identity::Identity;
use crate::telemetry::names;

pub mod bearer;
pub mod cache;
pub mod discovery;
pub mod jwks;
pub mod jws;
pub mod principal;
mod roca;
pub mod vet;

#[cfg(test)]
pub(crate) mod testkit;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wycheproof;

use bearer::{Bearer, BearerError};
use cache::{TokenCache, TokenDigest, Verified};
use discovery::FetchError;
use jwks::{IssuerKeys, KeyStatus, NoKey};
use jws::{Jws, JwsError};
use principal::{Claims, ClaimsError};

/// Who makes a request.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Names the caller in keys and records.
    pub identity: Arc<Identity>,
    /// What sort of principal it is.
    pub kind: PrincipalKind,
    /// What the token says for the PDP. Role grants of the bundle's entities
    /// file are merged in when the call is decided.
    pub facts: PrincipalFacts,
    /// SHA-256 of the token, for caches only; `None` where there is no token.
    pub token_digest: Option<TokenDigest>,
    /// When the token ends; `None` where there is no token.
    pub expires_at: Option<Timestamp>,
}

impl Caller {
    /// Nobody: no token was sent. Whether that is enough is up to policy.
    pub fn anonymous() -> Self {
        Self::without_token(PrincipalKind::Anonymous, "anonymous", "anonymous", &[])
    }

    /// The one caller of open mode.
    pub fn local_operator() -> Self {
        Self::without_token(PrincipalKind::Person, "local", "operator", &Role::BUILT_IN)
    }

    fn without_token(kind: PrincipalKind, issuer: &str, subject: &str, roles: &[Role]) -> Self {
        let everywhere = || INSTALLATION.to_owned();
        Self {
            identity: Arc::new(Identity {
                issuer: issuer.to_owned(),
                subject: subject.to_owned(),
                actor: None,
            }),
            kind,
            facts: PrincipalFacts {
                kind,
                issuer: issuer.to_owned(),
                subject: subject.to_owned(),
                actor: None,
                person: None,
                bounds: Vec::new(),
                tenants: roles.first().map(|_| everywhere()).into_iter().collect(),
                grants: roles
                    .iter()
                    .map(|role| (role.clone(), everywhere()))
                    .collect(),
                suspended: false,
            },
            token_digest: None,
            expires_at: None,
        }
    }
}

/// Why a caller cannot be told. The text never holds the token or a part of it.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AuthnError {
    /// The `Authorization` header is not one bearer token.
    #[error(transparent)]
    Bearer(#[from] BearerError),
    /// The token is not a signed JWT we accept.
    #[error(transparent)]
    Jws(#[from] JwsError),
    /// `iss` is no configured issuer.
    #[error("the token's issuer is not accepted here")]
    UnknownIssuer,
    /// No key of the issuer fits the token.
    #[error("the token names a key that its issuer does not publish")]
    UnknownKey,
    /// No key set of the issuer was ever fetched, and none is on disk: nothing
    /// can be said about the token (503, not 401).
    #[error("the keys of the token's issuer could not be fetched yet; try again shortly")]
    KeysUnavailable,
    /// The claims are missing, mistyped, out of date or meant for another.
    #[error(transparent)]
    Claims(#[from] ClaimsError),
}

impl From<NoKey> for AuthnError {
    fn from(reason: NoKey) -> Self {
        match reason {
            NoKey::Unknown => Self::UnknownKey,
            NoKey::Unavailable => Self::KeysUnavailable,
        }
    }
}

/// Tells who calls, in the mode the gateway runs in.
#[derive(Debug)]
pub struct Authenticator {
    scheme: Scheme,
    tokens: Tokens,
}

/// Tokens, by what came of them.
struct Tokens {
    verified: Counter,
    cached: Counter,
    refused: Counter,
}

impl Default for Tokens {
    fn default() -> Self {
        let tokens = |result: &'static str| counter!(names::TOKENS, "result" => result);
        Self {
            verified: tokens("verified"),
            cached: tokens("cached"),
            refused: tokens("refused"),
        }
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Tokens").finish_non_exhaustive()
    }
}

#[derive(Debug)]
enum Scheme {
    Open(Arc<Caller>),
    Enforced {
        issuers: Vec<Issuer>,
        cache: TokenCache,
        anonymous: Arc<Caller>,
    },
}

#[derive(Debug)]
struct Issuer {
    config: IssuerConfig,
    keys: Arc<IssuerKeys>,
}

impl Authenticator {
    /// For open mode.
    pub fn open() -> Self {
        Self {
            scheme: Scheme::Open(Arc::new(Caller::local_operator())),
            tokens: Tokens::default(),
        }
    }

    /// For enforced mode, with one key store for each issuer.
    pub fn enforced(issuers: Vec<(IssuerConfig, Arc<IssuerKeys>)>) -> Self {
        let issuers = issuers
            .into_iter()
            .map(|(config, keys)| Issuer { config, keys })
            .collect();
        Self {
            scheme: Scheme::Enforced {
                issuers,
                cache: TokenCache::default(),
                anonymous: Arc::new(Caller::anonymous()),
            },
            tokens: Tokens::default(),
        }
    }

    /// The authenticator a configuration asks for. Saved key sets are read
    /// from `state`.
    ///
    /// # Errors
    /// [`FetchError`] when an issuer's addresses are not acceptable.
    pub fn from_config(config: &AuthConfig, state: Option<&Path>) -> Result<Self, FetchError> {
        if config.mode == Mode::Open {
            return Ok(Self::open());
        }
        let issuers = config.issuers.iter().map(|issuer| {
            let keys = IssuerKeys::new(issuer, state)?;
            Ok((issuer.clone(), keys))
        });
        Ok(Self::enforced(issuers.collect::<Result<_, FetchError>>()?))
    }

    /// The mode of the gateway.
    pub fn mode(&self) -> Mode {
        match self.scheme {
            Scheme::Open(_) => Mode::Open,
            Scheme::Enforced { .. } => Mode::Enforced,
        }
    }

    /// Who makes a request with these headers. Waits only for a key set that
    /// does not know the token's key, and at most once per cooldown.
    ///
    /// # Errors
    /// [`AuthnError`] for every token that is present and not good.
    pub async fn caller(
        &self,
        headers: &HeaderMap,
        now: Timestamp,
    ) -> Result<Arc<Caller>, AuthnError> {
        let caller = self.told(headers, now).await;
        if caller.is_err() {
            self.tokens.refused.increment(1);
        }
        caller
    }

    async fn told(&self, headers: &HeaderMap, now: Timestamp) -> Result<Arc<Caller>, AuthnError> {
        let (issuers, cache, anonymous) = match &self.scheme {
            Scheme::Open(operator) => return Ok(Arc::clone(operator)),
            Scheme::Enforced {
                issuers,
                cache,
                anonymous,
            } => (issuers, cache, anonymous),
        };
        let Some(token) = Bearer::of(headers)? else {
            return Ok(Arc::clone(anonymous));
        };
        let digest = TokenDigest::of(token.expose());
        if let Some(verified) = cache.get(&digest, now)
            && let Some(issuer) = issuers.get(verified.issuer)
            && issuer.keys.generation() == verified.generation
        {
            self.tokens.cached.increment(1);
            return Ok(verified.caller);
        }
        let jws = Jws::parse(token.expose())?;
        let claims = Claims::parse(jws.unverified_payload())?;
        let iss = claims.issuer()?;
        let (place, issuer) = issuers
            .iter()
            .enumerate()
            .find(|(_, issuer)| issuer.config.issuer == iss)
            .ok_or(AuthnError::UnknownIssuer)?;
        jws.typed(&issuer.config.types)?;
        let (key, generation) = issuer.keys.key(jws.kid(), now).await?;
        jws.verify(&key)?;
        let caller = Arc::new(claims.caller(&issuer.config, digest, now)?);
        cache.insert(
            digest,
            Verified {
                caller: Arc::clone(&caller),
                issuer: place,
                generation,
            },
        );
        self.tokens.verified.increment(1);
        Ok(caller)
    }

    /// What readiness and metrics say about the key sets; empty in open mode.
    pub fn keys(&self, now: Timestamp) -> Vec<KeyStatus> {
        self.issuers()
            .map(|issuer| issuer.keys.status(now))
            .collect()
    }

    /// Fetches every key set that is due at `now`, one issuer beside the other.
    pub async fn refresh_if_due(&self, now: Timestamp) {
        join_all(self.issuers().map(|issuer| issuer.keys.refresh_if_due(now))).await;
    }

    /// Keeps the key sets fresh for ever; run it as a task beside the server.
    pub async fn keep_fresh(&self, clock: &dyn Clock) {
        loop {
            self.refresh_if_due(clock.now()).await;
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    fn issuers(&self) -> impl Iterator<Item = &Issuer> {
        match &self.scheme {
            Scheme::Open(_) => [].iter(),
            Scheme::Enforced { issuers, .. } => issuers.iter(),
        }
    }
}

/// How often it is looked whether a key set is due.
const LOOK_EVERY: Duration = Duration::from_secs(1);

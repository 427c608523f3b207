//! `[auth]`: the mode and the issuers.

use std::time::Duration;

use interlock_policies::Mode;

/// Who may call, and how that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuthConfig {
    /// Open or enforced.
    pub mode: Mode,
    /// The accepted issuers: none in open mode, at least one in enforced mode.
    pub issuers: Vec<IssuerConfig>,
}

/// One OpenID Connect issuer and how its tokens are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IssuerConfig {
    /// Compared with `iss` byte by byte.
    pub issuer: String,
    /// What `aud` must name.
    pub audience: String,
    /// The accepted `typ` values, lower case, without `application/`.
    pub types: Vec<String>,
    /// Where the discovery document lies, when not at the well-known address.
    pub discovery_url: Option<String>,
    /// Clients whose tokens are of agents.
    pub agents: Vec<String>,
    /// Clients whose tokens are of services.
    pub services: Vec<String>,
    /// Which claims mean what.
    pub claims: ClaimNames,
    /// How long after a fetch an unknown key causes no other.
    pub cooldown: Duration,
    /// How old a key set gets before it is fetched anew.
    pub refresh: Duration,
    /// How long one request to the issuer may take.
    pub fetch_timeout: Duration,
}

impl IssuerConfig {
    /// An issuer with everything else at its default.
    pub fn new(issuer: impl Into<String>, audience: impl Into<String>) -> Self {
        Self {
            issuer: issuer.into(),
            audience: audience.into(),
            types: vec!["at+jwt".to_owned()],
            discovery_url: None,
            agents: Vec::new(),
            services: Vec::new(),
            claims: ClaimNames::default(),
            cooldown: Duration::from_secs(30),
            refresh: Duration::from_secs(300),
            fetch_timeout: Duration::from_secs(5),
        }
    }
}

/// The names of the claims we read beside the registered ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimNames {
    /// An array of scope ids: the accounts the caller belongs to.
    pub tenants: String,
    /// An object of roles, each with an array of scope ids.
    pub grants: String,
    /// The OAuth client; `azp` where it is absent.
    pub client: String,
}

impl Default for ClaimNames {
    fn default() -> Self {
        Self {
            tenants: "interlock_tenants".to_owned(),
            grants: "interlock_grants".to_owned(),
            client: "client_id".to_owned(),
        }
    }
}

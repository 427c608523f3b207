//! `[auth]`: the mode and the issuers.

use std::time::Duration;

use interlock_policies::Mode;

use super::section::Section;
use crate::authn::discovery::HttpSource;

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

pub(super) fn read(mut section: Section<'_>) -> Option<AuthConfig> {
    let what = "`\"open\"` (loopback, no credentials) or `\"enforced\"` (tokens of `auth.issuers`)";
    let mode = if section.given("mode") {
        section.parsed("mode", what, |text| match text {
            "open" => Some(Mode::Open),
            "enforced" => Some(Mode::Enforced),
            _ => None,
        })
    } else {
        section.fault("mode", format!("missing; write {what}"));
        None
    };
    let tables = section.sections("issuers");
    let count = tables.len();
    let issuers: Vec<IssuerConfig> = tables.into_iter().filter_map(issuer).collect();
    for (index, one) in issuers.iter().enumerate() {
        if issuers
            .iter()
            .take(index)
            .any(|other| other.issuer == one.issuer)
        {
            section.fault("issuers", format!("`{}` is listed twice", one.issuer));
        }
    }
    match mode {
        Some(Mode::Open) if count > 0 => section.fault(
            "issuers",
            "open mode ignores every token; remove the issuers, or set `mode = \"enforced\"`",
        ),
        Some(Mode::Enforced) if count == 0 => section.fault(
            "issuers",
            "missing; enforced mode needs at least one `[[auth.issuers]]` with `issuer` and `audience`",
        ),
        _ => {}
    }
    section.finish();
    Some(AuthConfig {
        mode: mode?,
        issuers,
    })
}

fn issuer(mut section: Section<'_>) -> Option<IssuerConfig> {
    let issuer = section.required(
        "issuer",
        "the issuer's `https` URL, exactly as in its tokens",
    );
    let audience = section.required("audience", "what `aud` of a token for this gateway names");
    let default = IssuerConfig::new("", "");
    let types = section.texts("typ").map_or(default.types, |types| {
        types.iter().map(|typ| typ.to_ascii_lowercase()).collect()
    });
    let discovery_url = section.text("discovery_url");
    let agents = section.texts("agents").unwrap_or_default();
    let services = section.texts("services").unwrap_or_default();
    if let Some(both) = agents.iter().find(|client| services.contains(client)) {
        section.fault("agents", format!("`{both}` is also among `services`"));
    }
    let claims = claims(section.section("claims"));
    let cooldown = section.millis("cooldown_ms", default.cooldown, 1..=600_000);
    let refresh = section.millis("refresh_ms", default.refresh, 1..=86_400_000);
    let fetch_timeout = section.millis("fetch_timeout_ms", default.fetch_timeout, 1..=60_000);
    if cooldown > refresh {
        section.fault(
            "cooldown_ms",
            "longer than `refresh_ms`; a due refresh would have to wait",
        );
    }
    if let Some(issuer) = &issuer
        && let Err(error) = HttpSource::new(issuer, discovery_url.as_deref(), fetch_timeout)
    {
        section.fault("issuer", error.to_string());
    }
    section.finish();
    Some(IssuerConfig {
        issuer: issuer?,
        audience: audience?,
        types,
        discovery_url,
        agents,
        services,
        claims,
        cooldown,
        refresh,
        fetch_timeout,
    })
}

fn claims(mut section: Section<'_>) -> ClaimNames {
    let default = ClaimNames::default();
    let claims = ClaimNames {
        tenants: section.text("tenants").unwrap_or(default.tenants),
        grants: section.text("grants").unwrap_or(default.grants),
        client: section.text("client").unwrap_or(default.client),
    };
    section.finish();
    claims
}

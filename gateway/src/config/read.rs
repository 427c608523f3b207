//! From the file's text to a [`Config`]: section by section, then the rules
//! that join sections.

use std::net::SocketAddr;
use std::path::PathBuf;

use http::Uri;
use interlock_policies::Mode;
use interlock_surface::{SERVICES, TIMEOUTS};
use toml::Table;

use super::auth::{AuthConfig, ClaimNames, IssuerConfig};
use super::fault::ConfigFaults;
use super::secret::Secret;
use super::section::{Reading, Section, millis};
use super::service::{KeySource, ServiceConfig};
use super::upstream::UpstreamConfig;
use super::{
    Config, Environment, LimitsConfig, ListenConfig, PoliciesConfig, StoreConfig, loopback,
};
use crate::authn::discovery::HttpSource;
use crate::edge::host::Authority;
use crate::grant::Keyring;

/// Variables of the binary itself, which are no keys of the file.
const OURS: [&str; 2] = ["INTERLOCK_CONFIG", "INTERLOCK_LOG"];

pub(super) fn config(text: &str, env: &Environment) -> Result<Config, ConfigFaults> {
    let table: Table = text
        .parse()
        .map_err(|error: toml::de::Error| syntax(text, &error))?;
    let reading = Reading::new(env);
    let config = sections(Section::root(&reading, table));
    for name in env.keys().filter(|name| name.starts_with("INTERLOCK_")) {
        if !OURS.contains(&name.as_str()) && !reading.asked.borrow().contains(name) {
            reading.fault(
                name,
                "this variable overrides nothing; remove it or correct its name",
            );
        }
    }
    match (ConfigFaults::of(reading.faults.into_inner()), config) {
        (None, Some(config)) => Ok(config),
        (Some(faults), _) => Err(faults),
        (None, None) => Err(ConfigFaults::single("", "the configuration is incomplete")),
    }
}

/// Where the parser stopped, without the line's text: it may hold a secret.
fn syntax(text: &str, error: &toml::de::Error) -> ConfigFaults {
    let line = error.span().map_or(1, |span| {
        let before = text.get(..span.start).unwrap_or(text);
        before.matches('\n').count() + 1
    });
    ConfigFaults::single(
        format!("line {line}"),
        format!("not TOML: {}", error.message()),
    )
}

fn sections(mut root: Section<'_>) -> Option<Config> {
    let auth = auth(root.section("auth"));
    let mode = auth.as_ref().map(|auth| auth.mode);
    let listen = listen(root.section("listen"), mode);
    let store = store(root.section("store"));
    let policies = policies(root.section("policies"));
    let services = services(&mut root);
    let audit = directory(root.section("audit"), "where decision records go");
    let state = directory(
        root.section("state"),
        "where key sets and registry snapshots are kept",
    );
    let limits = limits(root.section("limits"));
    let upstream = UpstreamConfig::read(root.section("upstream"));
    waits(&root, store.as_ref(), &limits, &upstream);
    root.finish();
    Some(Config {
        listen: listen?,
        auth: auth?,
        store: store?,
        policies: policies?,
        services,
        audit: audit?,
        state: state?,
        limits,
        upstream,
    })
}

fn listen(mut section: Section<'_>, mode: Option<Mode>) -> Option<ListenConfig> {
    let address = address(&mut section, "address", 8080);
    let ops = address_of_ops(&mut section);
    let hosts = section.texts("hosts");
    let named = hosts.is_some();
    let hosts: Vec<Authority> = hosts
        .unwrap_or_default()
        .iter()
        .filter_map(|host| {
            let parsed = Authority::parse(host).ok();
            if parsed.is_none() {
                section.fault("hosts", format!("`{host}` is not `name` or `name:port`"));
            }
            parsed
        })
        .collect();
    match mode {
        Some(Mode::Open) if !address.ip().is_loopback() => section.fault(
            "address",
            "open mode needs no credentials and listens on loopback only; use `127.0.0.1`, or set `auth.mode = \"enforced\"`",
        ),
        Some(Mode::Open) if named => section.fault(
            "hosts",
            "open mode answers for loopback names only; remove the key",
        ),
        Some(Mode::Enforced) if !named => section.fault(
            "hosts",
            "missing; list the authorities callers use, such as `[\"gateway.example\"]`",
        ),
        _ => {}
    }
    if address == ops && address.port() != 0 {
        section.fault(
            "ops",
            "the same address as `listen.address`; give it another port",
        );
    }
    section.finish();
    Some(ListenConfig {
        address,
        ops,
        hosts,
    })
}

fn address(section: &mut Section<'_>, key: &str, port: u16) -> SocketAddr {
    section
        .parsed(key, "an address such as `127.0.0.1:8080`", |text| {
            text.parse().ok()
        })
        .unwrap_or(loopback(port))
}

fn address_of_ops(section: &mut Section<'_>) -> SocketAddr {
    address(section, "ops", 8081)
}

fn auth(mut section: Section<'_>) -> Option<AuthConfig> {
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

fn store(mut section: Section<'_>) -> Option<StoreConfig> {
    let kind = section.required("kind", "`\"embedded\"` or `\"redis\"`");
    let store = match kind.as_deref() {
        Some("embedded") => section
            .path("path", "the SQLite file")
            .map(|path| StoreConfig::Embedded { path }),
        Some("redis") => redis(&mut section),
        Some(other) => {
            section.fault("kind", format!("`{other}` is not `embedded` or `redis`"));
            None
        }
        None => None,
    };
    // With the kind in doubt, its keys are not unknown.
    if store.is_some() {
        section.finish();
    }
    store
}

fn redis(section: &mut Section<'_>) -> Option<StoreConfig> {
    let plain = section.text("url");
    let url = match plain {
        Some(url) if url.contains('@') => {
            section.fault(
                "url",
                "credentials do not belong in the file; name a variable with `url_env` or a file with `url_file`",
            );
            None
        }
        Some(url) => Some(url),
        None => secret(section, "url_env", "url_file").map(|(_, url)| url),
    };
    let url = url.filter(|url| {
        let redis = ["redis://", "rediss://", "redis+unix://", "unix://"]
            .iter()
            .any(|scheme| url.starts_with(scheme));
        if !redis {
            section.fault("url", "a `redis://host:port` address is expected");
        }
        redis
    });
    let prefix = section
        .text("prefix")
        .unwrap_or_else(|| "interlock".to_owned());
    if prefix.contains(['{', '}']) {
        section.fault(
            "prefix",
            "braces would change the hash slot; leave them out",
        );
    }
    Some(StoreConfig::Redis {
        timeout: section.millis("timeout_ms", millis(500), 1..=10_000),
        pool: section.number("pool", 16, 1..=1_024),
        url: Secret::new(url?),
        prefix,
    })
}

fn policies(mut section: Section<'_>) -> Option<PoliciesConfig> {
    let path = section.path("path", "the directory of the policy bundle");
    // A policy edit is live within two seconds.
    let poll = section.millis("poll_ms", millis(500), 50..=2_000);
    section.finish();
    Some(PoliciesConfig { path: path?, poll })
}

fn directory(mut section: Section<'_>, what: &str) -> Option<PathBuf> {
    let path = section.path("directory", &format!("the directory {what}"));
    section.finish();
    path
}

fn services(root: &mut Section<'_>) -> Vec<ServiceConfig> {
    let services: Vec<ServiceConfig> = root
        .sections("service")
        .into_iter()
        .filter_map(service)
        .collect();
    for (index, one) in services.iter().enumerate() {
        if services
            .iter()
            .take(index)
            .any(|other| other.name == one.name)
        {
            root.fault("service", format!("`{}` is listed twice", one.name));
        }
    }
    services
}

fn service(mut section: Section<'_>) -> Option<ServiceConfig> {
    let name = section.required(
        "name",
        "the service of the surface table, such as `\"drones\"`",
    );
    let name = name.filter(|name| {
        let known =
            SERVICES.contains(&name.as_str()) && !["gateway", "ops"].contains(&name.as_str());
        if !known {
            section.fault(
                "name",
                format!("`{name}` is no vehicle service of the surface"),
            );
        }
        known
    });
    let url = if section.given("url") {
        section.parsed("url", "`http://host:port` without a path", service_url)
    } else {
        section.fault("url", "missing; write `http://host:port`");
        None
    };
    let object = section.required(
        "object",
        "the id of the object that rows without one are judged on",
    );
    let keys =
        secret(&mut section, "key_env", "key_file").and_then(
            |(source, text)| match Keyring::parse(&text) {
                Ok(keys) => Some((source, keys)),
                Err(error) => {
                    let key = match source {
                        KeySource::Variable(_) => "key_env",
                        KeySource::File(_) => "key_file",
                    };
                    section.fault(key, error.to_string());
                    None
                }
            },
        );
    section.finish();
    let (key_source, keys) = keys?;
    Some(ServiceConfig {
        name: name?,
        url: url?,
        object: object?,
        key_source,
        keys,
    })
}

fn service_url(text: &str) -> Option<Uri> {
    let url: Uri = text.parse().ok()?;
    let plain = url.scheme_str() == Some("http")
        && url.path() == "/"
        && url.query().is_none()
        && Authority::parse(url.authority()?.as_str()).is_ok();
    plain.then_some(url)
}

/// A secret from a variable or a file, never from the configuration itself.
fn secret(section: &mut Section<'_>, env: &str, file: &str) -> Option<(KeySource, String)> {
    let source = match (section.text(env), section.text(file)) {
        (Some(name), None) => KeySource::Variable(name),
        (None, Some(path)) => KeySource::File(path.into()),
        (None, None) => {
            section.fault(
                env,
                format!("missing; name a variable here, or a file with `{file}`"),
            );
            return None;
        }
        (Some(_), Some(_)) => {
            section.fault(env, format!("given together with `{file}`; keep one"));
            return None;
        }
    };
    match source.read(section.reading().env) {
        Ok(text) => {
            if let KeySource::Variable(name) = &source {
                section.reading().variable(name);
            }
            Some((source, text))
        }
        Err(error) => {
            let key = if matches!(source, KeySource::Variable(_)) {
                env
            } else {
                file
            };
            section.fault(key, error.to_string());
            None
        }
    }
}

fn limits(mut section: Section<'_>) -> LimitsConfig {
    let usual = LimitsConfig::default();
    let limits = LimitsConfig {
        connections: section.number("connections", usual.connections, 16..=100_000),
        header_read_timeout: section.millis(
            "header_read_timeout_ms",
            usual.header_read_timeout,
            100..=10_000,
        ),
        body_read_timeout: section.millis(
            "body_read_timeout_ms",
            usual.body_read_timeout,
            100..=30_000,
        ),
        max_concurrent: section.number("max_concurrent", usual.max_concurrent, 1..=100_000),
        keys_per_caller: section.number("keys_per_caller", usual.keys_per_caller, 1..=1_000_000),
        plans_per_caller: section.number("plans_per_caller", usual.plans_per_caller, 1..=10_000),
    };
    section.finish();
    limits
}

/// Waits that stand inside other waits must be shorter, or the outer one hides
/// the reason.
fn waits(
    root: &Section<'_>,
    store: Option<&StoreConfig>,
    limits: &LimitsConfig,
    upstream: &UpstreamConfig,
) {
    if limits.header_read_timeout > limits.body_read_timeout {
        root.fault(
            "limits.header_read_timeout_ms",
            "longer than `limits.body_read_timeout_ms`; a head is smaller than a body",
        );
    }
    let overridden = |name| upstream.timeouts.iter().find(|one| one.name == name);
    let shortest = TIMEOUTS
        .iter()
        .map(|class| overridden(class.name).map_or(millis(class.gateway_ms), |one| one.gateway))
        .min();
    if let (Some(StoreConfig::Redis { timeout, .. }), Some(shortest)) = (store, shortest)
        && *timeout >= shortest
    {
        root.fault(
            "store.timeout_ms",
            format!(
                "not shorter than the shortest gateway deadline, {} ms; lower it",
                shortest.as_millis()
            ),
        );
    }
}

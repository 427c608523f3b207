//! From the file's text to a [`Config`]: section by section, then the rules
//! that join sections.

use std::net::SocketAddr;
use std::path::PathBuf;

use interlock_policies::Mode;
use interlock_surface::TIMEOUTS;
use toml::Table;

use super::fault::ConfigFaults;
use super::section::{Reading, Section, millis};
use super::service::ServiceConfig;
use super::store::StoreConfig;
use super::upstream::UpstreamConfig;
use super::{
    Config, Environment, LimitsConfig, ListenConfig, PoliciesConfig, auth, loopback, service, store,
};
use crate::edge::host::Authority;

/// Variables of the binary itself, which are no keys of the file.
const OURS: [&str; 3] = ["INTERLOCK_CONFIG", "INTERLOCK_CRASH_AT", "INTERLOCK_LOG"];

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
    let who = auth::read(root.section("auth"));
    let mode = who.as_ref().map(|auth| auth.mode);
    let listen = listen(root.section("listen"), mode);
    let kept = store::read(root.section("store"));
    let policies = policies(root.section("policies"));
    let services = services(&mut root);
    let audit = directory(root.section("audit"), "where decision records go");
    let state = directory(
        root.section("state"),
        "where key sets and registry snapshots are kept",
    );
    let limits = limits(root.section("limits"));
    let upstream = UpstreamConfig::read(root.section("upstream"));
    waits(&root, kept.as_ref(), &limits, &upstream);
    root.finish();
    Some(Config {
        listen: listen?,
        auth: who?,
        store: kept?,
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
        .filter_map(service::read)
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
        lease_margin: section.millis("lease_margin_ms", usual.lease_margin, 100..=60_000),
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

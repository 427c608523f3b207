//! The configuration: read once, every fault reported at once, secrets never shown.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use interlock_guard::KeySet;
use jiff::SignedDuration;
use thiserror::Error;
use toml::Table;

use crate::crash::{CRASH_VARIABLE, Crash};
use crate::device::leases::followed_within;
use crate::records::Place;
use crate::service::settings::{Limits, Settings, Timeouts};
use crate::sim::ProfileName;

mod fields;
#[cfg(test)]
mod tests;

use fields::{Fields, host_and_port, identifier, named};

/// The environment variable with the keys; it wins over the file.
pub const KEYS_VARIABLE: &str = "INTERLOCK_KEY_MOWERS";

/// The environment variable with the address of the database, which may hold a password; it wins
/// over the file.
pub const RECORDS_VARIABLE: &str = "INTERLOCK_MOWERS_RECORDS_URL";

/// The environment variable with the address of the bus, which may hold a password; it wins over
/// the file.
pub const BUS_VARIABLE: &str = "INTERLOCK_MOWERS_BUS_URL";

/// Each layer of a preview waits at least this much longer than the one inside of it.
const GAP: u64 = 2;

/// Everything the service must be told.
#[derive(Debug)]
pub struct Config {
    /// Where to listen for the gateway.
    pub listen: SocketAddr,
    /// Where to tell operators how it goes; nowhere unless it is configured.
    pub ops: Option<SocketAddr>,
    /// An account that is made at the start where it is missing, with a plan that includes
    /// everything: for the open mode.
    pub account: Option<String>,
    /// The keys shared with the gateway.
    pub keys: KeySet,
    /// They come from the environment, which never changes in a running process.
    pub keys_are_fixed: bool,
    /// The gateways' operations listeners, `host:port`; none: nothing is told and nothing judged.
    pub gateway_ops: Vec<String>,
    /// Where the records are.
    pub records: Place,
    /// Where the bus is.
    pub bus: BusPlace,
    /// What the handlers must know.
    pub settings: Settings,
    /// The simulated mowers of this process.
    pub simulator: Simulator,
    /// This replica of the service: the same at each start of it, and no other's.
    pub replica: String,
    /// The shard that a device gateway is.
    pub shard: String,
    /// Where a device gateway keeps what a restart must not forget.
    pub state: PathBuf,
    /// Where a test wants this process to end.
    pub crash: Crash,
}

/// Where the bus is.
#[derive(Clone, PartialEq, Eq)]
pub enum BusPlace {
    /// Inside of this process; then so are the device gateway and its mowers.
    Local,
    /// A NATS server with JetStream, which other replicas and the device gateways share.
    Nats {
        /// May hold a password.
        url: String,
        /// How many servers keep each stream.
        replicas: usize,
    },
}

impl std::fmt::Debug for BusPlace {
    /// Without the address, which may hold a password.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Local => "Local",
            Self::Nats { .. } => "Nats",
        })
    }
}

/// How mowers are simulated.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulator {
    /// Everything random follows from it.
    pub seed: u64,
    /// How much faster than life, 1 to 100.
    pub speed: f64,
    /// The profile of a mower whose options name none.
    pub profile: Option<ProfileName>,
}

/// Everything wrong with a configuration.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{}", .0.join("\n"))]
pub struct ConfigError(pub Vec<String>);

impl Config {
    /// Reads the text of the file; `environment` gives the value of a variable, and `file` the
    /// text of another file.
    ///
    /// # Errors
    /// Every fault found, each naming its field.
    pub fn read(
        text: &str,
        environment: impl Fn(&str) -> Option<String>,
        file: impl Fn(&Path) -> io::Result<String>,
    ) -> Result<Self, ConfigError> {
        let table = text.parse::<Table>().map_err(|error| {
            // The parser's own display quotes the faulty line, which may hold a key.
            let place = error.span().map_or_else(String::new, |span| {
                let before = text.get(..span.start).unwrap_or_default();
                format!(" in line {}", before.lines().count().max(1))
            });
            ConfigError(vec![format!("not TOML{place}: {}", error.message())])
        })?;
        let mut fields = Fields::new(table);
        let listen = fields.required("listen", address);
        let ops = fields.optional("ops", address);
        let account = fields.optional("account", identifier);
        let gateway_ops = fields.texts("gateway_ops", |text| match text.strip_prefix("http://") {
            Some(rest) => host_and_port(rest.trim_end_matches('/')),
            None => Err("must be `http://host:port`, or a list of those".to_owned()),
        });
        let from_environment = environment(KEYS_VARIABLE);
        let keys_are_fixed = from_environment.is_some();
        let keys = fields.keys(KEYS_VARIABLE, from_environment, file);
        let spool = fields.optional("spool", path);
        let export = fields.optional("export", path);
        let replica = fields.optional("replica", identifier);
        let shard = fields.optional("shard", identifier);
        let state = fields.optional("state", path);
        let records = records(&mut fields, environment(RECORDS_VARIABLE));
        let bus = bus(&mut fields, environment(BUS_VARIABLE));
        if matches!(bus, Some(BusPlace::Nats { .. })) && replica.is_none() {
            fields.wrong(
                "replica",
                "is required where the bus is shared: it names this replica, the same at each \
                 start of it, and no other's",
            );
        }
        let limits = limits(&mut fields);
        let timeouts = timeouts(&mut fields);
        let mut settings = settings(&mut fields);
        settings.limits = limits;
        settings.timeouts = timeouts;
        settings.export = export;
        if let Some(spool) = spool {
            settings.spool = spool;
        }
        let simulator = simulator(&mut fields);
        let crash = Crash::parse(environment(CRASH_VARIABLE).as_deref());
        let crash = crash.map_err(|error| fields.fault(error.to_string()));
        let faults = fields.end();
        match (listen, keys, records, bus, crash) {
            (Some(listen), Some(keys), Some(records), Some(bus), Ok(crash))
                if faults.is_empty() =>
            {
                Ok(Self {
                    listen,
                    ops,
                    account,
                    keys,
                    keys_are_fixed,
                    gateway_ops,
                    records,
                    bus,
                    settings,
                    simulator,
                    replica: replica.unwrap_or_else(|| "one".to_owned()),
                    shard: shard.unwrap_or_else(|| "local".to_owned()),
                    state: state.unwrap_or_else(|| PathBuf::from("device-gateway")),
                    crash,
                })
            }
            _ => Err(ConfigError(faults)),
        }
    }
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let read = text.parse::<SocketAddr>();
    read.map_err(|_| "must be `address:port`".to_owned())
}

fn path(text: &str) -> Result<PathBuf, String> {
    match text {
        "" => Err("must be the path of a file".to_owned()),
        path => Ok(PathBuf::from(path)),
    }
}

/// SECURITY: no fault shows the address, which may hold a password.
fn records(fields: &mut Fields, address: Option<String>) -> Option<Place> {
    fields.table("records", |fields| {
        let kind = fields.optional("kind", named(&["sqlite", "postgres"]));
        let path = fields.optional("path", path);
        let url = fields.optional("url", |text| Ok(text.to_owned()));
        match (kind.as_deref(), path, address.or(url)) {
            (Some("postgres"), None, Some(url)) => {
                let known = ["postgres://", "postgresql://"];
                match known.iter().any(|scheme| url.starts_with(scheme)) {
                    true => Some(Place::Postgres(url)),
                    false => {
                        fields.wrong("url", "must begin with `postgres://`");
                        None
                    }
                }
            }
            (Some("postgres"), _, None) => {
                let missing = format!("is required, or in the environment {RECORDS_VARIABLE}");
                fields.wrong("url", &missing);
                None
            }
            (Some("postgres"), Some(_), _) => {
                fields.wrong("path", "belongs to `kind = \"sqlite\"`");
                None
            }
            (_, Some(path), None) => Some(Place::File(path)),
            (_, None, None) => {
                fields.wrong("path", "is required");
                None
            }
            (_, _, Some(_)) => {
                fields.wrong("url", "belongs to `kind = \"postgres\"`");
                None
            }
        }
    })
}

/// SECURITY: no fault shows the address, which may hold a password.
fn bus(fields: &mut Fields, address: Option<String>) -> Option<BusPlace> {
    fields.table("bus", |fields| {
        let kind = fields.optional("kind", named(&["local", "nats"]));
        let url = fields.optional("url", |text| Ok(text.to_owned()));
        let replicas = fields.whole("replicas", 1, 1..=5);
        match (kind.as_deref(), address.or(url)) {
            (Some("nats"), Some(url)) => Some(BusPlace::Nats {
                url,
                replicas: usize::try_from(replicas).unwrap_or(1),
            }),
            (Some("nats"), None) => {
                let missing = format!("is required, or in the environment {BUS_VARIABLE}");
                fields.wrong("url", &missing);
                None
            }
            (_, None) => Some(BusPlace::Local),
            (_, Some(_)) => {
                fields.wrong("url", "belongs to `kind = \"nats\"`");
                None
            }
        }
    })
}

fn limits(fields: &mut Fields) -> Limits {
    let usual = Limits::default();
    let read = fields.table("limits", |fields| {
        let mut count = |name, usual: u32, most| {
            let read = fields.whole(name, u64::from(usual), 1..=most);
            u32::try_from(read).unwrap_or(usual)
        };
        Some(Limits {
            sites: count("sites", usual.sites, 100_000),
            groups: count("groups", usual.groups, 100_000),
            mowers: count("mowers", usual.mowers, 1_000_000),
            groups_of_mower: count("groups_of_mower", usual.groups_of_mower, 64),
            bulk: count("bulk", usual.bulk, 10_000),
            previews_of_account: count("previews_of_account", usual.previews_of_account, 1_000),
            previews_a_minute: count("previews_a_minute", usual.previews_a_minute, 10_000),
        })
    });
    read.unwrap_or(usual)
}

fn timeouts(fields: &mut Fields) -> Timeouts {
    let usual = Timeouts::default();
    let read = fields.table("timeouts", |fields| {
        let mut seconds = |name, usual: Duration| fields.whole(name, usual.as_secs(), 1..=3_600);
        let layers = [
            ("mower", seconds("mower", usual.mower)),
            ("service", seconds("service", usual.service)),
            ("gateway", seconds("gateway", usual.gateway)),
            ("client", seconds("client", usual.client)),
        ];
        for (inner, outer) in layers.iter().zip(layers.iter().skip(1)) {
            if outer.1 < inner.1.saturating_add(GAP) {
                let text = format!(
                    "must be at least {GAP} s more than `{}`, so that each layer tells of its \
                     own timeout: {} s is not after {} s",
                    inner.0, outer.1, inner.1
                );
                fields.wrong(outer.0, &text);
            }
        }
        let [_, (_, service), ..] = layers;
        if let Some(most) = gateway_waits().filter(|most| service.saturating_add(GAP) > *most) {
            let text = format!(
                "must be at least {GAP} s less than the {most} s that a gateway waits for a path \
                 preview, not {service} s"
            );
            fields.wrong("service", &text);
        }
        let [mower, service, gateway, client] =
            layers.map(|(_, seconds)| Duration::from_secs(seconds));
        Some(Timeouts {
            mower,
            service,
            gateway,
            client,
        })
    });
    read.unwrap_or(usual)
}

/// The seconds that every gateway waits for a path preview, at least: what its
/// configuration may only raise.
fn gateway_waits() -> Option<u64> {
    let mut classes = interlock_surface::TIMEOUTS.iter();
    let class = classes.find(|class| class.name == "path-preview")?;
    Some(u64::from(class.attempt_ms) / 1_000)
}

fn settings(fields: &mut Fields) -> Settings {
    const DAY: u64 = 86_400;
    let (mut stop, mut lease, mut most, mut days, mut safety) = (10, 6, 300, 90, 3 * 365);
    fields.table("settings", |fields| {
        stop = fields.whole("emergency_stop_ttl_seconds", stop, 1..=60);
        lease = fields.whole("shard_lease_seconds", lease, 2..=60);
        let followed = followed_within(Duration::from_secs(lease));
        if followed > Duration::from_secs(stop) {
            fields.wrong(
                "shard_lease_seconds",
                &format!(
                    "leaves a mower whose shard dies without another one for {followed:?}, which \
                     a stop with a life of {stop} s does not outlive: lower it, or raise \
                     `emergency_stop_ttl_seconds`"
                ),
            );
        }
        // The stream of commands keeps them for five minutes; a longer life would outlast it.
        most = fields.whole("command_ttl_max_seconds", most, 1..=300);
        days = fields.whole("command_retention_days", days, 1..=3_650);
        safety = fields.whole("safety_retention_days", safety, 1..=36_500);
        Some(())
    });
    Settings {
        limits: Limits::default(),
        timeouts: Timeouts::default(),
        emergency_stop_ttl: Duration::from_secs(stop),
        shard_lease: SignedDuration::from_secs(i64::try_from(lease).unwrap_or(6)),
        command_ttl_max: Duration::from_secs(most),
        command_retention: Duration::from_secs(days.saturating_mul(DAY)),
        safety_retention: Duration::from_secs(safety.saturating_mul(DAY)),
        export: None,
        judged_within: Duration::from_millis(300),
        spool: PathBuf::from("stops.spool"),
    }
}

fn simulator(fields: &mut Fields) -> Simulator {
    let mut read = Simulator {
        seed: 1,
        speed: 1.0,
        profile: None,
    };
    fields.table("simulator", |fields| {
        read.seed = fields.whole("seed", 1, 0..=u64::from(u32::MAX));
        read.speed = fields.number("speed", 1.0, 1.0..=100.0);
        read.profile = fields.optional("profile", profile);
        Some(())
    });
    read
}

fn profile(name: &str) -> Result<ProfileName, String> {
    ProfileName::named(name).ok_or_else(|| {
        let known = ProfileName::ALL.map(ProfileName::as_str).join("`, `");
        format!("must be one of `{known}`")
    })
}

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use super::{BusPlace, Config};
use crate::records::Place;
use crate::service::settings::{Limits, Settings, Timeouts};

const KEY: &str = "k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

fn read(text: &str) -> Result<Config, Vec<String>> {
    Config::read(text, |_| None, |_| Err(io::ErrorKind::NotFound.into())).map_err(|error| error.0)
}

fn check(text: &str, expected: &[&str]) {
    let faults = read(text).err().unwrap_or_default();
    assert_eq!(faults, expected, "{text}");
}

fn least() -> String {
    format!("listen = \"127.0.0.1:0\"\nkeys = [\"{KEY}\"]\n")
}

#[test]
fn little_must_be_said() {
    let text = format!("{}[records]\npath = \"m.db\"\n", least());
    let config = read(&text).unwrap();
    assert_eq!(config.records, Place::File(PathBuf::from("m.db")));
    assert_eq!(config.bus, BusPlace::Local);
    assert_eq!(config.settings.limits, Limits::default());
    assert_eq!(config.settings.timeouts, Timeouts::default());
    assert_eq!(config.settings.emergency_stop_ttl, Duration::from_secs(10));
    assert!(config.ops.is_none() && config.gateway_ops.is_empty() && config.account.is_none());
}

#[test]
fn all_can_be_said() {
    let text = format!(
        "{}ops = \"[::1]:9465\"
        account = \"acme\"
        gateway_ops = [\"http://127.0.0.1:1\", \"http://127.0.0.1:2/\"]
        spool = \"s\"
        shard = \"one\"
        replica = \"b\"
        state = \"d\"
        [records]
        kind = \"postgres\"
        url = \"postgres://u:p@h/d\"
        [bus]
        kind = \"nats\"
        url = \"nats://h:4222\"
        replicas = 3
        [limits]
        mowers = 10000
        [timeouts]
        mower = 10
        service = 12
        gateway = 14
        client = 16
        [settings]
        emergency_stop_ttl_seconds = 5
        shard_lease_seconds = 3
        command_ttl_max_seconds = 60
        command_retention_days = 1
        [simulator]
        seed = 7
        speed = 20
        profile = \"luba\"",
        least()
    );
    let config = read(&text).unwrap();
    assert_eq!(config.ops, "[::1]:9465".parse().ok());
    assert_eq!(config.gateway_ops, ["127.0.0.1:1", "127.0.0.1:2"]);
    assert_eq!(
        config.records,
        Place::Postgres("postgres://u:p@h/d".to_owned())
    );
    assert!(matches!(config.bus, BusPlace::Nats { replicas: 3, .. }));
    assert_eq!(
        (config.shard.as_str(), config.replica.as_str()),
        ("one", "b")
    );
    assert_eq!(config.settings.limits.mowers, 10_000);
    assert_eq!(config.settings.shard_lease.as_secs(), 3);
    assert_eq!(config.settings.timeouts.client, Duration::from_secs(16));
    assert_eq!(
        config.settings.command_retention,
        Duration::from_secs(86_400)
    );
    assert_eq!((config.simulator.seed, config.simulator.speed), (7, 20.0));
}

#[test]
fn every_fault_is_told_at_once() {
    check(
        "listen = \"here\"
        ops = \"localhost\"
        gateway_ops = \"https://h\"
        color = 1
        [records]
        kind = \"oracle\"
        path = \"m.db\"
        [bus]
        kind = \"nats\"
        [limits]
        mowers = 0
        [simulator]
        speed = 1000
        profile = \"vacuum\"",
        &[
            "`listen` must be `address:port`",
            "`ops` must be `address:port`",
            "`gateway_ops` must be `http://host:port`, or a list of those",
            "`key_file` or `keys` is required, or in the environment INTERLOCK_KEY_MOWERS",
            "`records.kind` must be one of `sqlite`, `postgres`",
            "`bus.url` is required, or in the environment INTERLOCK_MOWERS_BUS_URL",
            "`limits.mowers` must be a whole number from 1 to 1000000",
            "`simulator.speed` must be a number from 1 to 100",
            "`simulator.profile` must be one of `luba`, `automower`, `landroid`, `openmower`",
            "`color` is not a field",
        ],
    );
}

#[test]
fn a_stop_outlives_a_change_of_hands() {
    let with = |stop: u8, lease: u8, expected: &[&str]| {
        let text = format!(
            "{}[records]\npath = \"m\"\n[settings]\nemergency_stop_ttl_seconds = {stop}\n\
             shard_lease_seconds = {lease}",
            least()
        );
        check(&text, expected);
    };
    with(10, 7, &[]);
    with(60, 57, &[]);
    let told = "`settings.shard_lease_seconds` leaves a mower whose shard dies without another one \
                for 11s, which a stop with a life of 10 s does not outlive: lower it, or raise \
                `emergency_stop_ttl_seconds`";
    with(10, 8, &[told]);
}

#[test]
fn replicas_on_a_shared_bus_have_names() {
    let text = format!(
        "{}[records]\npath = \"m\"\n[bus]\nkind = \"nats\"\nurl = \"nats://h\"",
        least()
    );
    let faults = read(&text).unwrap_err();
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("`replica` is required"), "{faults:?}");
}

#[test]
fn layers_must_end_one_after_the_other() {
    let check = |timeouts: &str, expected: &[&str]| {
        let text = format!("{}[records]\npath = \"m\"\n[timeouts]\n{timeouts}", least());
        check(&text, expected);
    };
    check("gateway = 87", &[]);
    check(
        "gateway = 86",
        &[
            "`timeouts.gateway` must be at least 2 s more than `service`, so that each layer tells \
           of its own timeout: 86 s is not after 85 s",
        ],
    );
    check(
        "service = 86\ngateway = 200\nclient = 300",
        &[
            "`timeouts.service` must be at least 2 s less than the 87 s that a gateway waits for a \
           path preview, not 86 s",
        ],
    );
    check(
        "mower = 95\nclient = 80",
        &[
            "`timeouts.service` must be at least 2 s more than `mower`, so that each layer tells \
             of its own timeout: 85 s is not after 95 s",
            "`timeouts.client` must be at least 2 s more than `gateway`, so that each layer tells \
             of its own timeout: 80 s is not after 88 s",
        ],
    );
}

#[test]
fn secrets_are_never_shown() {
    let text = format!(
        "{}[records]\nkind = \"postgres\"\nurl = \"mysql://user:hunter2@host\"\n[bus]\nurl = \"nats://a:hunter2@h\"",
        least()
    );
    let faults = read(&text).unwrap_err().join("\n");
    assert!(!faults.contains("hunter2"), "{faults}");
    let broken = read("keys = [\"k1:c2VjcmV0\"]\n[records]\npath = \"m\"")
        .unwrap_err()
        .join("\n");
    assert!(!broken.contains("c2VjcmV0"), "{broken}");
    let broken = read(&format!("keys = [\"{KEY}\"")).unwrap_err().join("\n");
    assert!(
        broken.starts_with("not TOML in line 1") && !broken.contains("AAAA"),
        "{broken}"
    );
}

/// What docs/MOWERS.md shows is what this version reads, and what it shows as defaults are those.
#[test]
fn the_documented_example_is_read() {
    let page = include_str!("../../../../docs/MOWERS.md");
    let example = page.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let shown = Config::read(example, |_| None, |_| Ok(KEY.to_owned())).unwrap();
    let usual = read(&format!("{}[records]\npath = \"m\"\n", least())).unwrap();
    let told = Settings {
        spool: shown.settings.spool.clone(),
        export: shown.settings.export.clone(),
        ..usual.settings
    };
    assert_eq!(shown.settings, told);
    assert_eq!(shown.bus, usual.bus);
    assert_eq!(
        (shown.replica, shown.shard),
        (usual.replica, usual.shard),
        "the names shown are the defaults"
    );
    assert_eq!(
        (shown.simulator.seed, shown.simulator.speed),
        (usual.simulator.seed, usual.simulator.speed)
    );
}

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use interlock_policies::Mode;

use super::auth::IssuerConfig;
use super::{Config, ConfigFaults, Environment, LimitsConfig, StoreConfig, UpstreamConfig};

/// 32 zero bytes.
const KEY: &str = "k1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

const OPEN: &str = r#"
auth.mode = "open"
audit.directory = "audit"
state.directory = "state"
policies.path = "bundle"
[store]
kind = "embedded"
path = "store.db"
[[service]]
name = "drones"
url = "http://127.0.0.1:9001"
object = "swarm-1"
key_env = "DRONES_KEY"
"#;

const ENFORCED: &str = r#"
audit.directory = "audit"
state.directory = "state"
policies.path = "bundle"
[listen]
hosts = ["gateway.example"]
[store]
kind = "embedded"
path = "store.db"
[auth]
mode = "enforced"
[[auth.issuers]]
issuer = "https://idp.example"
audience = "interlock"
"#;

fn environment(variables: &[(&str, &str)]) -> Environment {
    [("DRONES_KEY", KEY)]
        .iter()
        .chain(variables)
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect()
}

fn parse(text: &str) -> Result<Config, ConfigFaults> {
    Config::parse(text, &environment(&[]))
}

/// `from` replaced by `to` in a good file gives exactly this fault.
fn check(good: &str, from: &str, to: &str, key: &str, message: &str) {
    assert!(parse(good).is_ok());
    assert!(good.contains(from), "{from}");
    check_faults(&good.replacen(from, to, 1), &[(key, message)]);
}

fn check_faults(text: &str, expected: &[(&str, &str)]) {
    let faults = parse(text).unwrap_err();
    let found = faults.list();
    assert_eq!(found.len(), expected.len(), "{faults}");
    for ((key, message), fault) in expected.iter().zip(found) {
        assert_eq!(fault.key, *key, "{faults}");
        assert!(fault.message.contains(message), "{faults}");
    }
}

#[test]
fn a_short_file_gets_the_defaults() {
    let config = parse(OPEN).unwrap();
    assert_eq!(
        config.listen.address,
        SocketAddr::from(([127, 0, 0, 1], 8080))
    );
    assert_eq!(config.listen.ops, SocketAddr::from(([127, 0, 0, 1], 8081)));
    assert_eq!(config.auth.mode, Mode::Open);
    assert_eq!(config.limits, LimitsConfig::default());
    assert_eq!(config.upstream, UpstreamConfig::default());
    assert!(config.services[0].keys.decoding_key("k1").is_some());
    let config = parse(ENFORCED).unwrap();
    let expected = IssuerConfig::new("https://idp.example", "interlock");
    assert_eq!(config.auth.issuers, [expected]);
}

/// The blocks of the document are what they say: the defaults.
#[test]
fn the_documented_example_is_the_defaults() {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/CONFIGURATION.md");
    let document = std::fs::read_to_string(document).unwrap();
    let blocks: Vec<&str> = document
        .split("```toml\n")
        .skip(1)
        .map(|block| block.split("```").next().unwrap())
        .collect();
    let [example, redis, services] = blocks[..] else {
        panic!("three blocks, not {}", blocks.len());
    };
    let config = parse(example).unwrap();
    assert_eq!(config.limits, LimitsConfig::default());
    let issuer = &config.auth.issuers[0];
    let expected = IssuerConfig {
        discovery_url: issuer.discovery_url.clone(),
        agents: vec!["planner".to_owned()],
        services: vec!["scheduler".to_owned()],
        ..IssuerConfig::new("https://idp.example", "interlock")
    };
    assert_eq!(*issuer, expected);
    let [write] = &config.upstream.timeouts[..] else {
        panic!("one override");
    };
    let table = interlock_surface::TIMEOUTS
        .iter()
        .find(|class| class.name == "write")
        .unwrap();
    assert_eq!(write.gateway.as_millis(), u128::from(table.gateway_ms));
    assert_eq!(write.attempt.as_millis(), u128::from(table.attempt_ms));
    assert_eq!(write.connect.as_millis(), u128::from(table.connect_ms));
    let rest = UpstreamConfig {
        timeouts: Vec::new(),
        ..config.upstream.clone()
    };
    assert_eq!(rest, UpstreamConfig::default());
    assert_eq!(config.policies.poll, parse(OPEN).unwrap().policies.poll);

    // The second block replaces the first one's store.
    let (before, rest) = example.split_once("[store]").unwrap();
    let (_, after) = rest.split_once("[policies]").unwrap();
    let shared = [before, redis, "[policies]", after].concat();
    let StoreConfig::Redis {
        prefix,
        timeout,
        pool,
        ..
    } = parse(&shared).unwrap().store
    else {
        panic!("not Redis");
    };
    assert_eq!(
        (prefix.as_str(), timeout, pool),
        ("interlock", Duration::from_millis(500), 256)
    );

    // The third block replaces the first one's services; of it nothing is wrong
    // but that this machine does not have its keys.
    let (before, rest) = example.split_once("[[service]]").unwrap();
    let (_, after) = rest.split_once("[audit]").unwrap();
    let both = [before, "[audit]", after, services].concat();
    let faults = parse(&both).unwrap_err();
    let keys: Vec<&str> = faults.list().iter().map(|it| it.key.as_str()).collect();
    assert_eq!(keys.len(), 2, "{faults}");
    assert!(keys.iter().all(|key| key.ends_with("key_file")), "{faults}");
}

#[test]
fn all_faults_are_reported_at_once() {
    check_faults(
        r#"
        surprise = 1
        [listen]
        address = "localhost:8080"
        port = 8080
        [auth]
        mode = "none"
        [store]
        kind = "postgres"
        [limits]
        connections = -1
        [[service]]
        name = "boats"
        key_env = "NOWHERE"
        "#,
        &[
            ("auth.mode", "`none` is not `\"open\"`"),
            ("listen.address", "`localhost:8080` is not an address"),
            ("listen.port", "unknown key"),
            ("store.kind", "`postgres` is not `embedded` or `redis`"),
            (
                "policies.path",
                "missing; write the directory of the policy bundle",
            ),
            ("service[0].name", "`boats` is no vehicle service"),
            (
                "service[0].url",
                "missing; write `http://host:port`, or a list",
            ),
            ("service[0].object", "missing"),
            ("service[0].key_env", "the variable `NOWHERE` is not set"),
            ("audit.directory", "missing"),
            ("state.directory", "missing"),
            ("limits.connections", "from 16 to 100000"),
            ("surprise", "unknown key"),
        ],
    );
}

#[test]
fn open_mode_is_for_loopback() {
    let open = "auth.mode = \"open\"";
    let on = |address: &str| format!("{open}\nlisten.address = \"{address}\"");
    for address in ["0.0.0.0:8080", "192.168.1.5:8080", "[::]:8080"] {
        check(OPEN, open, &on(address), "listen.address", "loopback only");
    }
    for address in ["127.0.0.1:0", "[::1]:8080"] {
        assert!(parse(&OPEN.replace(open, &on(address))).is_ok());
    }
    let hosts = format!("{open}\nlisten.hosts = [\"a\"]");
    check(OPEN, open, &hosts, "listen.hosts", "remove the key");
    let issuers = "[[auth.issuers]]\nissuer = \"https://a\"\naudience = \"b\"\n[store]";
    check(
        OPEN,
        "[store]",
        issuers,
        "auth.issuers",
        "open mode ignores every token",
    );
}

#[test]
fn enforced_mode_needs_issuers_and_hosts() {
    check(
        ENFORCED,
        "hosts = [\"gateway.example\"]",
        "",
        "listen.hosts",
        "missing",
    );
    check(
        ENFORCED,
        "gateway.example",
        "a b",
        "listen.hosts",
        "`a b` is not",
    );
    let issuer = "[[auth.issuers]]\nissuer = \"https://idp.example\"\naudience = \"interlock\"";
    check(ENFORCED, issuer, "", "auth.issuers", "at least one");
    check(
        ENFORCED,
        "audience = \"interlock\"",
        "",
        "auth.issuers[0].audience",
        "missing",
    );
    for address in [
        "http://idp.example",
        "idp.example",
        "file:///etc",
        "https://a b",
    ] {
        let key = "auth.issuers[0].issuer";
        check(
            ENFORCED,
            "https://idp.example",
            address,
            key,
            "is not an `https` address",
        );
    }
    let loopback = ENFORCED.replace("https://idp.example", "http://127.0.0.1:9090");
    assert!(parse(&loopback).is_ok());
    let twice = format!("{ENFORCED}{issuer}");
    check_faults(&twice, &[("auth.issuers", "listed twice")]);
    let with = |line: &str| format!("audience = \"interlock\"\n{line}");
    let from = "audience = \"interlock\"";
    check(
        ENFORCED,
        from,
        &with("audiance = \"x\""),
        "auth.issuers[0].audiance",
        "unknown key",
    );
    check(
        ENFORCED,
        from,
        &with("claims.role = \"x\""),
        "auth.issuers[0].claims.role",
        "unknown key",
    );
    check(
        ENFORCED,
        from,
        &with("typ = \"JWT\""),
        "auth.issuers[0].typ",
        "a list",
    );
    let both = with("agents = [\"a\"]\nservices = [\"a\"]");
    check(
        ENFORCED,
        from,
        &both,
        "auth.issuers[0].agents",
        "also among `services`",
    );
    let order = with("cooldown_ms = 2000\nrefresh_ms = 1000");
    check(
        ENFORCED,
        from,
        &order,
        "auth.issuers[0].cooldown_ms",
        "longer than `refresh_ms`",
    );
}

#[test]
fn waits_nest() {
    let with = |lines: &str| format!("{OPEN}{lines}");
    let disordered = "[upstream.timeouts.stop]\nattempt_ms = 3000\n";
    check_faults(
        &with(disordered),
        &[("upstream.timeouts.stop", "the deadlines do not nest")],
    );
    let hasty = "[upstream.timeouts.path-preview]\nattempt_ms = 86999\n";
    check_faults(
        &with(hasty),
        &[(
            "upstream.timeouts.path-preview",
            "shorter than in the surface table",
        )],
    );
    let patient = "[upstream.timeouts.mower-stop]\nattempt_ms = 3000\nconnect_ms = 100\n";
    Config::parse(&with(patient), &environment(&[])).unwrap();
    check_faults(
        &with("[upstream.timeouts.halt]\nattempt_ms = 3000\n"),
        &[("upstream.timeouts.halt", "unknown key")],
    );
    check_faults(
        &with("[limits]\nbody_read_timeout_ms = 5000\n"),
        &[("limits.header_read_timeout_ms", "longer than")],
    );
    let redis = "kind = \"redis\"\nurl = \"redis://127.0.0.1\"\ntimeout_ms = ";
    let file = "kind = \"embedded\"\npath = \"store.db\"";
    assert!(parse(&OPEN.replace(file, &format!("{redis}1999"))).is_ok());
    check(
        OPEN,
        file,
        &format!("{redis}2000"),
        "store.timeout_ms",
        "2000 ms; lower it",
    );
}

#[test]
fn secrets_come_from_variables_and_files_only() {
    let inline = "key = \"k1:AAAA\"\nkey_env = \"DRONES_KEY\"";
    let key_env = "key_env = \"DRONES_KEY\"";
    check(OPEN, key_env, inline, "service[0].key", "unknown key");
    check(
        OPEN,
        key_env,
        "",
        "service[0].key_env",
        "missing; name a variable here",
    );
    let both = format!("{key_env}\nkey_file = \"x\"");
    check(OPEN, key_env, &both, "service[0].key_env", "keep one");
    let absent = "key_file = \"no-such-file\"";
    check(
        OPEN,
        key_env,
        absent,
        "service[0].key_file",
        "`no-such-file` cannot be read",
    );

    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("key");
    std::fs::write(
        &path,
        format!("# new\n{KEY}\n\n{}\n", KEY.replace("k1", "old")),
    )
    .unwrap();
    let file = OPEN.replace(key_env, &format!("key_file = \"{}\"", path.display()));
    let keys = parse(&file).unwrap().services.remove(0).keys;
    assert!(keys.decoding_key("k1").is_some());
    assert!(keys.decoding_key("old").is_some());

    let embedded = "kind = \"embedded\"\npath = \"store.db\"";
    let with = "kind = \"redis\"\nurl = \"redis://:hunter2@127.0.0.1\"";
    check(
        OPEN,
        embedded,
        with,
        "store.url",
        "credentials do not belong",
    );
    let shared = OPEN.replace(embedded, "kind = \"redis\"\nurl_env = \"STORE\"");
    let env = environment(&[("STORE", "redis://:hunter2@127.0.0.1")]);
    let config = Config::parse(&shared, &env).unwrap();
    let StoreConfig::Redis { url, .. } = &config.store else {
        panic!("not Redis");
    };
    assert_eq!(url.expose(), "redis://:hunter2@127.0.0.1");
    let shown = format!("{config:?}");
    assert!(
        !shown.contains("hunter2") && !shown.contains("[0, 0"),
        "{shown}"
    );
}

#[test]
fn a_password_in_an_address_is_not_repeated() {
    let text = OPEN.replace("http://127.0.0.1:9001", "http://me:hunter2@127.0.0.1:9001");
    let faults = parse(&text).unwrap_err().to_string();
    let expected = "service[0].url: `...@127.0.0.1:9001` is not `http://host:port` without a path";
    assert_eq!(faults, expected);
}

#[test]
fn a_service_may_have_several_addresses() {
    let list = |list: &str| OPEN.replace("\"http://127.0.0.1:9001\"", list);
    let urls = |text: &str| {
        let config = parse(text).unwrap();
        let urls = config.services[0].urls.iter();
        urls.map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(urls(OPEN), ["http://127.0.0.1:9001/"]);
    let two = list("[\"http://one:9001\", \"http://two:9001\"]");
    assert_eq!(urls(&two), ["http://one:9001/", "http://two:9001/"]);
    let check = |text: &str, messages: &[&str]| {
        let expected: Vec<_> = messages.iter().map(|it| ("service[0].url", *it)).collect();
        check_faults(&list(text), &expected);
    };
    check("[]", &["an empty list; write at least one"]);
    check("[\"\"]", &["a list of non-empty texts is expected"]);
    check("[9001]", &["a list of non-empty texts is expected"]);
    check("9001", &["a non-empty text is expected"]);
    check(
        "[\"one:9001\", \"http://two:9001\", \"http://me:hunter2@three:9001\"]",
        &[
            "`one:9001` is not `http://host:port`",
            "`...@three:9001` is not `http://host:port`",
        ],
    );
    check(
        "[\"http://one:1\", \"http://two:2\", \"http://ONE:1/\", \"http://one:1\", \"http://two:2\"]",
        &[
            "`http://ONE:1/` is listed twice; keep one",
            "`http://one:1/` is listed twice; keep one",
            "`http://two:2/` is listed twice; keep one",
        ],
    );
}

#[test]
fn variables_override_the_file() {
    let env = environment(&[
        ("INTERLOCK_LISTEN_ADDRESS", "127.0.0.1:9999"),
        ("INTERLOCK_LISTEN_HOSTS", "a.example, b.example:8443"),
        ("INTERLOCK_LIMITS_CONNECTIONS", "64"),
        ("INTERLOCK_UPSTREAM_TIMEOUTS_STOP_CONNECT_MS", "200"),
        ("INTERLOCK_CONFIG", "ignored"),
        ("PATH", "/bin"),
    ]);
    let text = format!("{ENFORCED}[upstream.timeouts.stop]\n");
    let config = Config::parse(&text, &env).unwrap();
    assert_eq!(
        config.listen.address,
        SocketAddr::from(([127, 0, 0, 1], 9999))
    );
    let hosts: Vec<_> = config
        .listen
        .hosts
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(hosts, ["a.example", "b.example:8443"]);
    assert_eq!(config.limits.connections, 64);
    assert_eq!(
        config.upstream.timeouts[0].connect,
        Duration::from_millis(200)
    );

    let env = environment(&[
        ("INTERLOCK_LIMITS_CONNECTION", "64"),
        ("INTERLOCK_LIMITS_MAX_CONCURRENT", "many"),
    ]);
    let faults = Config::parse(OPEN, &env).unwrap_err().to_string();
    let expected = "limits.max_concurrent: a whole number from 1 to 100000 is expected\n\
        INTERLOCK_LIMITS_CONNECTION: this variable overrides nothing; remove it or correct its name";
    assert_eq!(faults, expected);
}

#[test]
fn a_file_that_is_no_file_is_a_fault() {
    let missing = Config::load(Path::new("no-such-file"), &environment(&[])).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("no-such-file: the file cannot be read")
    );
    let faults = parse("[listen]\naddress = \"hunter2\n").unwrap_err();
    assert!(
        faults.to_string().starts_with("line 2: not TOML"),
        "{faults}"
    );
    assert!(!faults.to_string().contains("hunter2"), "{faults}");
}

use std::io;
use std::path::Path;

use super::{Config, ConfigError, KEYS_VARIABLE};
use crate::limits::Limits;

const KEY: &str = "drones-1:YW4gZXhhbXBsZSBrZXkgb2YgdGhlIGRyb25lcywgbm8h";

fn whole() -> String {
    format!(
        r#"
listen = "127.0.0.1:0"
swarm = "swarm-1"
account = "acme"
link = "127.0.0.1:9000"
database = "drones.db"
gateway_ops = "http://127.0.0.1:8081"
keys = ["{KEY}"]
[limits]
max_drone_count = 3
"#
    )
}

fn no_file(path: &Path) -> io::Result<String> {
    panic!("asked for {}", path.display());
}

fn check(text: &str, expected: &[&str]) {
    let ConfigError(faults) = Config::read(text, |_| None, no_file).unwrap_err();
    assert_eq!(faults, expected);
}

#[test]
fn a_whole_configuration_is_read() {
    let config = Config::read(&whole(), |_| None, no_file).unwrap();
    assert_eq!(config.swarm, "swarm-1");
    assert_eq!(config.gateway_ops.as_deref(), Some("127.0.0.1:8081"));
    assert_eq!(config.limits.max_drone_count, 3);
    assert_eq!(config.limits.max_waypoints, 100);
}

#[test]
fn every_fault_is_told_at_once() {
    check(
        r#"
listen = "nowhere"
swarm = ""
link = 9000
database = "drones.db"
gateway_ops = "https://gateway"
keys = ["drones-1:c2hvcnQ"]
colour = "red"
[limits]
max_drone_count = 0
"#,
        &[
            "`listen` must be `address:port`",
            "`swarm` must be 1 to 64 of `A-Z a-z 0-9 . _ : -`, first a letter or digit",
            "`account` is required",
            "`link` must be a string, not a value of type integer",
            "`gateway_ops` must be `http://host:port`",
            "`keys` is no key set: the secret of key `drones-1` has 5 bytes; at least 32 are needed",
            "limits: `max_drone_count` must be 1 to 100, not 0",
            "`colour` is not a field",
        ],
    );
}

#[test]
fn no_secret_is_shown() {
    let secret = KEY.split_once(':').unwrap().1;
    let config = Config::read(&whole(), |_| None, no_file).unwrap();
    let shown = format!("{config:?}");
    assert!(
        shown.contains("redacted") && !shown.contains(secret),
        "{shown}"
    );
    let broken = whole().replace("keys = [", "keys = [[");
    let error = Config::read(&broken, |_| None, no_file)
        .unwrap_err()
        .to_string();
    assert!(error.contains("line") && !error.contains(secret), "{error}");
}

#[test]
fn the_environment_wins_over_the_file() {
    let with = |name: &str, value: &str| {
        let (name, value) = (name.to_owned(), value.to_owned());
        let environment = move |asked: &str| (asked == name).then(|| value.clone());
        Config::read(&whole(), environment, no_file)
    };
    let error = with("INTERLOCK_KEY_DRONES", "x").unwrap_err().to_string();
    assert!(error.contains("INTERLOCK_KEY_DRONES"), "{error}");
    assert!(with("INTERLOCK_DRONES_CRASH_AT", "after-begin").is_ok());
    let error = with("INTERLOCK_DRONES_CRASH_AT", "somewhere").unwrap_err();
    assert!(
        error.to_string().contains("`somewhere` is no crash point"),
        "{error}"
    );
}

#[test]
fn keys_come_from_one_place_and_only_those_of_a_file_can_change() {
    let with_file = whole().replace(&format!("keys = [\"{KEY}\"]"), "key_file = \"drones.key\"");
    let read = |text: &str, variable: Option<&str>, file: &str| {
        let environment = |name: &str| {
            variable
                .filter(|_| name == KEYS_VARIABLE)
                .map(str::to_owned)
        };
        Config::read(text, environment, |path| {
            assert_eq!(path, Path::new("drones.key"));
            Ok(file.to_owned())
        })
    };
    let two = format!("{KEY}\n{}\n", KEY.replace("drones-1", "drones-2"));
    assert!(!read(&with_file, None, &two).unwrap().keys_are_fixed);
    assert!(
        read(&with_file, Some(KEY), "unread")
            .unwrap()
            .keys_are_fixed
    );
    let fault = |result: Result<Config, ConfigError>| result.unwrap_err().to_string();
    assert!(fault(read(&with_file, None, "x")).starts_with("`key_file` is no key set"));
    let both = format!("key_file = \"drones.key\"\n{}", whole());
    assert!(fault(read(&both, None, &two)).contains("two places"));
    let gone = Config::read(
        &with_file,
        |_| None,
        |_| Err(io::ErrorKind::NotFound.into()),
    );
    assert!(fault(gone).starts_with("`key_file` cannot be read"));
}

/// What docs/DRONES.md shows is what this version reads.
#[test]
fn the_documented_example_is_read() {
    let page = include_str!("../../../../docs/DRONES.md");
    let example = page.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let config = Config::read(example, |_| None, |_| Ok(KEY.to_owned())).unwrap();
    assert_eq!(
        config.limits,
        Limits::default(),
        "the limits shown are the defaults"
    );
}

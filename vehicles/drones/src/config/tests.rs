use super::{Config, ConfigError};

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

fn check(text: &str, expected: &[&str]) {
    let ConfigError(faults) = Config::read(text, |_| None).unwrap_err();
    assert_eq!(faults, expected);
}

#[test]
fn a_whole_configuration_is_read() {
    let config = Config::read(&whole(), |_| None).unwrap();
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
    let config = Config::read(&whole(), |_| None).unwrap();
    let shown = format!("{config:?}");
    assert!(
        shown.contains("redacted") && !shown.contains(secret),
        "{shown}"
    );
    let broken = whole().replace("keys = [", "keys = [[");
    let error = Config::read(&broken, |_| None).unwrap_err().to_string();
    assert!(error.contains("line") && !error.contains(secret), "{error}");
}

#[test]
fn the_environment_wins_over_the_file() {
    let with = |name: &str, value: &str| {
        let (name, value) = (name.to_owned(), value.to_owned());
        Config::read(&whole(), move |asked| {
            (asked == name).then(|| value.clone())
        })
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

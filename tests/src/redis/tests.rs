use super::{Redis, Setup};

const DURABLE: Setup = Setup {
    durable: true,
    eviction: "noeviction",
};

/// What a server started with `setup` has of a key after it was killed.
fn after_kill(setup: Setup) -> Option<String> {
    let mut redis = Redis::start_with(setup);
    redis.command::<()>(&["SET", "key", "value"]);
    redis.kill();
    redis.restart();
    redis.command(&["GET", "key"])
}

#[test]
fn keeps_what_it_was_told_to_keep() {
    assert_eq!(after_kill(Setup::default()), None);
    assert_eq!(after_kill(DURABLE).as_deref(), Some("value"));
}

#[test]
fn forgets_when_flushed() {
    let redis = Redis::start();
    redis.command::<()>(&["SET", "key", "value"]);
    redis.flush();
    assert_eq!(redis.command::<Option<String>>(&["GET", "key"]), None);
}

#[test]
fn a_dump_shows_what_is_stored() {
    let redis = Redis::start();
    let secret = "an approval code that must not be here".repeat(10);
    redis.command::<()>(&["SET", "key", &secret]);
    let dump = redis.dump();
    assert!(
        dump.windows(secret.len())
            .any(|bytes| bytes == secret.as_bytes())
    );
}

#[test]
fn hangs_without_refusing_and_goes_on() {
    let mut redis = Redis::start();
    let mut connection = redis.connect();
    connection
        .set_read_timeout(Some(std::time::Duration::from_millis(50)))
        .unwrap();
    redis.hang();
    let answer = redis::cmd("PING").query::<String>(&mut connection);
    assert!(answer.unwrap_err().is_timeout());
    redis.resume();
    assert_eq!(redis.command::<String>(&["PING"]), "PONG");
}

#[test]
fn counts_commands() {
    let redis = Redis::start();
    let before = redis.commands_processed();
    redis.command::<()>(&["SET", "key", "value"]);
    assert!(redis.commands_processed() > before);
}

#[test]
fn has_the_eviction_policy_it_was_given() {
    let redis = Redis::start_with(Setup {
        eviction: "allkeys-lru",
        ..Setup::default()
    });
    let policy: Vec<String> = redis.command(&["CONFIG", "GET", "maxmemory-policy"]);
    assert_eq!(policy, ["maxmemory-policy", "allkeys-lru"]);
}

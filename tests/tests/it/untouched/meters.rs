//! What moved at the store, towards the service and on the link.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::time::Duration;

use interlock_tests::system::System;
use interlock_tests::vehicles::Counters;
use uuid::Uuid;

/// What moved since the last reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// Commands at Redis, but those that gateways send without being asked.
    pub(super) store: Vec<String>,
    /// Connections to the service.
    pub(super) upstream_connections: u64,
    /// Bytes to the service.
    pub(super) upstream_bytes: u64,
    /// Start frames at the swarm.
    pub(super) starts: u64,
    /// Command frames at the swarm.
    pub(super) commands: u64,
}

/// The counters of a system on Redis.
pub(super) struct Meters {
    monitor: BufReader<TcpStream>,
    connections: u64,
    bytes: u64,
    link: Counters,
}

impl Meters {
    pub(super) fn of(system: &System) -> Meters {
        let redis = system.redis.as_ref().expect("a system on Redis");
        // Past the relay: not what the gateway says it sent, but what came.
        let mut stream = TcpStream::connect(redis.address()).expect("Redis accepts");
        let patience = Some(Duration::from_secs(30));
        stream
            .set_read_timeout(patience)
            .expect("a timeout above zero");
        stream.write_all(b"MONITOR\r\n").expect("Redis reads");
        let mut monitor = BufReader::new(stream);
        let mut ready = String::new();
        monitor.read_line(&mut ready).expect("Redis answers");
        assert_eq!(ready.trim(), "+OK");
        Meters {
            monitor,
            connections: system.upstream.accepted(),
            bytes: system.upstream.bytes_to_target(),
            link: system.sim.counters(),
        }
    }

    /// What moved since the last reading, and begins anew. Readings leave no
    /// gap: what a refused call does late is seen by the next one.
    pub(super) fn read(&mut self, system: &System) -> Moved {
        let store = self.commands(system);
        let (connections, bytes) = (
            system.upstream.accepted(),
            system.upstream.bytes_to_target(),
        );
        let link = system.sim.counters();
        let moved = Moved {
            store,
            upstream_connections: connections - self.connections,
            upstream_bytes: bytes - self.bytes,
            starts: link.starts - self.link.starts,
            commands: link.commands - self.link.commands,
        };
        (self.connections, self.bytes, self.link) = (connections, bytes, link);
        moved
    }

    /// The commands up to now. Redis takes one after the other, so whatever came
    /// before our own mark is before it here.
    fn commands(&mut self, system: &System) -> Vec<String> {
        let mark = Uuid::new_v4().to_string();
        let redis = system.redis.as_ref().expect("a system on Redis");
        redis.command::<String>(&["ECHO", &mark]);
        let mut commands = Vec::new();
        loop {
            let mut line = String::new();
            self.monitor.read_line(&mut line).expect("Redis tells");
            let Some(words) = words(&line) else { continue };
            if words.contains(&mark) {
                return commands;
            }
            if !unasked(&words) {
                commands.push(words.join(" "));
            }
        }
    }
}

/// The words of `+1700000000.000000 [0 127.0.0.1:4711] "GET" "key"`; none for
/// what a script does, since the script itself is told too.
fn words(line: &str) -> Option<Vec<String>> {
    let (source, command) = line.split_once("] ")?;
    if source.ends_with(" lua") {
        return None;
    }
    let words = command.trim().trim_matches('"').split("\" \"");
    Some(words.map(str::to_owned).collect())
}

/// What a gateway does on its own, whether or not somebody calls: it follows
/// the registry, looks whether anything is to be settled, asks for the server's
/// health. To write into any of those is not among it, but into the registry.
fn unasked(words: &[String]) -> bool {
    let [name, ..] = words else { return true };
    let unsettled = |key: &String| key.ends_with(":unsettled");
    match name.to_ascii_uppercase().as_str() {
        "ZRANGE" => words.get(1).is_some_and(unsettled),
        "INFO" | "CLIENT" | "HELLO" | "PING" | "SELECT" => true,
        _ => words.iter().any(|word| word.contains("{registry}")),
    }
}

/// Lines as Redis tells them, and what is made of them.
#[test]
fn the_monitor_is_understood() {
    let told = |line: &str| {
        words(line)
            .filter(|words| !unasked(words))
            .map(|words| words.join(" "))
    };
    let check = |line: &str, expected: Option<&str>| {
        let line = format!("+1764500000.000001 [0 127.0.0.1:4711] {line}\r\n");
        assert_eq!(told(&line).as_deref(), expected, "{line}");
    };
    check(
        r#""HGET" "interlock:{plan:1}" "json""#,
        Some("HGET interlock:{plan:1} json"),
    );
    check(r#""ZRANGE" "interlock:{keys}:unsettled" "-inf" "(1""#, None);
    check(
        r#""ZADD" "interlock:{keys}:unsettled" "1" "a""#,
        Some("ZADD interlock:{keys}:unsettled 1 a"),
    );
    check(r#""EVALSHA" "ff" "1" "interlock:{registry}:seq""#, None);
    check(
        r#""EVALSHA" "ff" "1" "interlock:{caller:a}:key:b""#,
        Some("EVALSHA ff 1 interlock:{caller:a}:key:b"),
    );
    check(r#""INFO" "memory""#, None);
    let of_a_script = "+1764500000.000001 [0 lua] \"HSET\" \"interlock:{plan:1}\" \"json\" \"x\"";
    assert_eq!(told(of_a_script), None);
}

//! What moved at the store, towards the service and on the link.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use interlock_tests::system::System;
use interlock_tests::vehicles::Counters;
use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use uuid::Uuid;

/// What moved since the last reading.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// Commands at Redis, but those that gateways send without being asked; or
    /// the plans and keys that came into the file or left it.
    pub(super) store: Vec<String>,
    /// Connections to the services.
    pub(super) upstream_connections: u64,
    /// Bytes to the services.
    pub(super) upstream_bytes: u64,
    /// Start frames at the swarm.
    pub(super) starts: u64,
    /// Command frames at the swarm.
    pub(super) commands: u64,
}

/// The counters of a system.
pub(super) struct Meters {
    store: Store,
    connections: u64,
    bytes: u64,
    link: Counters,
}

/// How the store is watched.
enum Store {
    /// Redis tells each command.
    Redis(BufReader<TcpStream>),
    /// The file is read beside its gateway: its plans and keys.
    File(SqliteConnection, BTreeSet<String>),
}

impl Meters {
    pub(super) async fn of(system: &System) -> Meters {
        let store = match &system.redis {
            // Past the relay: not what the gateway says it sent, but what came.
            Some(redis) => Store::Redis(monitor(redis.address())),
            None => {
                let file = system.folder().join("gateway-1").join("gateway.db");
                let options = SqliteConnectOptions::new().filename(file).read_only(true);
                let mut file = options.connect().await.expect("the gateway's file");
                let records = records(&mut file).await;
                Store::File(file, records)
            }
        };
        Meters {
            store,
            connections: connections(system),
            bytes: bytes(system),
            link: system.sim.counters(),
        }
    }

    /// What moved since the last reading, and begins anew. Readings leave no
    /// gap: what a refused call does late is seen by the next one.
    pub(super) async fn read(&mut self, system: &System) -> Moved {
        let store = self.store.moved(system).await;
        let (connections, bytes) = (connections(system), bytes(system));
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
}

impl Store {
    async fn moved(&mut self, system: &System) -> Vec<String> {
        match self {
            Store::Redis(monitor) => commands(monitor, system),
            Store::File(file, known) => {
                let now = records(file).await;
                let moved = known.symmetric_difference(&now).cloned().collect();
                *known = now;
                moved
            }
        }
    }
}

fn connections(system: &System) -> u64 {
    system.upstream.accepted() + system.fleet.accepted()
}

fn bytes(system: &System) -> u64 {
    system.upstream.bytes_to_target() + system.fleet.bytes_to_target()
}

fn monitor(redis: SocketAddr) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(redis).expect("Redis accepts");
    let patience = Some(Duration::from_secs(30));
    stream
        .set_read_timeout(patience)
        .expect("a timeout above zero");
    stream.write_all(b"MONITOR\r\n").expect("Redis reads");
    let mut monitor = BufReader::new(stream);
    let mut ready = String::new();
    monitor.read_line(&mut ready).expect("Redis answers");
    assert_eq!(ready.trim(), "+OK");
    monitor
}

/// The commands up to now. Redis takes one after the other, so whatever came
/// before our own mark is before it here.
fn commands(monitor: &mut BufReader<TcpStream>, system: &System) -> Vec<String> {
    let mark = Uuid::new_v4().to_string();
    let redis = system.redis.as_ref().expect("a system on Redis");
    redis.command::<String>(&["ECHO", &mark]);
    let mut commands = Vec::new();
    loop {
        let mut line = String::new();
        monitor.read_line(&mut line).expect("Redis tells");
        let Some(words) = words(&line) else { continue };
        if words.contains(&mark) {
            return commands;
        }
        if !unasked(&words) {
            commands.push(words.join(" "));
        }
    }
}

/// Every plan and every key in the file, as written.
async fn records(file: &mut SqliteConnection) -> BTreeSet<String> {
    let rows: Vec<String> = sqlx::query_scalar(
        "SELECT 'plan ' || id || ' ' || json FROM plans
         UNION ALL SELECT 'key ' || caller || ' ' || request || ' ' || json FROM keys",
    )
    .fetch_all(file)
    .await
    .expect("the file can be read");
    rows.into_iter().collect()
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

//! Where a secret could have been left.

use std::fs;
use std::path::Path;

use interlock_tests::system::System;
use sqlx::ConnectOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};

use super::forms::Secret;

/// Files that hold keys because that is what they are for.
const KEYED: [&str; 4] = [
    "gateway-1/drones.keys",
    "gateway-1/mowers.keys",
    "drones.toml",
    "mowers.toml",
];

/// Everything that a run has written and said, as text.
pub(super) struct Places(Vec<(String, String)>);

impl Places {
    /// Every file of the system's processes (logs, databases with their
    /// write-ahead logs, audit records, kept snapshots), everything in Redis,
    /// and `answers`.
    pub(super) async fn of(system: &System, answers: &[(String, String)]) -> Places {
        let mut places = answers.to_vec();
        files(system.folder(), system.folder(), &mut places);
        if let Some(redis) = &system.redis {
            let dump = String::from_utf8_lossy(&redis.dump()).into_owned();
            places.push(("redis file".to_owned(), dump));
            let mut told = String::new();
            for key in redis.command::<Vec<String>>(&["KEYS", "*"]) {
                let value = value(redis, &key);
                told += &format!("{key} {value}\n");
            }
            places.push(("redis keys and values".to_owned(), told));
        }
        Places(places)
    }

    /// The places that hold a secret in any form.
    pub(super) fn holding(&self, secret: &Secret) -> Vec<String> {
        let holds = |(name, text): &&(String, String)| {
            let meant = secret.what() == "the service's key" && KEYED.contains(&name.as_str());
            !meant
                && secret
                    .forms()
                    .iter()
                    .any(|form| text.contains(form.as_str()))
        };
        let held = self.0.iter().filter(holds);
        held.map(|(name, _)| name.clone()).collect()
    }

    /// Whether a place's name begins like that and something is in it.
    pub(super) fn has(&self, start: &str) -> bool {
        let mut places = self.0.iter();
        places.any(|(name, text)| name.starts_with(start) && !text.is_empty())
    }

    pub(super) fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }
}

/// What Redis keeps under a key, whatever type it has.
fn value(redis: &interlock_tests::redis::Redis, key: &str) -> String {
    let kind: String = redis.command(&["TYPE", key]);
    let words: &[&str] = match kind.as_str() {
        "string" => &["GET", key],
        "hash" => &["HGETALL", key],
        "list" => &["LRANGE", key, "0", "-1"],
        "set" => &["SMEMBERS", key],
        "zset" => &["ZRANGE", key, "0", "-1", "WITHSCORES"],
        "stream" => &["XRANGE", key, "-", "+"],
        other => panic!("`{key}` is a {other}: say here how it is read"),
    };
    text(&redis.command(words))
}

fn text(value: &redis::Value) -> String {
    match value {
        redis::Value::BulkString(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        redis::Value::Array(values) => values.iter().map(text).collect::<Vec<_>>().join(" "),
        other => format!("{other:?}"),
    }
}

fn files(root: &Path, folder: &Path, places: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a folder of ours") {
        let path = entry.expect("a folder of ours").path();
        if path.is_dir() {
            files(root, &path, places);
            continue;
        }
        let name = path.strip_prefix(root).expect("below the root");
        // A file that a process has just replaced is gone.
        if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            places.push((name.to_string_lossy().into_owned(), text));
        }
    }
}

/// Writes a row that stands in the write-ahead log alone.
pub(super) async fn plant(file: &Path, secret: &str) {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .pragma("wal_autocheckpoint", "0");
    let mut connection = options.connect().await.expect("a database");
    for statement in [
        "CREATE TABLE planted (text TEXT)".to_owned(),
        format!("INSERT INTO planted VALUES ('{secret}')"),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .execute(&mut connection)
            .await
            .expect("a statement");
    }
    // Closing it would write the log back; leaving it is what a kill does.
    std::mem::forget(connection);
}

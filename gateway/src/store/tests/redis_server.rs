//! A real redis-server of a test's own: on a socket in its own directory, so
//! that no port can clash, and gone with the test.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use crate::store::{RedisConfig, Store};

pub(in crate::store) struct RedisServer {
    directory: TempDir,
    process: Option<Child>,
}

impl RedisServer {
    /// A directory for a server that does not run yet.
    pub(in crate::store) fn down() -> Self {
        Self {
            directory: TempDir::new().expect("a directory"),
            process: None,
        }
    }

    /// A server that answers.
    pub(in crate::store) fn up() -> Self {
        let mut server = Self::down();
        server.start(&[]);
        server
    }

    /// Starts it and waits for its own word that it is ready.
    pub(in crate::store) fn start(&mut self, arguments: &[&str]) {
        let mut process = Command::new("redis-server")
            .args(["--port", "0", "--save", "", "--appendonly", "yes"])
            .args([
                "--appendfsync",
                "always",
                "--maxmemory-policy",
                "noeviction",
            ])
            .arg("--dir")
            .arg(self.directory.path())
            .arg("--unixsocket")
            .arg(self.socket())
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("`redis-server` must be on the PATH (Debian: apt install redis-server)");
        let stdout = process.stdout.take().expect("piped");
        let mut lines = BufReader::new(stdout).lines().map_while(Result::ok);
        let ready = lines.any(|line| {
            line.contains("eady to accept connections unix") || line.contains("connections at")
        });
        assert!(ready, "redis-server ended before it was ready");
        // Read on, or the server would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        self.process = Some(process);
    }

    fn socket(&self) -> PathBuf {
        self.directory.path().join("redis.sock")
    }

    pub(in crate::store) fn url(&self) -> String {
        format!("redis+unix://{}", self.socket().display())
    }

    /// Patient: a busy machine is not a hung server.
    pub(in crate::store) fn config(&self) -> RedisConfig {
        RedisConfig {
            timeout: Duration::from_secs(10),
            ..RedisConfig::at(self.url())
        }
    }

    pub(in crate::store) async fn store(&self) -> Store {
        Store::redis(self.config()).await.expect("a store")
    }

    /// Runs one command beside the store.
    pub(in crate::store) async fn command(&self, words: &[&str]) -> redis::Value {
        let mut connection = self.connection().await;
        let mut command = redis::cmd(words[0]);
        for word in &words[1..] {
            command.arg(word);
        }
        command.query_async(&mut connection).await.expect("a reply")
    }

    /// A connection of the test's own, past every store.
    pub(in crate::store) async fn connection(&self) -> redis::aio::MultiplexedConnection {
        let client = redis::Client::open(self.url()).expect("a client");
        let connection = client.get_multiplexed_async_connection().await;
        connection.expect("a connection")
    }

    /// From now on whoever connects to this server reaches `other`; who is
    /// connected stays.
    pub(in crate::store) fn give_place_to(&self, other: &Self) {
        std::fs::rename(other.socket(), self.socket()).expect("moved");
    }

    /// Stops it where it stands: connections stay open, nothing is answered.
    pub(in crate::store) fn hang(&self) {
        self.signal("-STOP");
    }

    /// Lets it go on.
    pub(in crate::store) fn resume(&self) {
        self.signal("-CONT");
    }

    /// Ends it without a chance to write anything.
    pub(in crate::store) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().expect("killed");
            process.wait().expect("ended");
        }
    }

    fn signal(&self, signal: &str) {
        let process = self.process.as_ref().expect("it runs");
        let done = Command::new("kill")
            .args([signal, &process.id().to_string()])
            .status()
            .expect("`kill` must be on the PATH");
        assert!(done.success());
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        if let Some(process) = &mut self.process {
            // Both may fail when it is gone already, which is what is wanted.
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

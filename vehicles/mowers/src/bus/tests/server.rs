//! A real NATS server that belongs to one test.

use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use crate::bus::nats::Settings;
use crate::bus::stream::MAX_REQUEST;

/// A server with JetStream on a port of its own, ended with this value.
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    child: Child,
}

impl Server {
    /// A server as the service wants it.
    pub(crate) fn start() -> Server {
        Server::start_with(&format!("max_payload: {MAX_REQUEST}"))
    }

    /// The same on a given port.
    pub(crate) fn start_at(port: u16) -> Server {
        Server::make(&format!("max_payload: {MAX_REQUEST}"), port)
    }

    /// A server with more in its configuration.
    pub(crate) fn start_with(more: &str) -> Server {
        Server::make(more, free())
    }

    fn make(more: &str, port: u16) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let store = folder.path().join("store");
        // Acknowledged is flushed: what is killed here must not forget.
        let config =
            format!("jetstream {{ store_dir: {store:?}, sync_interval: always }}\n{more}\n");
        fs::write(folder.path().join("nats.conf"), config).expect("written");
        let child = launch(&folder, port);
        Server {
            folder,
            port,
            child,
        }
    }

    /// How a bus finds it.
    pub(crate) fn settings(&self) -> Settings {
        settings(&format!("nats://127.0.0.1:{}", self.port))
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Ends it at once, as if the power had gone.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("killed");
        self.child.wait().expect("gone");
    }

    /// Starts it again with what it kept.
    pub(crate) fn restart(&mut self) {
        self.child = launch(&self.folder, self.port);
    }

    /// Freezes it: connections stay open, nothing is answered.
    pub(crate) fn hang(&self) {
        self.signal("STOP");
        // A signal is sent before each of the threads has heeded it.
        let threads = format!("/proc/{}/task", self.child.id());
        let runs = || {
            let threads = fs::read_dir(&threads).expect("it is there");
            threads.flatten().any(|thread| {
                let state = fs::read_to_string(thread.path().join("status"));
                state.is_ok_and(|state| !state.contains("State:\tT"))
            })
        };
        while runs() {
            std::thread::yield_now();
        }
    }

    /// Goes on after [`Server::hang`].
    pub(crate) fn resume(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        let order = format!("kill -{name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &order]).status();
        assert!(sent.is_ok_and(|status| status.success()), "`{order}`");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // One that a test has killed already is as good.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Settings for a server at `url`.
pub(crate) fn settings(url: &str) -> Settings {
    Settings {
        url: url.to_owned(),
        name: "test".to_owned(),
        replicas: 1,
    }
}

/// A port that was free a moment ago.
pub(crate) fn free() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

fn launch(folder: &TempDir, port: u16) -> Child {
    Command::new(program())
        .arg("--config")
        .arg(folder.path().join("nats.conf"))
        .args(["--addr", "127.0.0.1", "--port", &port.to_string()])
        .arg("--log")
        .arg(folder.path().join("nats.log"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("nats-server runs; `cargo xtask test` installs it")
}

/// The one that `cargo xtask test` installs into the target folder, which is
/// three above this test program, else the one on the path.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("this program has a path");
    let target = test.ancestors().nth(3).expect("it lies in the target");
    let ours = target.join("tools").join("nats").join("bin");
    let ours = ours.join("nats-server");
    if ours.is_file() {
        ours
    } else {
        PathBuf::from("nats-server")
    }
}

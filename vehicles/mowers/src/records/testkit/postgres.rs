//! One Postgres server for all tests of this binary, on a free port and a temporary folder.

use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, Executor};
use tempfile::TempDir;
use uuid::Uuid;

/// Where Debian keeps the programs of one version.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";

/// The server ends when its shell's input does, however this process ends: it goes with its
/// folder.
const SCRIPT: &str = r#"
"$1/postgres" -D "$2/data" -p "$3" -k "$2" -h 127.0.0.1 \
    -c fsync=off -c max_connections=300 -c logging_collector=off >"$2/log" 2>&1 &
server=$!
cat >/dev/null
kill -INT "$server"
wait "$server"
rm -rf "$2"
"#;

struct Server {
    port: u16,
    /// Kept open for as long as this process lives.
    _shell: Child,
}

static SERVER: OnceLock<Server> = OnceLock::new();

/// The address of a database that nobody else uses.
pub(super) async fn fresh_database() -> String {
    let port = SERVER.get_or_init(start).port;
    let name = format!("t{}", Uuid::now_v7().simple());
    let mut connection = connect(port).await;
    let create = format!("CREATE DATABASE {name}");
    connection
        .execute(AssertSqlSafe(create))
        .await
        .expect("a database");
    address(port, &name)
}

fn address(port: u16, database: &str) -> String {
    format!("postgres://mowers@127.0.0.1:{port}/{database}")
}

async fn connect(port: u16) -> sqlx::PgConnection {
    let address = address(port, "postgres");
    for _ in 0..600 {
        match sqlx::PgConnection::connect(&address).await {
            Ok(connection) => return connection,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
    panic!("the Postgres server does not answer on port {port}");
}

fn start() -> Server {
    let programs =
        PathBuf::from(std::env::var("INTERLOCK_POSTGRES").unwrap_or(PROGRAMS.to_owned()));
    // The server refuses to run as root, so the folder is the other user's.
    let folder = TempDir::new().expect("a temporary folder").keep();
    let root = is_root();
    if root {
        done(Command::new("chown").arg("postgres").arg(&folder));
    }
    let mut initdb = as_server(root, &programs.join("initdb"));
    initdb.args([
        "--no-sync",
        "-A",
        "trust",
        "-U",
        "mowers",
        "--locale=C.UTF-8",
        "-D",
    ]);
    done(initdb.arg(folder.join("data")));
    let port = free_port();
    let mut shell = as_server(root, Path::new("/bin/sh"));
    shell.args(["-c", SCRIPT, "sh"]).arg(programs).arg(folder);
    shell.arg(port.to_string());
    let shell = shell.stdin(Stdio::piped()).spawn().expect("a shell");
    Server {
        port,
        _shell: shell,
    }
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().expect("the user id");
    id.stdout == b"0\n"
}

fn as_server(root: bool, program: &Path) -> Command {
    if !root {
        return Command::new(program);
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(program);
    command
}

fn done(command: &mut Command) {
    let output = command.output().expect("a program that can be run");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("an address").port()
}

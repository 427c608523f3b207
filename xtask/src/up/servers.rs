//! The servers of others that a distributed system stands on: Redis, NATS,
//! PostgreSQL. Each on a free port of loopback, with its data in the state
//! directory.

use std::fs::{self, DirBuilder};
use std::net::SocketAddr;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

use tokio::net::TcpListener;

use crate::command::output;
use crate::failure::Failure;
use crate::tools;
use crate::up::system::System;

/// The one user of the database.
const USER: &str = "interlock";

/// Who runs PostgreSQL when we are root, as which it refuses to run.
const SYSTEM_USER: &str = "postgres";

impl System<'_> {
    pub(super) async fn start_redis(&mut self) -> Result<SocketAddr, Failure> {
        let address = free_port().await?;
        let folder = self.state.folder("redis")?;
        let mut command = Command::new("redis-server");
        command
            .current_dir(folder)
            .args(["--bind", "127.0.0.1"])
            .args(["--port", &address.port().to_string()])
            .args(["--maxmemory-policy", "noeviction"])
            .args(["--appendonly", "yes", "--save", ""]);
        self.spawn("redis", command)?
            .ready("no `Ready to accept connections`", async |log| {
                log.contains("Ready to accept connections").then_some(())
            })
            .await?;
        Ok(address)
    }

    /// The bus. It acknowledges what is on the disk, and takes a whole path.
    pub(super) async fn start_nats(&mut self) -> Result<SocketAddr, Failure> {
        let address = free_port().await?;
        let folder = self.state.folder("nats")?;
        let text = format!(
            "listen: \"{address}\"\nmax_payload: 8MB\n\
             jetstream {{ store_dir: {folder:?}, sync_interval: always }}\n"
        );
        let file = self.state.write("nats.conf", &text)?;
        let mut command = Command::new(tools::nats(self.workspace)?);
        command.arg("--config").arg(file);
        self.spawn("nats", command)?
            .ready("no `Server is ready`", async |log| {
                log.contains("Server is ready").then_some(())
            })
            .await?;
        Ok(address)
    }

    /// The database, and its URL.
    pub(super) async fn start_postgres(&mut self) -> Result<String, Failure> {
        let programs = Programs::find()?;
        let folder = match programs.user {
            None => self.state.folder("postgres")?,
            // Another user may not be able to reach a state directory.
            Some(user) => {
                let port = self.ports.gateway.port();
                owned(&std::env::temp_dir(), port, user, self.state.is_kept())?
            }
        };
        if !folder.join("PG_VERSION").exists() {
            let mut command = programs.command("initdb");
            command
                .current_dir("/")
                .args(["--username", USER, "--auth", "trust", "--encoding", "UTF8"])
                .args(["--no-locale", "-D"])
                .arg(&folder);
            self.finish("initdb", command).await?;
        }
        let address = free_port().await?;
        let mut command = programs.command("postgres");
        command
            .current_dir("/")
            .arg("-D")
            .arg(&folder)
            .args(["-p", &address.port().to_string()])
            .args(["-c", "listen_addresses=127.0.0.1"])
            .args(["-c", "unix_socket_directories="]);
        self.spawn("postgres", command)?
            .ready("no `ready to accept connections`", async |log| {
                log.contains("ready to accept connections").then_some(())
            })
            .await?;
        Ok(format!("postgres://{USER}@{address}/postgres"))
    }
}

/// Where PostgreSQL's programs are, and who runs them.
struct Programs {
    folder: PathBuf,
    user: Option<&'static str>,
}

impl Programs {
    fn find() -> Result<Programs, Failure> {
        let server = tools::find("postgres").map(|file| {
            // Some systems have links to it on the path.
            file.canonicalize().unwrap_or(file)
        });
        let folder = server.and_then(|file| file.parent().map(Path::to_owned));
        let folder = folder.ok_or(Failure::NoFolder {
            program: "postgres",
        })?;
        let root = output("id", &["-u"]).is_some_and(|id| id == "0");
        let user = root.then_some(SYSTEM_USER);
        Ok(Programs { folder, user })
    }

    fn command(&self, name: &str) -> Command {
        let program = self.folder.join(name);
        let Some(user) = self.user else {
            return Command::new(program);
        };
        // It becomes the program, so that signals reach it.
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid", user, "--regid", user, "--clear-groups"])
            .arg(program);
        command
    }
}

/// A folder under `base` that belongs to `user`: the one of before, when the
/// state is kept, else a new one.
fn owned(base: &Path, port: u16, user: &str, keep: bool) -> Result<PathBuf, Failure> {
    let folder = base.join(format!("interlock-up-{port}-postgres"));
    let number = |flag: &str| -> Option<u32> { output("id", &[flag, user])?.parse().ok() };
    let (Some(uid), Some(gid)) = (number("-u"), number("-g")) else {
        return Err(Failure::NoUser { user: user.into() });
    };
    // Not through a link: the name is one that anybody can make there.
    let found = fs::symlink_metadata(&folder).ok();
    let ours = found
        .as_ref()
        .is_some_and(|it| it.is_dir() && it.uid() == uid);
    if keep && ours {
        return Ok(folder);
    }
    if found.is_some() {
        fs::remove_dir_all(&folder).map_err(Failure::file(&folder))?;
    }
    DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .and_then(|()| chown(&folder, Some(uid), Some(gid)))
        .map_err(Failure::file(&folder))?;
    Ok(folder)
}

/// A port that was free a moment ago, for programs that must be told theirs.
pub(super) async fn free_port() -> Result<SocketAddr, Failure> {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    listener
        .and_then(|listener| listener.local_addr())
        .map_err(|cause| Failure::Port {
            address: "127.0.0.1:0".to_owned(),
            cause,
        })
}

#[cfg(test)]
mod tests;

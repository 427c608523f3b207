//! What every service does as a process: it logs, says that it is ready, ends in order at a
//! signal, reads its keys again at another one, and names its end by an exit code.

use std::fmt::Display;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use thiserror::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::filter::{EnvFilter, ParseError};

use crate::keys::{KeySet, Keys};

#[cfg(test)]
mod tests;

/// The environment variable with the log filter.
const LOG_VARIABLE: &str = "INTERLOCK_LOG";

/// Exit codes, as BSD's sysexits.h gives them.
pub mod exit {
    /// What the process was told is wrong (`EX_USAGE`).
    pub const USAGE: u8 = 64;
    /// Something that it needs is not there for it (`EX_UNAVAILABLE`).
    pub const UNAVAILABLE: u8 = 69;
    /// The program contradicts itself (`EX_SOFTWARE`).
    pub const SOFTWARE: u8 = 70;
    /// The operating system refused something (`EX_OSERR`).
    pub const OS: u8 = 71;
}

/// Why a process cannot begin, whatever its service is.
#[derive(Debug, Error)]
pub enum SetUpError {
    /// The log filter is none.
    #[error(
        "`{LOG_VARIABLE}` is `{filter}`, which is no log filter: {source}; write it like `info`"
    )]
    LogFilter {
        /// What was given.
        filter: String,
        /// Why it is none.
        source: ParseError,
    },
    /// The configuration cannot be read.
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable {
        /// Its file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The address is not free, or not of this machine.
    #[error("cannot listen on `{address}`: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why not.
        source: io::Error,
    },
    /// A signal or a standard stream.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl SetUpError {
    /// The code to end with.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::LogFilter { .. } | Self::Unreadable { .. } => exit::USAGE,
            Self::Listen { .. } | Self::Io(_) => exit::OS,
        }
    }
}

/// The end of a process: a failure is said on standard error, whatever happens to the log.
pub fn end<E: Display>(
    program: &str,
    result: Result<(), E>,
    exit_code: impl Fn(&E) -> u8,
) -> ExitCode {
    let Err(failure) = result else {
        return ExitCode::SUCCESS;
    };
    // Where nobody reads it, the code remains.
    let _ = writeln!(io::stderr(), "{program}: {failure}");
    ExitCode::from(exit_code(&failure))
}

/// JSON lines on standard error, as much as `INTERLOCK_LOG` says, like the gateway's. Once in a
/// process.
///
/// # Errors
/// [`SetUpError::LogFilter`].
pub fn log() -> Result<(), SetUpError> {
    let filter = std::env::var(LOG_VARIABLE).unwrap_or_else(|_| "info".to_owned());
    let chosen =
        EnvFilter::try_new(&filter).map_err(|source| SetUpError::LogFilter { filter, source })?;
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(chosen)
        .with_writer(io::stderr)
        .init();
    Ok(())
}

/// The text of the configuration.
///
/// # Errors
/// [`SetUpError::Unreadable`].
pub fn read(path: &Path) -> Result<String, SetUpError> {
    std::fs::read_to_string(path).map_err(|source| SetUpError::Unreadable {
        path: path.to_owned(),
        source,
    })
}

/// Listens.
///
/// # Errors
/// [`SetUpError::Listen`].
pub async fn listen(address: SocketAddr) -> Result<TcpListener, SetUpError> {
    TcpListener::bind(address)
        .await
        .map_err(|source| SetUpError::Listen { address, source })
}

/// One line on standard output, for whoever waits for it.
///
/// # Errors
/// [`SetUpError::Io`]: nobody can read it any more.
pub fn say(line: &str) -> Result<(), SetUpError> {
    writeln!(io::stdout(), "{line}")?;
    Ok(io::stdout().flush()?)
}

/// Becomes true with the first SIGTERM or SIGINT. From here on those end the process in order.
///
/// # Errors
/// [`SetUpError::Io`].
pub fn ending() -> Result<watch::Receiver<bool>, SetUpError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let (ending, receiver) = watch::channel(false);
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        ending.send_replace(true);
        // The receivers end with the process; until then the answer stays true.
        std::future::pending::<()>().await;
    });
    Ok(receiver)
}

/// The keys of a configuration that was read again.
pub enum Reread {
    /// They count from now on.
    Keys(KeySet),
    /// They come from this variable of the environment, which does not change in a running
    /// process.
    Fixed(&'static str),
}

/// Reads the keys again at each SIGHUP; a configuration that is bad changes nothing.
///
/// # Errors
/// [`SetUpError::Io`].
pub fn reread_keys<E: Display>(
    keys: Keys,
    read: impl Fn() -> Result<Reread, E> + Send + 'static,
) -> Result<(), SetUpError> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match read() {
                Ok(Reread::Keys(set)) => {
                    keys.rotate(set);
                    tracing::info!("the keys were read again");
                }
                Ok(Reread::Fixed(variable)) => tracing::error!(
                    "the keys stay as they are: they come from {variable}, which does not change \
                     in a running process; use `key_file`, or start the service again"
                ),
                Err(failure) => tracing::error!("the keys stay as they are: {failure}"),
            }
        }
    });
    Ok(())
}

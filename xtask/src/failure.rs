//! Why a command stopped.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a command of this tool stopped, in words for the person at the
/// terminal.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A program could not be started.
    #[error("cannot start `{program}`: {cause}")]
    Start { program: String, cause: io::Error },
    /// A program ended with a failure.
    #[error("`{command}` ended with {status}")]
    Ended { command: String, status: ExitStatus },
    /// A file or folder could not be used.
    #[error("cannot use `{}`: {cause}", path.display())]
    File { path: PathBuf, cause: io::Error },
    /// One step of a sequence failed.
    #[error("failed at step `{step}`: {cause}")]
    Step {
        step: &'static str,
        cause: Box<Failure>,
    },
    /// Programs that this tool may not install itself.
    #[error(
        "missing {}; install {} and run this again (Debian: apt-get install {})",
        programs.join(", "),
        packages.join(", "),
        packages.join(" ")
    )]
    Missing {
        programs: Vec<&'static str>,
        packages: Vec<&'static str>,
    },
    /// A port of the system is taken.
    #[error("cannot listen on {address}: {cause}; stop what listens there or pass --port-base")]
    Port { address: String, cause: io::Error },
    /// Another system runs on the same state directory.
    #[error("`{}` is in use by another `cargo xtask up`; stop it or pass another --port-base", path.display())]
    Locked { path: PathBuf },
    /// A process of the system ended before it was asked to.
    #[error("{name} ended with {status}; its last lines ({}):\n{tail}", log.display())]
    Died {
        name: &'static str,
        status: ExitStatus,
        log: PathBuf,
        tail: String,
    },
    /// A process of the system did not become ready.
    #[error("{name} is not ready after {seconds} s: {what}; its last lines ({}):\n{tail}", log.display())]
    NotReady {
        name: &'static str,
        seconds: u64,
        what: String,
        log: PathBuf,
        tail: String,
    },
    /// A program of the system did its work with a failure.
    #[error("{name} ended with {status}; its last lines ({}):\n{tail}", log.display())]
    Finished {
        name: &'static str,
        status: ExitStatus,
        log: PathBuf,
        tail: String,
    },
    /// The user that a server has to run as does not exist.
    #[error("there is no user `{user}`, as which PostgreSQL has to run; its package makes one")]
    NoUser { user: String },
    /// An installed program is not where it should be.
    #[error("`{program}` is not found, neither on the path nor under /usr/lib")]
    NoFolder { program: &'static str },
    /// The demo could not be made.
    #[error("the demo cannot be made: `{call}` was answered with {answer}")]
    Demo { call: String, answer: String },
    /// The operating system refused randomness.
    #[error("the operating system gives no randomness: {0}")]
    Random(getrandom::Error),
}

impl Failure {
    /// For `map_err` after an operation on `path`.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Failure {
        let path = path.into();
        move |cause| Failure::File { path, cause }
    }
}

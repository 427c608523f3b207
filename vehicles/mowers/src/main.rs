//! `interlock-mowers`: the mower service, a device gateway, and what creates an account.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use interlock_guard::{Clock, Keys, SystemClock};
use interlock_mowers::account::{self, AccountError};
use interlock_mowers::config::{Config, ConfigError, KEYS_VARIABLE};
use interlock_mowers::process::{ProcessError, Service, device_gateway};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::filter::{EnvFilter, ParseError};

/// The mower service, a device gateway, and what creates an account
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve a fleet to the gateway
    Serve(ConfigFile),
    /// Talk to the mowers of one shard
    DeviceGateway(ConfigFile),
    /// Accounts of the fleet
    #[command(subcommand)]
    Account(Account),
}

#[derive(Debug, Args)]
struct ConfigFile {
    /// The configuration, a TOML file
    #[arg(long)]
    config: PathBuf,
}

#[derive(Debug, Subcommand)]
enum Account {
    /// Make an account with its default site, or bring it up to date
    Create {
        /// The configuration of the service, whose key signs the call
        #[arg(long)]
        config: PathBuf,
        /// Scope id of the account, as tokens name it
        #[arg(long)]
        id: String,
        /// What people call it
        #[arg(long)]
        name: String,
        /// What its plan includes; may be repeated
        #[arg(long = "feature")]
        features: Vec<String>,
        /// IANA time zone of its default site
        #[arg(long)]
        time_zone: String,
    },
}

/// Why the process could not do its work.
#[derive(Debug, Error)]
enum Failure {
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "`INTERLOCK_LOG` is `{filter}`, which is no log filter: {source}; write it like `info`"
    )]
    LogFilter { filter: String, source: ParseError },
    #[error("configuration:\n{0}")]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error("cannot listen on `{address}`: {source}")]
    Listen { address: String, source: io::Error },
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Failure {
    /// The codes of BSD's sysexits.h, where one fits.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Unreadable { .. }
            | Self::LogFilter { .. }
            | Self::Config(_)
            | Self::Process(ProcessError::Alone) => 64,
            Self::Account(_) => 69,
            Self::Process(ProcessError::Router(_)) => 70,
            Self::Process(_) | Self::Listen { .. } | Self::Io(_) => 71,
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // What a person sees first, whatever happens to the log.
            let _ = writeln!(io::stderr(), "interlock-mowers: {failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    init_logging()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match arguments.command {
            Command::Serve(file) => serve(&file.config).await,
            Command::DeviceGateway(file) => hold_shard(&file.config).await,
            Command::Account(Account::Create {
                config,
                id,
                name,
                features,
                time_zone,
            }) => {
                let config = read_config(&config)?;
                let wanted = account::Wanted {
                    id,
                    name,
                    features,
                    time_zone,
                };
                say(&account::create(&config, &wanted).await?)
            }
        }
    })
}

/// JSON lines on standard error, as much as `INTERLOCK_LOG` says, like the gateway's.
fn init_logging() -> Result<(), Failure> {
    let filter = std::env::var("INTERLOCK_LOG").unwrap_or_else(|_| "info".to_owned());
    let chosen =
        EnvFilter::try_new(&filter).map_err(|source| Failure::LogFilter { filter, source })?;
    tracing_subscriber::fmt()
        .json()
        .with_env_filter(chosen)
        .with_writer(io::stderr)
        .init();
    Ok(())
}

fn read_config(path: &Path) -> Result<Config, Failure> {
    let text = std::fs::read_to_string(path).map_err(|source| Failure::Unreadable {
        path: path.to_owned(),
        source,
    })?;
    let environment = |name: &str| std::env::var(name).ok();
    Ok(Config::read(&text, environment, |file| {
        std::fs::read_to_string(file)
    })?)
}

/// One line on standard output, for whoever waits for it.
fn say(line: &str) -> Result<(), Failure> {
    writeln!(io::stdout(), "{line}")?;
    Ok(io::stdout().flush()?)
}

async fn serve(path: &Path) -> Result<(), Failure> {
    let config = read_config(path)?;
    // From here on a signal ends the process in order.
    let ending = on_signals()?;
    let listen = config.listen;
    let keys = Keys::new(config.keys.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let service = Service::start(config, keys.clone(), clock).await?;
    let listener = TcpListener::bind(listen)
        .await
        .map_err(|source| Failure::Listen {
            address: listen.to_string(),
            source,
        })?;
    rotate_on_hangup(path.to_owned(), keys)?;
    say(&format!("listening on {}", listener.local_addr()?))?;
    service.serve(listener, ending).await?;
    tracing::info!("ended");
    Ok(())
}

async fn hold_shard(path: &Path) -> Result<(), Failure> {
    let config = read_config(path)?;
    let ending = on_signals()?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let serving = |shard: &str| {
        if let Err(error) = say(&format!("serving shard {shard}")) {
            tracing::warn!("nobody reads what this process says: {error}");
        }
    };
    device_gateway(config, clock, serving, ending).await?;
    tracing::info!("ended");
    Ok(())
}

/// Becomes true with the first SIGTERM or SIGINT.
fn on_signals() -> io::Result<watch::Receiver<bool>> {
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

/// SIGHUP reads the keys again; a bad file changes nothing.
fn rotate_on_hangup(path: PathBuf, keys: Keys) -> io::Result<()> {
    let mut hangup = signal(SignalKind::hangup())?;
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            match read_config(&path) {
                Ok(config) if config.keys_are_fixed => tracing::error!(
                    "the keys stay as they are: they come from {KEYS_VARIABLE}, which does not \
                     change in a running process; use `key_file`, or start the service again"
                ),
                Ok(config) => {
                    keys.rotate(config.keys);
                    tracing::info!("the keys were read again");
                }
                Err(failure) => tracing::error!("the keys stay as they are: {failure}"),
            }
        }
    });
    Ok(())
}

//! `interlock-mowers`: the mower service, a device gateway, and what makes and changes accounts.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Args, Parser, Subcommand};
use interlock_guard::process::{self, Reread, SetUpError, exit};
use interlock_guard::{Clock, Keys, SystemClock};
use interlock_mowers::account::{self, AccountError};
use interlock_mowers::config::{Config, ConfigError, KEYS_VARIABLE};
use interlock_mowers::process::{ProcessError, Service, device_gateway};
use thiserror::Error;
use tokio::net::TcpListener;

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
    /// Leave an account sight, calming, stops, resets and management
    Suspend(OneAccount),
    /// Let a suspended account go on
    Resume(OneAccount),
    /// Remove an account with all of its mowers, groups and sites
    Delete(OneAccount),
}

#[derive(Debug, Args)]
struct OneAccount {
    /// The configuration of the service, whose key signs the call
    #[arg(long)]
    config: PathBuf,
    /// Scope id of the account
    #[arg(long)]
    id: String,
}

/// Why the process could not do its work.
#[derive(Debug, Error)]
enum Failure {
    #[error(transparent)]
    SetUp(#[from] SetUpError),
    #[error("configuration:\n{0}")]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Process(#[from] ProcessError),
    #[error(transparent)]
    Account(#[from] AccountError),
    #[error("no runtime: {0}")]
    Runtime(#[from] io::Error),
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::SetUp(error) => error.exit_code(),
            Self::Config(_) | Self::Process(ProcessError::Alone) => exit::USAGE,
            Self::Account(_) => exit::UNAVAILABLE,
            Self::Process(ProcessError::Router(_)) => exit::SOFTWARE,
            Self::Process(_) | Self::Runtime(_) => exit::OS,
        }
    }
}

fn main() -> ExitCode {
    process::end(
        "interlock-mowers",
        run(Arguments::parse()),
        Failure::exit_code,
    )
}

fn run(arguments: Arguments) -> Result<(), Failure> {
    process::log()?;
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
                let made = account::create(&config, &wanted).await?;
                Ok(process::say(&made)?)
            }
            Command::Account(Account::Suspend(OneAccount { config, id })) => {
                let changed = account::suspend(&read_config(&config)?, &id, true).await?;
                Ok(process::say(&changed)?)
            }
            Command::Account(Account::Resume(OneAccount { config, id })) => {
                let changed = account::suspend(&read_config(&config)?, &id, false).await?;
                Ok(process::say(&changed)?)
            }
            Command::Account(Account::Delete(OneAccount { config, id })) => {
                account::delete(&read_config(&config)?, &id).await?;
                Ok(process::say(&format!("the account {id} is gone"))?)
            }
        }
    })
}

fn read_config(path: &Path) -> Result<Config, Failure> {
    let text = process::read(path)?;
    let environment = |name: &str| std::env::var(name).ok();
    Ok(Config::read(&text, environment, |file| {
        std::fs::read_to_string(file)
    })?)
}

async fn serve(path: &Path) -> Result<(), Failure> {
    let config = read_config(path)?;
    let ending = process::ending()?;
    let (listen, ops) = (config.listen, config.ops);
    let keys = Keys::new(config.keys.clone());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let service = Service::start(config, keys.clone(), clock).await?;
    let listener = process::listen(listen).await?;
    let ops = listen_ops(ops).await?;
    reread_keys(path.to_owned(), keys)?;
    let address = listener.local_addr().map_err(SetUpError::Io)?;
    process::say(&format!("listening on {address}"))?;
    service.serve(listener, ops, ending).await?;
    tracing::info!("ended");
    Ok(())
}

async fn hold_shard(path: &Path) -> Result<(), Failure> {
    let config = read_config(path)?;
    let ending = process::ending()?;
    let ops = listen_ops(config.ops).await?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let serving = |shard: &str| {
        if let Err(error) = process::say(&format!("serving shard {shard}")) {
            tracing::warn!("nobody reads what this process says: {error}");
        }
    };
    device_gateway(config, ops, clock, serving, ending).await?;
    tracing::info!("ended");
    Ok(())
}

/// The listener of operators, where one is configured.
async fn listen_ops(address: Option<SocketAddr>) -> Result<Option<TcpListener>, SetUpError> {
    let Some(address) = address else {
        return Ok(None);
    };
    let listener = process::listen(address).await?;
    process::say(&format!("operations on {}", listener.local_addr()?))?;
    Ok(Some(listener))
}

/// SIGHUP reads the keys again.
fn reread_keys(path: PathBuf, keys: Keys) -> Result<(), SetUpError> {
    process::reread_keys(keys, move || {
        read_config(&path).map(|config| match config.keys_are_fixed {
            true => Reread::Fixed(KEYS_VARIABLE),
            false => Reread::Keys(config.keys),
        })
    })
}

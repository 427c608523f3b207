//! `interlock-drones`: the drone service, and the simulated swarm it can be pointed at.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::{Parser, Subcommand};
use interlock_drones::config::{Config, ConfigError, KEYS_VARIABLE};
use interlock_drones::database::{Database, DatabaseError};
use interlock_drones::feed::Feed;
use interlock_drones::link::SwarmLink;
use interlock_drones::link::tcp::{Claim, TcpLink, TcpLinkConfig};
use interlock_drones::operations::{Beginning, Operations};
use interlock_drones::service::Service;
use interlock_drones::service::router::{RouterError, SERVICE, router};
use interlock_drones::sim::{self, SimArgs, SimError};
use interlock_guard::process::{self, Reread, SetUpError, exit};
use interlock_guard::{Clock, Guard, Keys, SystemClock, server};
use thiserror::Error;
use uuid::Uuid;

/// How long the start waits to hear whether another service has the swarm.
const CLAIM_WITHIN: Duration = Duration::from_secs(2);

/// The drone service, and the simulated swarm it can be pointed at
#[derive(Debug, Parser)]
#[command(version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve one swarm to the gateway
    Serve {
        /// The configuration, a TOML file
        #[arg(long)]
        config: PathBuf,
    },
    /// Simulate a swarm
    Sim(SimArgs),
}

/// Why the process could not do its work.
#[derive(Debug, Error)]
enum Failure {
    #[error(transparent)]
    SetUp(#[from] SetUpError),
    #[error("configuration:\n{0}")]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the swarm has another writer: {0}; end the other drone service first")]
    SwarmTaken(String),
    #[error("the routes and the surface differ: {0}")]
    Router(#[from] RouterError),
    #[error("no runtime: {0}")]
    Runtime(#[from] io::Error),
    #[error(transparent)]
    Sim(#[from] SimError),
}

impl Failure {
    fn exit_code(&self) -> u8 {
        match self {
            Self::SetUp(error) => error.exit_code(),
            Self::Config(_) => exit::USAGE,
            Self::SwarmTaken(_) | Self::Database(DatabaseError::InUse { .. }) => exit::UNAVAILABLE,
            Self::Router(_) => exit::SOFTWARE,
            Self::Database(_) | Self::Runtime(_) | Self::Sim(_) => exit::OS,
        }
    }
}

fn main() -> ExitCode {
    process::end(
        "interlock-drones",
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
            Command::Serve { config } => serve(&config).await,
            Command::Sim(arguments) => Ok(sim::run(arguments).await?),
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
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let keys = Keys::new(config.keys);
    let database = Database::open(&config.database).await?;
    let beginning = Beginning {
        now: clock.now(),
        writer: Uuid::new_v4(),
    };
    let (operations, legacy) = Operations::open(database, &config.swarm, beginning).await?;
    if !legacy.clean {
        let epoch = legacy.stops.epoch;
        tracing::warn!(
            epoch,
            "the last run broke off; motion asked before this start is refused"
        );
    }
    let link_config = TcpLinkConfig {
        address: config.link,
        writer: legacy.writer,
        swarm: config.swarm.clone(),
        epoch: legacy.starts,
    };
    let link = Arc::new(TcpLink::spawn(link_config, Arc::clone(&clock)));
    hold_swarm(&link).await?;
    let states = link.states();
    let link: Arc<dyn SwarmLink> = link;
    let service = Service::new(
        config.limits,
        Arc::clone(&link),
        Arc::clone(&clock),
        (operations, legacy),
        config.crash_at,
    );
    let guard = Arc::new(Guard::new(SERVICE, keys.clone(), Arc::clone(&clock)));
    let router = router(Arc::clone(&service), &guard)?;
    let listener = process::listen(config.listen).await?;
    let address = listener.local_addr().map_err(SetUpError::Io)?;

    let watching = Arc::clone(&service);
    tokio::spawn(async move { watching.watch(states).await });
    let recording = Arc::clone(&service);
    tokio::spawn(async move { recording.record().await });
    reread_keys(path.to_owned(), keys.clone())?;
    if let Some(gateway) = config.gateway_ops {
        let feed = Feed {
            gateway,
            swarm: config.swarm,
            account: config.account,
            revision: u64::try_from(clock.now().as_millisecond()).unwrap_or_default(),
            keys,
            clock,
            link,
        };
        tokio::spawn(feed.run());
    }

    process::say(&format!("listening on {address}"))?;
    server::serve(listener, router, ending).await;
    service.close().await?;
    tracing::info!("ended");
    Ok(())
}

/// One writer per swarm: a swarm that has another one is refused at the start. A swarm that cannot
/// be reached is not: the service must be there when it comes back.
async fn hold_swarm(link: &TcpLink) -> Result<(), Failure> {
    let mut claims = link.claims();
    let answered = claims.wait_for(|claim| *claim != Claim::Pending);
    let Ok(Ok(claim)) = tokio::time::timeout(CLAIM_WITHIN, answered).await else {
        tracing::warn!("the swarm has not answered yet; serving without it");
        return Ok(());
    };
    match &*claim {
        Claim::Refused { reason } => Err(Failure::SwarmTaken(reason.clone())),
        Claim::Held | Claim::Pending => Ok(()),
    }
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

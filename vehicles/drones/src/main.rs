//! `interlock-drones`: the drone service, and the simulated swarm it can be pointed at.

use std::io::{self, Write};
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
use interlock_drones::server;
use interlock_drones::service::Service;
use interlock_drones::service::router::{RouterError, SERVICE, router};
use interlock_drones::sim::{self, SimArgs, SimError};
use interlock_guard::{Clock, Guard, Keys, SystemClock};
use thiserror::Error;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tracing_subscriber::filter::{EnvFilter, ParseError};
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
    #[error("cannot read `{}`: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error(
        "`INTERLOCK_LOG` is `{filter}`, which is no log filter: {source}; write it like `info`"
    )]
    LogFilter { filter: String, source: ParseError },
    #[error("configuration:\n{0}")]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    #[error("the swarm has another writer: {0}; end the other drone service first")]
    SwarmTaken(String),
    #[error("the routes and the surface differ: {0}")]
    Router(#[from] RouterError),
    #[error("cannot listen on `{address}`: {source}")]
    Listen { address: String, source: io::Error },
    #[error("{0}")]
    Io(#[from] io::Error),
    #[error(transparent)]
    Sim(#[from] SimError),
}

impl Failure {
    /// The codes of BSD's sysexits.h, where one fits.
    fn exit_code(&self) -> u8 {
        match self {
            Self::Unreadable { .. } | Self::LogFilter { .. } | Self::Config(_) => 64,
            Self::SwarmTaken(_) | Self::Database(DatabaseError::InUse { .. }) => 69,
            Self::Router(_) => 70,
            Self::Database(_) | Self::Listen { .. } | Self::Io(_) | Self::Sim(_) => 71,
        }
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // What a person sees first, whatever happens to the log.
            let _ = writeln!(io::stderr(), "interlock-drones: {failure}");
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
            Command::Serve { config } => serve(&config).await,
            Command::Sim(arguments) => Ok(sim::run(arguments).await?),
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

async fn serve(path: &Path) -> Result<(), Failure> {
    let config = read_config(path)?;
    // From here on a signal ends the process in order.
    let ending = on_signals()?;
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
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(|source| Failure::Listen {
            address: config.listen.to_string(),
            source,
        })?;
    let address = listener.local_addr()?;

    let watching = Arc::clone(&service);
    tokio::spawn(async move { watching.watch(states).await });
    let recording = Arc::clone(&service);
    tokio::spawn(async move { recording.record().await });
    rotate_on_hangup(path.to_owned(), keys.clone())?;
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

    writeln!(io::stdout(), "listening on {address}")?;
    io::stdout().flush()?;
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

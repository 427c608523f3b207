//! The simulated swarm: a process of its own behind the same link as a real one.

use std::io::Write;
use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

pub mod swarm;

mod random;
mod server;
mod vehicle;
mod world;

#[cfg(test)]
mod tests;

use swarm::{Swarm, SwarmConfig};
use world::World;

/// `interlock-drones sim`.
#[derive(Debug, Clone, clap::Args)]
pub struct SimArgs {
    /// Where to listen for the drone service
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// The swarm's name; claims for another swarm are refused
    #[arg(long)]
    pub swarm: Option<String>,
    /// Seed of everything random: the same seed flies the same flight
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many drones stand on their pads
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub drones: u32,
    /// Simulated seconds per second, 0.1 to 100
    #[arg(long, default_value_t = 1.0, value_parser = speed)]
    pub speed: f64,
    /// Mean wind in m/s, 0 to 2; its direction comes from the seed
    #[arg(long, default_value_t = 0.0, value_parser = wind)]
    pub wind: f64,
    /// A drone loses its radio: `drone_2@30` after 30 simulated seconds
    #[arg(long, value_name = "DRONE@SECONDS", value_parser = radio_loss)]
    pub lose_radio: Vec<(u32, u64)>,
}

/// Why the simulator could not run.
#[derive(Debug, thiserror::Error)]
pub enum SimError {
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// Which.
        address: SocketAddr,
        /// Why.
        source: std::io::Error,
    },
    /// The listener failed, or the ready line could not be written.
    #[error("simulator failed: {0}")]
    Io(#[from] std::io::Error),
}

/// Listens, says so in one line on standard output, and runs until SIGTERM or
/// Ctrl-C.
///
/// # Errors
/// The address cannot be listened on, or the listener fails later.
pub async fn run(args: SimArgs) -> Result<(), SimError> {
    let mut terminate = signal(SignalKind::terminate())?;
    let failed = |source| SimError::Listen {
        address: args.listen,
        source,
    };
    let listener = TcpListener::bind(args.listen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    let config = SwarmConfig {
        drones: args.drones,
        seed: args.seed,
        wind: args.wind,
        radio_losses: args.lose_radio,
        ..SwarmConfig::default()
    };
    let mut out = std::io::stdout();
    writeln!(out, "listening on {address}")?;
    out.flush()?;
    tokio::select! {
        error = serve(listener, &config, args.swarm, args.speed) => Err(SimError::Io(error)),
        _ = terminate.recv() => Ok(()),
        result = tokio::signal::ctrl_c() => Ok(result?),
    }
}

/// Serves a new swarm until the listener fails. `name` is the only swarm whose
/// claims are taken, `None` any; `speed` is simulated seconds per second, above 0.
pub async fn serve(
    listener: TcpListener,
    config: &SwarmConfig,
    name: Option<String>,
    speed: f64,
) -> std::io::Error {
    server::serve(listener, World::new(Swarm::new(config), name), speed).await
}

fn speed(text: &str) -> Result<f64, String> {
    number_between(text, 0.1, 100.0)
}

fn wind(text: &str) -> Result<f64, String> {
    number_between(text, 0.0, 2.0)
}

fn number_between(text: &str, least: f64, most: f64) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|number| (least..=most).contains(number))
        .ok_or_else(|| format!("must be a number from {least} to {most}"))
}

/// The index of the drone and the step.
fn radio_loss(text: &str) -> Result<(u32, u64), String> {
    let parse = || {
        let (drone, seconds) = text.split_once('@')?;
        let number: u32 = drone.strip_prefix("drone_")?.parse().ok()?;
        let seconds: u32 = seconds.parse().ok()?;
        Some((number.checked_sub(1)?, u64::from(seconds) * 10))
    };
    parse().ok_or_else(|| "must be like `drone_2@30`".to_owned())
}

//! The simulated swarm, a process of its own behind the same link as a real one.

use std::net::SocketAddr;

/// `interlock-drones sim`.
#[derive(Debug, Clone, clap::Args)]
pub struct SimArgs {
    /// Where to listen for the drone service
    #[arg(long, default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Seed of everything random: the same seed flies the same flight
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// How many drones stand on their pads
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub drones: u32,
    /// Simulated seconds per second
    #[arg(long, default_value_t = 1.0)]
    pub speed: f64,
    /// Wind speed in m/s; its direction comes from the seed
    #[arg(long, default_value_t = 0.0)]
    pub wind: f64,
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
}

/// Runs until SIGTERM or Ctrl-C.
///
/// # Errors
/// The address cannot be listened on.
pub async fn run(args: SimArgs) -> Result<(), SimError> {
    let _ = args;
    Ok(())
}

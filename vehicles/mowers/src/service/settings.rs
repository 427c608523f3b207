//! What the handlers must know of the configuration.

use std::path::PathBuf;
use std::time::Duration;

use jiff::SignedDuration;

/// The settings of one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Quotas of one account.
    pub limits: Limits,
    /// How long each layer of a preview waits.
    pub timeouts: Timeouts,
    /// Life of an emergency stop, which no caller chooses.
    pub emergency_stop_ttl: Duration,
    /// How long a shard keeps a mower without a word from this service.
    pub shard_lease: SignedDuration,
    /// Longest life of any other command.
    pub command_ttl_max: Duration,
    /// How long the records of commands are kept.
    pub command_retention: Duration,
    /// How long the records of stops and drive sessions are kept.
    pub safety_retention: Duration,
    /// What is forgotten is appended to this file first; `None`: nowhere.
    pub export: Option<PathBuf>,
    /// How long the gateway has to say whom a stop may reach, before all are stopped.
    pub judged_within: Duration,
    /// Where stops are noted while the records are down.
    pub spool: PathBuf,
}

/// Quotas of one account, and bounds of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Sites, the default one included.
    pub sites: u32,
    /// Groups.
    pub groups: u32,
    /// Mowers.
    pub mowers: u32,
    /// Groups one mower may be in.
    pub groups_of_mower: u32,
    /// Members of one bulk command that is not a stop.
    pub bulk: u32,
    /// Path previews at once.
    pub previews_of_account: u32,
    /// Path previews of one caller in a minute.
    pub previews_a_minute: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            sites: 200,
            groups: 200,
            mowers: 1_000,
            groups_of_mower: 8,
            bulk: 500,
            previews_of_account: 4,
            previews_a_minute: 10,
        }
    }
}

/// How long each layer of a path preview waits; the innermost is shortest, so
/// that each reports its own timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// The device gateway for the mower.
    pub mower: Duration,
    /// This service for the device gateway.
    pub service: Duration,
    /// The gateway for this service.
    pub gateway: Duration,
    /// The client for the gateway.
    pub client: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            mower: Duration::from_secs(75),
            service: Duration::from_secs(85),
            gateway: Duration::from_secs(88),
            client: Duration::from_secs(90),
        }
    }
}

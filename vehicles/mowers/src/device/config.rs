//! What a device gateway is told at its start.

use std::path::PathBuf;
use std::time::Duration;

use super::adapters::Adapters;

/// The usual longest time between two askings for the leases.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(2);

/// How often a lease is asked for again within its life, at the least.
const ASKINGS: u32 = 4;

/// The time between two askings for leases of this life.
pub(crate) fn asking(lease: Duration, heartbeat: Duration) -> Duration {
    heartbeat.min(lease / ASKINGS)
}

/// The settings of one shard.
#[derive(Clone)]
pub struct Config {
    /// The shard's name: letters, digits, `-`, `_`, at most 40. Names its consumers,
    /// so a restarted shard goes on where it was.
    pub shard: String,
    /// A folder of its own for what a restart must not forget.
    pub state: PathBuf,
    /// Who talks to which kind of mower.
    pub adapters: Adapters,
    /// Times.
    pub times: Times,
    /// Bounds.
    pub bounds: Bounds,
}

impl Config {
    /// The usual times and bounds.
    #[must_use]
    pub fn new(shard: &str, state: PathBuf, adapters: Adapters) -> Self {
        Config {
            shard: shard.to_owned(),
            state,
            adapters,
            times: Times::default(),
            bounds: Bounds::default(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        if self.shard.is_empty() || self.shard.len() > 40 || !self.shard.bytes().all(plain) {
            return Err(format!(
                "the shard's name `{}` must be 1 to 40 letters, digits, `-` or `_`",
                self.shard
            ));
        }
        let times = &self.times;
        let positive = [
            ("heartbeat", times.heartbeat),
            ("reconcile", times.reconcile),
            ("request", times.request),
            ("publish", times.publish),
            ("send", times.send),
            ("stop_attempt", times.stop_attempt),
            ("planning", times.planning),
            ("drive_idle", times.drive_idle),
            ("telemetry", times.telemetry),
        ];
        match positive.into_iter().find(|(_, time)| time.is_zero()) {
            Some((name, _)) => Err(format!("the time `{name}` must not be zero")),
            None => Ok(()),
        }
    }
}

/// Times of a device gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Times {
    /// The longest time between two askings for the leases; a short lease is asked
    /// for more often.
    pub heartbeat: Duration,
    /// Between two readings of the whole list of mowers.
    pub reconcile: Duration,
    /// For an answer of the fleet service.
    pub request: Duration,
    /// For the word of a stream.
    pub publish: Duration,
    /// For handing a command to the vendor; after that it may have gone out.
    pub send: Duration,
    /// How long the next command waits for the vendor's word on this one.
    pub answer: Duration,
    /// Between two attempts of a stop.
    pub stop_attempt: Duration,
    /// For the mower's planning; the innermost of the timeouts around a preview.
    pub planning: Duration,
    /// A drive session without frames ends.
    pub drive_idle: Duration,
    /// Between two states without a change.
    pub telemetry: Duration,
    /// At the end: for results to reach the stream.
    pub farewell: Duration,
    /// After a mower was let go of: for the vendor's late answers.
    pub late_answers: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Times {
            heartbeat: HEARTBEAT,
            reconcile: Duration::from_secs(60),
            request: Duration::from_secs(2),
            publish: Duration::from_secs(2),
            send: Duration::from_secs(10),
            answer: Duration::from_secs(5),
            stop_attempt: Duration::from_millis(500),
            planning: Duration::from_secs(75),
            drive_idle: Duration::from_secs(10),
            telemetry: Duration::from_secs(10),
            farewell: Duration::from_secs(3),
            late_answers: Duration::from_secs(60),
        }
    }
}

/// Bounds of a device gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Finals that are remembered.
    pub remembered: usize,
    /// Commands that wait for one mower.
    pub queue: usize,
    /// Points of a previewed path; more are thinned.
    pub preview_points: usize,
    /// Bytes of a preview's answer; below what the bus carries.
    pub preview_bytes: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            remembered: 100_000,
            queue: 64,
            preview_points: 50_000,
            preview_bytes: 4 * 1024 * 1024,
        }
    }
}

//! `[upstream]`: how services are called.

use std::time::Duration;

use interlock_surface::{TIMEOUTS, Timeout};

use super::section::{Section, millis};

/// Classes whose service waits for others itself and is done just within the table's
/// deadlines: a gateway that gave up earlier would hide what it has to tell.
const ONLY_LONGER: [&str; 3] = ["mower-stop", "fleet-stop", "path-preview"];

/// How services are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpstreamConfig {
    /// Idle connections kept to one service.
    pub idle_connections: u32,
    /// The largest answer that is buffered, in bytes.
    pub answer_limit: u32,
    /// Deadlines that replace those of the surface table.
    pub timeouts: Vec<TimeoutOverride>,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self {
            idle_connections: 64,
            answer_limit: 4 * 1024 * 1024,
            timeouts: Vec::new(),
        }
    }
}

/// The deadlines of one timeout class: connect < attempt <= total < gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimeoutOverride {
    /// The class in the surface table.
    pub name: &'static str,
    /// To make a connection.
    pub connect: Duration,
    /// For one attempt; for a stop, until another address is asked beside.
    pub attempt: Duration,
    /// For all attempts together.
    pub total: Duration,
    /// For the caller.
    pub gateway: Duration,
}

impl UpstreamConfig {
    pub(super) fn read(mut section: Section<'_>) -> Self {
        let default = Self::default();
        let mut timeouts = section.section("timeouts");
        let overrides = TIMEOUTS
            .iter()
            .filter_map(|class| {
                if !timeouts.has(class.name) {
                    return None;
                }
                let mut one = timeouts.section(class.name);
                let mut deadline = |key, usual| one.millis(key, millis(usual), 1..=600_000);
                let deadlines = TimeoutOverride {
                    name: class.name,
                    connect: deadline("connect_ms", class.connect_ms),
                    attempt: deadline("attempt_ms", class.attempt_ms),
                    total: deadline("total_ms", class.total_ms),
                    gateway: deadline("gateway_ms", class.gateway_ms),
                };
                if !deadlines.nested() {
                    one.fault(
                        "",
                        "the deadlines do not nest; `connect_ms` < `attempt_ms` <= `total_ms` < `gateway_ms` must hold",
                    );
                }
                if ONLY_LONGER.contains(&class.name) && deadlines.shorter_than(class) {
                    one.fault(
                        "",
                        format!(
                            "shorter than in the surface table; the service waits itself, so that \
                             `attempt_ms` must be at least {}, `total_ms` {} and `gateway_ms` {}",
                            class.attempt_ms, class.total_ms, class.gateway_ms
                        ),
                    );
                }
                one.finish();
                Some(deadlines)
            })
            .collect();
        timeouts.finish();
        let config = Self {
            idle_connections: section.number(
                "idle_connections",
                default.idle_connections,
                1..=10_000,
            ),
            answer_limit: section.number("answer_limit", default.answer_limit, 1_024..=67_108_864),
            timeouts: overrides,
        };
        section.finish();
        config
    }
}

impl TimeoutOverride {
    fn nested(&self) -> bool {
        self.connect < self.attempt && self.attempt <= self.total && self.total < self.gateway
    }

    fn shorter_than(&self, class: &Timeout) -> bool {
        self.attempt < millis(class.attempt_ms)
            || self.total < millis(class.total_ms)
            || self.gateway < millis(class.gateway_ms)
    }
}

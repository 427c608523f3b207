//! Logs and metrics: setup, names, and nothing a caller could make grow.
//!
//! Logs are JSON lines on standard error. Other crates speak at info and above
//! only, whatever the filter says: what they trace may hold a header or a body,
//! and a token, code or body is in no log.

mod known;
pub mod names;
#[cfg(test)]
mod tests;

use std::io;
use std::time::Duration;

use metrics::{Counter, Histogram, counter, histogram};
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use thiserror::Error;
use tracing::{Level, Metadata, Subscriber};
use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::{EnvFilter, FilterExt, filter_fn};
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::registry::Registry;

pub use known::Known;

/// Upper bounds of the duration histograms, in seconds.
const SECONDS: [f64; 14] = [
    0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0,
];

/// How often durations that were measured are sorted into their buckets.
const UPKEEP: Duration = Duration::from_secs(5);

/// Telemetry that cannot be set up.
#[derive(Debug, Error)]
pub enum TelemetryError {
    /// The log filter does not parse.
    #[error(
        "log filter `{filter}` is not usable: {cause}; write it like `info` or `interlock_gateway=debug`"
    )]
    Filter {
        /// What was given.
        filter: String,
        /// What is wrong with it.
        cause: tracing_subscriber::filter::ParseError,
    },
    /// Somebody else set up logging first.
    #[error("logging is set up already")]
    LoggingTwice,
    /// The metrics cannot be built.
    #[error("cannot build the metrics: {0}")]
    Metrics(#[from] BuildError),
    /// Somebody else set up metrics first.
    #[error("metrics are set up already")]
    MetricsTwice,
}

/// Starts logging for this process, as JSON lines on standard error, and
/// reports panics by place alone, since their message may hold anything.
///
/// A thread of its own writes. When whoever reads the log stops reading, lines
/// are dropped past a bound: nobody waits for a log, a stop least of all. What
/// is still queued is written when the guard is dropped.
///
/// # Errors
/// When the filter does not parse, or logging is set up already.
pub fn init_logging(filter: &str) -> Result<WorkerGuard, TelemetryError> {
    let (writer, guard) = NonBlockingBuilder::default()
        .lossy(true)
        .finish(io::stderr());
    let subscriber = subscriber(filter, writer)?;
    tracing::subscriber::set_global_default(subscriber)
        .map_err(|_| TelemetryError::LoggingTwice)?;
    std::panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        tracing::error!(place, "panicked");
    }));
    Ok(guard)
}

/// The subscriber that [`init_logging`] installs, writing to `writer`.
pub fn subscriber<W>(
    filter: &str,
    writer: W,
) -> Result<impl Subscriber + Send + Sync + use<W>, TelemetryError>
where
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let chosen = EnvFilter::try_new(filter).map_err(|cause| TelemetryError::Filter {
        filter: filter.to_owned(),
        cause,
    })?;
    let lines = tracing_subscriber::fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false)
        .with_writer(writer);
    Ok(Registry::default().with(lines.with_filter(chosen.and(filter_fn(is_ours_or_coarse)))))
}

fn is_ours_or_coarse(metadata: &Metadata<'_>) -> bool {
    metadata.target().starts_with("interlock") || *metadata.level() <= Level::INFO
}

/// The metrics of this process, rendered for the ops listener.
#[derive(Clone)]
pub struct Metrics {
    handle: PrometheusHandle,
}

impl Metrics {
    /// Starts collecting for this process. Counters made earlier are lost.
    pub fn install() -> Result<Self, TelemetryError> {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)?
            .build_recorder();
        let handle = recorder.handle();
        metrics::set_global_recorder(recorder).map_err(|_| TelemetryError::MetricsTwice)?;
        names::describe();
        Ok(Self { handle })
    }

    /// Metrics that collect nothing, for gateways that share a process.
    #[cfg(test)]
    pub(crate) fn apart() -> Self {
        Self {
            handle: PrometheusBuilder::new().build_recorder().handle(),
        }
    }

    /// Sorts what was measured into its buckets for ever: until somebody does,
    /// every single duration is kept.
    pub async fn keep_small(self) {
        let mut ticks = tokio::time::interval(UPKEEP);
        loop {
            ticks.tick().await;
            self.handle.run_upkeep();
        }
    }

    /// All metrics in the Prometheus text format, version 0.0.4.
    pub fn render(&self) -> String {
        // Otherwise done by the exporter's own server, which we do not run.
        self.handle.run_upkeep();
        self.handle.render()
    }
}

/// What is counted of every request.
#[derive(Debug, Default)]
pub struct Requests {
    answered: Known<(&'static str, u16), Counter>,
    seconds: Known<&'static str, Histogram>,
}

impl Requests {
    /// Counts a request of this row and class, and how it was answered.
    pub fn answered(&self, row: &'static str, class: &'static str, status: u16, took: Duration) {
        let answered = || counter!(names::REQUESTS, "row" => row, "status" => status.to_string());
        let seconds = || histogram!(names::REQUEST_SECONDS, "class" => class);
        self.answered.get((row, status), answered).increment(1);
        self.seconds.get(class, seconds).record(took.as_secs_f64());
    }
}

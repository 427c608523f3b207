//! The measurements of `cargo xtask bench`, as one Markdown report.
//!
//! The figure to trust is CPU per request: user and system time of the proxy's
//! process from `/proc/PID/stat`, divided by the requests it answered. Requests
//! per second swing with whatever else the machine does. Rounds are
//! interleaved, so that a slow minute is slow for everybody.

mod caller;
mod counted;
mod dispatch;
mod load;
mod machine;
mod mowers;
mod nginx;
mod registry;
mod report;
mod stage;
mod upstream;
mod wrk;

use report::Report;
use stage::Stage;

pub use mowers::Fleets;
pub use registry::bytes_per_object;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Whole rounds.
    pub rounds: u32,
    /// Seconds of load per measurement.
    pub seconds: u32,
}

/// One part of the report, for whoever works on what it measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Many callers that read.
    Reads,
    /// Many callers that write.
    Writes,
    /// One caller alone.
    Caller,
}

/// Measures everything and returns the report.
///
/// # Panics
/// Where something cannot be measured, or a figure would not mean what it
/// says: calls refused, decisions that are not one per request.
pub async fn run(effort: Effort) -> String {
    let mut report = Report::new(effort);
    let stage = Stage::start().await;
    report.counted(counted::measure(&stage).await);
    report.reads(&load::reads(&stage, effort).await);
    report.writes(&load::writes(&stage, effort).await);
    report.callers(&caller::measure(&stage, effort.rounds));
    report.memory(&stage);
    drop(stage);
    report.dispatches(&dispatch::measure().await);
    report.mowers(&mowers::measure(Fleets::default(), effort.seconds).await);
    report.registry(registry::measure());
    report.decisions(&machine::decision_cost());
    report.text()
}

/// Measures one part.
///
/// # Panics
/// As [`run`] does.
pub async fn run_part(part: Part, effort: Effort) -> String {
    let mut report = Report::new(effort);
    let stage = Stage::start().await;
    match part {
        Part::Reads => report.reads(&load::reads(&stage, effort).await),
        Part::Writes => report.writes(&load::writes(&stage, effort).await),
        Part::Caller => report.callers(&caller::measure(&stage, effort.rounds)),
    }
    report.text()
}

/// Measures the mower service alone.
///
/// # Panics
/// As [`run`] does.
pub async fn run_mowers(fleets: Fleets, effort: Effort) -> String {
    let mut report = Report::new(effort);
    report.mowers(&mowers::measure(fleets, effort.seconds).await);
    report.text()
}

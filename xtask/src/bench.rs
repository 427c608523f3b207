//! `cargo xtask bench`: measures, and writes docs/BENCHMARKS.md.

use std::process::Command;

use clap::Args;

use crate::Outcome;
use crate::command::{cargo, run};
use crate::tools;
use crate::workspace::Workspace;

/// What to measure and how long.
#[derive(Args)]
pub(crate) struct Options {
    /// Whole rounds, interleaved
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(3..))]
    rounds: u32,
    /// Seconds of load per measurement
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
    /// Write docs/BENCHMARKS.md; without it the report is only printed
    #[arg(long)]
    write: bool,
}

/// Builds everything optimized and hands over to `interlock-bench`, which
/// shares the harness of the tests: this tool itself must stay quick to build.
pub(crate) fn run_bench(workspace: &Workspace, options: &Options) -> Outcome {
    tools::ensure(&[tools::REDIS, tools::POSTGRES, tools::NGINX, tools::WRK])?;
    tools::nats(workspace)?;
    run(cargo(workspace)
        .args(["build", "--release", "--locked"])
        .args(["--workspace", "--bins", "--examples"]))?;
    let mut bench = Command::new(workspace.binary("interlock-bench", true));
    bench
        .current_dir(&workspace.root)
        .args(["--rounds", &options.rounds.to_string()])
        .args(["--seconds", &options.seconds.to_string()]);
    if options.write {
        bench.args(["--write", "docs/BENCHMARKS.md"]);
    }
    run(&mut bench)
}

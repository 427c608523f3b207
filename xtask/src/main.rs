//! Developer commands: `cargo xtask up | test | bench | golden`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool talks on its standard streams"
)]

mod bench;
mod command;
mod failure;
mod golden;
mod test;
mod tools;
mod up;
mod workspace;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::failure::Failure;
use crate::workspace::Workspace;

#[derive(Parser)]
#[command(name = "cargo xtask", about = "Developer commands of Interlock")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Build and run the whole system on loopback until Ctrl-C
    Up(up::Options),
    /// Check everything: format, lints, docs, dependencies, tests
    Test,
    /// Measure, and write docs/BENCHMARKS.md
    Bench(bench::Options),
    /// Rewrite the golden files that reviewers read; look at the diff
    Golden,
}

fn main() -> ExitCode {
    let workspace = Workspace::locate();
    let outcome = match Cli::parse().command {
        Command::Up(options) => up::run_up(&workspace, &options),
        Command::Test => test::run_steps(&workspace),
        Command::Bench(options) => bench::run_bench(&workspace, &options),
        Command::Golden => golden::run_golden(&workspace),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("xtask: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// What every command of this tool ends with.
type Outcome = Result<(), Failure>;

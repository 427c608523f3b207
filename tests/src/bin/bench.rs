//! The measurements of `cargo xtask bench`.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a tool of developers: it prints, and stops where it cannot measure"
)]

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use interlock_tests::bench::{self, Effort, Part};

#[derive(Parser)]
#[command(
    name = "interlock-bench",
    about = "Measures Interlock against a plain proxy"
)]
struct Cli {
    /// Whole rounds, interleaved
    #[arg(long, default_value_t = 3)]
    rounds: u32,
    /// Seconds of load per measurement
    #[arg(long, default_value_t = 10)]
    seconds: u32,
    /// Where the report goes, besides standard output
    #[arg(long)]
    write: Option<PathBuf>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Subcommand)]
enum Command {
    /// Measures only the read under load
    Reads,
    /// Measures only the write under load
    Writes,
    /// Measures only the one caller
    Caller,
    /// Prints the bytes that one registered object takes, measured in this
    /// process, which has done nothing else
    Registry {
        /// How many objects
        objects: u32,
    },
}

#[tokio::main]
async fn main() {
    let cli = Cli::parse();
    let effort = Effort {
        rounds: cli.rounds,
        seconds: cli.seconds,
    };
    let report = match cli.command {
        Some(Command::Registry { objects }) => {
            format!("{:.1}", bench::bytes_per_object(objects))
        }
        Some(Command::Reads) => bench::run_part(Part::Reads, effort).await,
        Some(Command::Writes) => bench::run_part(Part::Writes, effort).await,
        Some(Command::Caller) => bench::run_part(Part::Caller, effort).await,
        None => bench::run(effort).await,
    };
    println!("{report}");
    if let Some(path) = cli.write {
        std::fs::write(path, report).expect("the report can be written");
    }
}

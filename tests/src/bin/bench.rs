//! The measurements of `cargo xtask bench`.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a tool of developers: it prints, and stops where it cannot measure"
)]

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use interlock_tests::bench::{self, Effort, Fleets, Part};

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
    /// Measures only the mower service: commands, a command to many, a stop of all
    Mowers {
        /// Mowers that take single commands in turn
        #[arg(long, default_value_t = Fleets::default().commanded)]
        commanded: u32,
        /// Mowers of the one command to many
        #[arg(long, default_value_t = Fleets::default().bulk)]
        bulk: u32,
        /// Mowers of the one stop
        #[arg(long, default_value_t = Fleets::default().stopped)]
        stopped: u32,
        /// How many of those drive
        #[arg(long, default_value_t = Fleets::default().driving)]
        driving: u32,
    },
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
        Some(Command::Mowers {
            commanded,
            bulk,
            stopped,
            driving,
        }) => {
            let fleets = Fleets {
                commanded,
                bulk,
                stopped,
                driving,
            };
            bench::run_mowers(fleets, effort).await
        }
        None => bench::run(effort).await,
    };
    println!("{report}");
    if let Some(path) = cli.write {
        std::fs::write(path, report).expect("the report can be written");
    }
}

//! The identity provider of a trial: a token for each kind of caller, in a
//! folder, from a key that is made at the start and never leaves the process.
#![allow(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a tool of developers: it prints, and stops where it cannot go on"
)]

use std::path::PathBuf;

use clap::Parser;
use interlock_tests::idp::Idp;
use interlock_tests::personas;

#[derive(Parser)]
#[command(
    name = "interlock-people",
    about = "An identity provider for trials, on loopback"
)]
struct Cli {
    /// Where the tokens go, a file for each kind of caller
    #[arg(long, value_name = "FOLDER")]
    tokens: PathBuf,
}

fn main() {
    let cli = Cli::parse();
    let idp = Idp::start();
    personas::write_tokens(&idp, &cli.tokens).expect("the tokens can be written");
    println!("listening on {}", idp.address());
    // Until a signal ends the process.
    loop {
        std::thread::park();
    }
}

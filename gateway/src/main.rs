//! The gateway process.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use interlock_gateway::audit;
use interlock_gateway::config::Config;
use interlock_gateway::start::{self, StartError};
use interlock_gateway::telemetry::{self, Metrics};
use tokio::signal::unix::{SignalKind, signal};

/// The configuration or the command line is wrong (sysexits `EX_USAGE`).
const USAGE: u8 = 64;
/// Something outside is not as it must be (sysexits `EX_UNAVAILABLE`).
const UNAVAILABLE: u8 = 69;

/// A policy-as-code authorization gateway in front of vehicle services.
#[derive(Parser)]
#[command(name = "interlock", version)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Serve.
    Serve {
        /// The configuration file.
        #[arg(long)]
        config: PathBuf,
    },
    /// Check a configuration file and the policies it names, and say everything that is wrong.
    Check {
        /// The configuration file.
        #[arg(long)]
        config: PathBuf,
    },
    /// Decision records.
    Audit {
        #[command(subcommand)]
        command: AuditCommand,
    },
}

#[derive(Subcommand)]
enum AuditCommand {
    /// Check that no record was changed, dropped or cut off.
    Verify {
        /// A record file, or the folder of all.
        path: PathBuf,
        /// The head hash noted earlier from `GET /audit/head`.
        #[arg(long)]
        head: Option<String>,
    },
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Serve { config } => serve(&config),
        Command::Check { config } => match Config::load(&config, &start::environment()) {
            Ok(config) => match start::check_policies(&config.policies.path) {
                Ok(hash) => say(&format!(
                    "the configuration is valid, and so is bundle {hash}"
                )),
                Err(cause) => fail(USAGE, &cause),
            },
            Err(faults) => fail(USAGE, &faults),
        },
        Command::Audit {
            command: AuditCommand::Verify { path, head },
        } => match audit::verify(&path, head.as_deref()) {
            Ok(report) => say(&told(&report)),
            Err(cause) => fail(1, &cause),
        },
    }
}

fn serve(path: &std::path::Path) -> ExitCode {
    let config = match Config::load(path, &start::environment()) {
        Ok(config) => config,
        Err(faults) => return fail(USAGE, &faults),
    };
    let filter = std::env::var("INTERLOCK_LOG").unwrap_or_else(|_| "info".to_owned());
    // Held to the end: dropping it writes what is still queued.
    let _log = match telemetry::init_logging(&filter) {
        Ok(log) => log,
        Err(cause) => return fail(USAGE, &cause),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    match runtime {
        Ok(runtime) => runtime.block_on(run(&config)),
        Err(cause) => fail(UNAVAILABLE, &cause),
    }
}

async fn run(config: &Config) -> ExitCode {
    let metrics = match Metrics::install() {
        Ok(metrics) => metrics,
        Err(cause) => return fail(UNAVAILABLE, &cause),
    };
    let (mut terminate, mut interrupt) = match (
        signal(SignalKind::terminate()),
        signal(SignalKind::interrupt()),
    ) {
        (Ok(terminate), Ok(interrupt)) => (terminate, interrupt),
        (Err(cause), _) | (_, Err(cause)) => return fail(UNAVAILABLE, &cause),
    };
    let running = match start::build(config, metrics).await {
        Ok(running) => running,
        Err(cause @ StartError::Policies { .. }) => return fail(USAGE, &cause),
        Err(cause) => return fail(UNAVAILABLE, &cause),
    };
    match (running.address(), running.ops_address()) {
        (Ok(address), Ok(ops)) => {
            say(&format!("listening on {address}"));
            say(&format!("ops listening on {ops}"));
        }
        (Err(cause), _) | (_, Err(cause)) => return fail(UNAVAILABLE, &cause),
    }
    let shutdown = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    running.serve(config, shutdown).await;
    ExitCode::SUCCESS
}

/// A line for each record file.
fn told(report: &audit::VerifyReport) -> String {
    let lines = report.chains.iter().map(|chain| {
        let ending = match chain.ending {
            audit::Ending::Closed => "closed",
            audit::Ending::Open => "open: running, killed, or cut off; compare the head",
        };
        format!(
            "sound: {} ({} records, head {}, {ending})",
            chain.file.display(),
            chain.records,
            chain.head
        )
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[expect(clippy::print_stdout, reason = "the answer of a command")]
fn say(text: &str) -> ExitCode {
    println!("{text}");
    ExitCode::SUCCESS
}

#[expect(clippy::print_stderr, reason = "the complaint of a command")]
fn fail(code: u8, cause: &dyn std::fmt::Display) -> ExitCode {
    eprintln!("interlock: {cause}");
    ExitCode::from(code)
}

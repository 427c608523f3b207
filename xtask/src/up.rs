//! `cargo xtask up`: the whole system on loopback, in one terminal.

mod config;
mod process;
mod state;
mod system;

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::Outcome;
use crate::command::{cargo, run};
use crate::failure::Failure;
use crate::tools;
use crate::up::config::Ports;
use crate::up::state::State;
use crate::up::system::System;
use crate::workspace::Workspace;

/// How the system is run.
#[derive(Args)]
pub(crate) struct Options {
    /// First of three ports: gateway, operations, MCP
    #[arg(long, value_name = "N", default_value_t = 8080, value_parser = clap::value_parser!(u16).range(1..=65533))]
    port_base: u16,
    /// Keep plans, keys and objects in a Redis of its own instead of a file
    #[arg(long)]
    redis: bool,
    /// Optimized binaries
    #[arg(long)]
    release: bool,
    /// Go on with the state of the last run instead of an empty one
    #[arg(long)]
    keep: bool,
}

/// Builds, starts and watches the system until Ctrl-C or SIGTERM.
pub(crate) fn run_up(workspace: &Workspace, options: &Options) -> Outcome {
    if options.redis {
        tools::ensure(&[tools::REDIS])?;
    }
    let mut build = cargo(workspace);
    build.args(["build", "--workspace", "--bins", "--locked"]);
    if options.release {
        build.arg("--release");
    }
    run(&mut build)?;

    let ports = Ports::from_base(options.port_base);
    let state = State::prepare(workspace, options.port_base, options.keep)?;
    // After the lock, so that a second system on the same ports hears of the
    // first one and not of a taken port.
    ports.check()?;

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::file("tokio runtime"))?;
    runtime.block_on(serve(workspace, options, &state, ports))
}

async fn serve(workspace: &Workspace, options: &Options, state: &State, ports: Ports) -> Outcome {
    // A closed terminal hangs up; the children must not outlive it.
    let mut interrupt = caught(SignalKind::interrupt())?;
    let mut terminate = caught(SignalKind::terminate())?;
    let mut hangup = caught(SignalKind::hangup())?;
    let mut system = System::new(workspace, state, ports, options.release);
    // A signal ends the start as it ends the run.
    let outcome = tokio::select! {
        failure = watch(&mut system, options.redis, state) => failure,
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        _ = hangup.recv() => Ok(()),
    };
    println!("stopping");
    system.stop().await;
    outcome
}

fn caught(kind: SignalKind) -> Result<Signal, Failure> {
    signal(kind).map_err(Failure::file("signal handler"))
}

/// Starts the system, says so, and returns only when something went wrong.
async fn watch(system: &mut System<'_>, redis: bool, state: &State) -> Outcome {
    system.start(redis).await?;
    let ports = system.ports();
    println!(
        "ready: gateway http://{} · ops http://{} · logs {}",
        ports.gateway,
        ports.ops,
        state.shown(state.logs())
    );
    system.died().await
}

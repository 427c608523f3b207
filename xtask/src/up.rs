//! `cargo xtask up`: the whole system on loopback, in one terminal.

mod config;
mod demo;
mod http;
mod process;
mod servers;
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
use crate::up::system::{Layout, System};
use crate::workspace::Workspace;

/// How the system is run.
#[derive(Args)]
pub(crate) struct Options {
    /// First of three ports: gateway, operations, MCP. The second gateway of a
    /// distributed system takes the two after them
    #[arg(long, value_name = "N", default_value_t = 8080, value_parser = clap::value_parser!(u16).range(1..=65531))]
    port_base: u16,
    /// Keep plans, keys and objects in a Redis of its own instead of a file
    #[arg(long)]
    redis: bool,
    /// Two gateways, two mower services and two device gateways, on Redis,
    /// PostgreSQL and NATS of their own
    #[arg(long, conflicts_with = "redis")]
    distributed: bool,
    /// Callers need tokens; those of the trial's people are in a folder that
    /// the ready line names. Else everybody on this machine is the operator
    #[arg(long)]
    enforced: bool,
    /// Optimized binaries
    #[arg(long)]
    release: bool,
    /// Go on with the state of the last run instead of an empty one
    #[arg(long)]
    keep: bool,
}

impl Options {
    fn layout(&self) -> Layout {
        if self.distributed {
            Layout::Distributed
        } else if self.redis {
            Layout::Redis
        } else {
            Layout::Embedded
        }
    }
}

/// Builds, starts and watches the system until Ctrl-C or SIGTERM.
pub(crate) fn run_up(workspace: &Workspace, options: &Options) -> Outcome {
    match options.layout() {
        Layout::Embedded => {}
        Layout::Redis => tools::ensure(&[tools::REDIS])?,
        Layout::Distributed => {
            tools::ensure(&[tools::REDIS, tools::POSTGRES])?;
            tools::nats(workspace)?;
        }
    }
    let mut build = cargo(workspace);
    build.args(["build", "--workspace", "--bins", "--locked"]);
    if options.release {
        build.arg("--release");
    }
    run(&mut build)?;

    let state = State::prepare(workspace, options.port_base, options.keep)?;
    // After the lock, so that a second system on the same ports hears of the
    // first one and not of a taken port.
    Ports::from_base(options.port_base).check()?;
    if options.distributed {
        Ports::second(options.port_base).check()?;
    }

    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Failure::file("tokio runtime"))?;
    runtime.block_on(serve(workspace, options, &state))
}

async fn serve(workspace: &Workspace, options: &Options, state: &State) -> Outcome {
    // A closed terminal hangs up; the children must not outlive it.
    let mut interrupt = caught(SignalKind::interrupt())?;
    let mut terminate = caught(SignalKind::terminate())?;
    let mut hangup = caught(SignalKind::hangup())?;
    let mut system = System::new(workspace, state, options.port_base, options.release);
    // A signal ends the start as it ends the run.
    let outcome = tokio::select! {
        failure = watch(&mut system, options, state) => failure,
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
async fn watch(system: &mut System<'_>, options: &Options, state: &State) -> Outcome {
    let demo = system.start(options.layout(), options.enforced).await?;
    let ports = Ports::from_base(options.port_base);
    let second = if options.distributed {
        let ports = Ports::second(options.port_base);
        format!(" · second gateway http://{}", ports.gateway)
    } else {
        String::new()
    };
    let tokens = if options.enforced {
        format!(" · tokens {}", state.shown(state.file(system::TOKENS)))
    } else {
        String::new()
    };
    println!("metrics: {}", system.metrics());
    println!(
        "ready: gateway http://{} · ops http://{}{second} · logs {} · demo {}{tokens}",
        ports.gateway,
        ports.ops,
        state.shown(state.logs()),
        state.shown(demo),
    );
    system.died().await
}

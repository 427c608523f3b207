//! `cargo xtask test`: everything that must hold before a change lands.

use std::time::Instant;

use crate::Outcome;
use crate::command::{cargo, run};
use crate::failure::Failure;
use crate::tools;
use crate::workspace::Workspace;

type Step = (&'static str, fn(&Workspace) -> Outcome);

/// The cheap ones first. The tests come last, because their closing lines are
/// what a reader of the log looks for.
const STEPS: &[Step] = &[
    ("tools", install),
    ("fmt", fmt),
    ("clippy", clippy),
    ("doc", doc),
    ("deny", deny),
    ("build", build),
    ("test", test),
];

/// Runs the steps in order and stops at the first that fails, whose name is
/// then in the last line printed.
pub(crate) fn run_steps(workspace: &Workspace) -> Outcome {
    for (name, step) in STEPS {
        println!("\n==> {name}");
        let began = Instant::now();
        let outcome = step(workspace);
        println!("    {name} took {:.1} s", began.elapsed().as_secs_f64());
        outcome.map_err(|cause| Failure::Step {
            step: name,
            cause: Box::new(cause),
        })?;
    }
    Ok(())
}

/// Builds the programs that the integration tests start as processes.
///
/// For the whole workspace, as every step here: asked for single packages,
/// cargo unifies features differently and compiles dependencies twice.
fn build(workspace: &Workspace) -> Outcome {
    run(cargo(workspace).args(["build", "--workspace", "--bins", "--locked"]))
}

fn install(workspace: &Workspace) -> Outcome {
    tools::ensure(&[tools::REDIS, tools::POSTGRES, tools::CURL])?;
    tools::nats(workspace)?;
    tools::cargo_deny(workspace)?;
    Ok(())
}

fn fmt(workspace: &Workspace) -> Outcome {
    run(cargo(workspace).args(["fmt", "--all", "--check"]))
}

fn clippy(workspace: &Workspace) -> Outcome {
    run(cargo(workspace)
        .args(["clippy", "--workspace", "--all-targets", "--locked"])
        .args(["--", "-D", "warnings"]))
}

fn doc(workspace: &Workspace) -> Outcome {
    run(cargo(workspace).env("RUSTDOCFLAGS", "-D warnings").args([
        "doc",
        "--workspace",
        "--no-deps",
        "--locked",
    ]))
}

/// Licenses, duplicates and sources. Known vulnerabilities are left out: their
/// database comes from the network and changes by the day, and a test run must
/// give the same answer everywhere. Run `cargo deny check advisories` by hand.
fn deny(workspace: &Workspace) -> Outcome {
    let program = tools::cargo_deny(workspace)?;
    run(std::process::Command::new(program)
        .current_dir(&workspace.root)
        .args(["--locked", "check", "--hide-inclusion-graph"])
        .args(["bans", "licenses", "sources"]))
}

/// Twice as many at once as there are cores: most tests wait for the processes
/// that they start, and for leases and lives to run out.
fn test(workspace: &Workspace) -> Outcome {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    run(cargo(workspace)
        .env("RUST_TEST_THREADS", (2 * cores).to_string())
        .args(["test", "--workspace", "--locked"]))
}

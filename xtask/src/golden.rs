//! `cargo xtask golden`: rewrites the files that tests compare with.

use crate::Outcome;
use crate::command::{cargo, run};
use crate::workspace::Workspace;

/// Runs the tests that have `golden` in their names with the order to write
/// what they would otherwise compare. Lists that may only shrink are not
/// goldens: no command rewrites them.
pub(crate) fn run_golden(workspace: &Workspace) -> Outcome {
    run(cargo(workspace).env("INTERLOCK_GOLDEN", "write").args([
        "test",
        "--workspace",
        "--locked",
        "golden",
    ]))?;
    println!("goldens written; read `git diff` before you commit them");
    Ok(())
}

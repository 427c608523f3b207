//! Runs other programs and says what it runs.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

use crate::failure::Failure;
use crate::workspace::Workspace;

/// A `cargo` call at the root of the checkout.
///
/// The same cargo that runs this tool, so that a toolchain chosen on the
/// command line holds for every step.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(&workspace.root);
    command
}

/// Runs a command to its end on our own streams; anything but success is a
/// failure.
pub(crate) fn run(command: &mut Command) -> Result<(), Failure> {
    let line = describe(command);
    println!("    $ {line}");
    let status = command.status().map_err(|cause| Failure::Start {
        program: command.get_program().to_string_lossy().into_owned(),
        cause,
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(Failure::Ended {
            command: line,
            status,
        })
    }
}

/// What a command prints on its standard output, or `None` when it cannot run
/// or fails.
pub(crate) fn output(program: impl AsRef<OsStr>, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as one would type it.
fn describe(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str());
    let mut line = String::new();
    for (key, value) in command.get_envs() {
        if let Some(value) = value {
            line += &format!("{}='{}' ", key.display(), value.display());
        }
    }
    line += &name.display().to_string();
    for argument in command.get_args() {
        line += &format!(" {}", argument.display());
    }
    line
}

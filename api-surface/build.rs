//! Checks the tables in `surface/` and turns them into the crate's constants.

#[expect(
    dead_code,
    unreachable_pub,
    reason = "the vocabularies are the crate's own files, public and used there"
)]
#[path = "build/compile.rs"]
mod compile;

use std::env;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

#[expect(clippy::print_stderr, reason = "cargo shows it when the script fails")]
fn main() -> ExitCode {
    println!("cargo::rerun-if-changed=surface");
    let (Some(root), Some(out)) = (env::var_os("CARGO_MANIFEST_DIR"), env::var_os("OUT_DIR"))
    else {
        eprintln!("cargo did not say where the crate and its output lie");
        return ExitCode::FAILURE;
    };
    match compile::compile(Path::new(&root)) {
        Ok(constants) => match fs::write(Path::new(&out).join("tables.rs"), constants) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("the constants cannot be written: {error}");
                ExitCode::FAILURE
            }
        },
        Err(faults) => {
            for fault in faults {
                println!("cargo::error={fault}");
            }
            ExitCode::FAILURE
        }
    }
}

//! Finds a program of this workspace, and refuses one that is out of date.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// The program `name`, built with the same profile as the running test.
///
/// # Panics
/// When it was not built, or was built from other sources than those of now: a
/// test against yesterday's program says nothing.
pub fn binary(name: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test knows its own file");
    let profile = test
        .ancestors()
        .skip(1)
        .find(|folder| !folder.ends_with("deps"))
        .expect("a program lies in a folder");
    let program = profile.join(name);
    if let Err(reason) = check(&program) {
        panic!("{reason}; run `cargo build --workspace --bins` first");
    }
    program
}

fn check(program: &Path) -> Result<(), String> {
    let shown = program.display();
    let built = modified(program).ok_or(format!("`{shown}` is not built"))?;
    // What cargo wrote beside it: `PROGRAM: SOURCE SOURCE ...`.
    let sources = program.with_extension("d");
    let text = fs::read_to_string(&sources)
        .map_err(|cause| format!("cannot read `{}`: {cause}", sources.display()))?;
    let list = text.split_once(": ").map_or("", |(_, list)| list);
    for source in list.replace("\\ ", "\0").split_whitespace() {
        let source = PathBuf::from(source.replace('\0', " "));
        if modified(&source).is_none_or(|changed| changed > built) {
            return Err(format!("`{shown}` is older than `{}`", source.display()));
        }
    }
    Ok(())
}

fn modified(file: &Path) -> Option<SystemTime> {
    fs::metadata(file).and_then(|file| file.modified()).ok()
}

#[cfg(test)]
mod tests;

//! The files of this checkout.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of the root `Cargo.toml`.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("this package lies in the workspace")
        .to_path_buf()
}

/// Every file that git tracks or would track, relative to the root.
///
/// # Panics
/// Where git cannot list them: a check over no files would always pass.
pub fn files() -> Vec<PathBuf> {
    let output = Command::new("git")
        .current_dir(root())
        .args([
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ])
        .output()
        .expect("git is installed");
    assert!(
        output.status.success(),
        "git ls-files: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut files: Vec<PathBuf> = output
        .stdout
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(String::from_utf8_lossy(name).into_owned()))
        // Deleted in the work tree, not yet in the index.
        .filter(|file| root().join(file).is_file())
        .collect();
    files.sort();
    files.dedup();
    assert!(!files.is_empty(), "git lists no file");
    files
}

/// The text of a file, or `None` when it is not text.
pub fn text(file: &Path) -> Option<String> {
    String::from_utf8(std::fs::read(root().join(file)).expect("a listed file can be read")).ok()
}

//! Where things lie in the repository.

use std::path::{Path, PathBuf};

/// The folders of this checkout.
pub(crate) struct Workspace {
    /// The folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
}

impl Workspace {
    /// The checkout this tool was built from.
    pub(crate) fn locate() -> Workspace {
        let package = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = package.parent().unwrap_or(package).to_path_buf();
        let target = match std::env::var_os("CARGO_TARGET_DIR") {
            Some(folder) => root.join(folder),
            None => root.join("target"),
        };
        Workspace { root, target }
    }

    /// Where tools of pinned versions are installed, for this checkout alone.
    pub(crate) fn tools(&self) -> PathBuf {
        self.target.join("tools")
    }

    /// A program of this workspace, built by `cargo build`.
    pub(crate) fn binary(&self, name: &str, release: bool) -> PathBuf {
        let profile = if release { "release" } else { "debug" };
        self.target.join(profile).join(name)
    }
}

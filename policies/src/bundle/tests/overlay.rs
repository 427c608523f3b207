//! A bundle on disk, laid over the shipped one.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::super::Bundle;
use crate::diagnostics::Diagnostics;

/// A file of this crate.
pub(crate) fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// A copy of the shipped bundle to be changed and loaded.
pub(crate) struct Overlay(TempDir);

impl Overlay {
    pub(crate) fn new() -> Self {
        let overlay = Self(TempDir::new().unwrap());
        overlay.copy(&here("bundle"), "");
        overlay
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    pub(crate) fn edit(&self, name: &str, from: &str, to: &str) -> &Self {
        let text = fs::read_to_string(self.path().join(name)).unwrap();
        assert!(text.contains(from), "{name} has no `{from}`");
        self.write(name, text.replacen(from, to, 1))
    }

    /// Leaves out every file whose name starts so.
    pub(crate) fn remove(&self, prefix: &str) -> &Self {
        for name in files(self.path(), "") {
            if name.starts_with(prefix) {
                fs::remove_file(self.path().join(name)).unwrap();
            }
        }
        self
    }

    /// Lays a directory of files over this one.
    pub(crate) fn copy(&self, from: &Path, below: &str) {
        for name in files(from, below) {
            let content = fs::read(from.join(&name)).unwrap();
            self.write(&name, content);
        }
    }

    pub(crate) fn load(&self) -> Result<Bundle, Diagnostics> {
        Bundle::load(self.path())
    }
}

/// The files below a directory, relative to it, sorted.
pub(crate) fn files(root: &Path, below: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let name = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(root, &name));
        } else {
            found.push(name);
        }
    }
    found.sort();
    found
}

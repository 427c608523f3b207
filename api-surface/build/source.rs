//! The files that make up the surface, as text with a name.

use std::fs;
use std::path::Path;

use crate::compile::fault::{Fault, Law};

/// A file and what a person calls it.
#[derive(Clone, Debug)]
pub struct Source {
    /// Path from the crate's root, with slashes.
    pub label: String,
    /// Content.
    pub text: String,
}

/// Everything that the surface is made of.
#[derive(Clone, Debug)]
pub struct Sources {
    /// One table of rows for each service.
    pub services: Vec<Source>,
    /// The timeouts.
    pub timeouts: Source,
    /// The failure matrix.
    pub failures: Source,
    /// The component schemas.
    pub schemas: Source,
}

impl Sources {
    /// Reads `surface/` under `root`. Each `*.toml` but `timeouts` and
    /// `failures` is a service's table; they come in the order gateway, ops,
    /// then vehicle services by name.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub fn read(root: &Path) -> Result<Self, Vec<Fault>> {
        let timeouts = read(root, "timeouts.toml")?;
        let failures = read(root, "failures.toml")?;
        let schemas = read(root, "schemas.json")?;
        let mut names = Vec::new();
        let dir = root.join("surface");
        let entries = fs::read_dir(&dir).map_err(|error| unreadable("surface", &error))?;
        for entry in entries {
            let entry = entry.map_err(|error| unreadable("surface", &error))?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".toml") && name != "timeouts.toml" && name != "failures.toml" {
                names.push(name);
            }
        }
        let first = |name: &str| match name {
            "gateway.toml" => 0,
            "ops.toml" => 1,
            _ => 2,
        };
        names.sort_by(|a, b| (first(a), a).cmp(&(first(b), b)));
        let services = names
            .iter()
            .map(|name| read(root, name))
            .collect::<Result<_, _>>()?;
        Ok(Self {
            services,
            timeouts,
            failures,
            schemas,
        })
    }
}

impl Source {
    /// A fault at a place in this file.
    pub fn fault(&self, line: usize, law: Law, text: impl Into<String>) -> Fault {
        Fault {
            file: self.label.clone(),
            line,
            law,
            text: text.into(),
        }
    }

    /// The line, counted from 1, in which a byte stands.
    pub fn line(&self, offset: usize) -> usize {
        1 + self
            .text
            .bytes()
            .take(offset)
            .filter(|byte| *byte == b'\n')
            .count()
    }
}

fn read(root: &Path, name: &str) -> Result<Source, Vec<Fault>> {
    let label = format!("surface/{name}");
    let text = fs::read_to_string(root.join(&label)).map_err(|error| unreadable(&label, &error))?;
    Ok(Source { label, text })
}

fn unreadable(label: &str, error: &std::io::Error) -> Vec<Fault> {
    vec![Fault {
        file: label.to_owned(),
        line: 1,
        law: Law::Malformed,
        text: format!("cannot be read: {error}"),
    }]
}

//! `[[service]]`: a vehicle service behind the gateway, and the keys it shares
//! with it.

use std::fs;
use std::path::PathBuf;

use http::Uri;

use super::Environment;
use crate::grant::Keyring;

/// One vehicle service.
#[derive(Clone, Debug)]
pub struct ServiceConfig {
    /// The service of the surface table, such as `drones`.
    pub name: String,
    /// `http://host:port`, without a path.
    pub url: Uri,
    /// The object that rows without an object of their own are judged on.
    pub object: String,
    /// Where its keys come from, to read them again when they rotate.
    pub key_source: KeySource,
    /// The keys, as read at start.
    pub keys: Keyring,
}

/// Where a secret comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A variable of the environment.
    Variable(String),
    /// A file.
    File(PathBuf),
}

/// Why a secret cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// No such variable.
    #[error("the variable `{0}` is not set")]
    Variable(String),
    /// The file cannot be read.
    #[error("the file `{path}` cannot be read: {error}")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        error: std::io::Error,
    },
}

impl KeySource {
    /// Reads the secret's text, at start and again when it rotates.
    ///
    /// # Errors
    /// [`SourceError`] names the variable or the file.
    pub fn read(&self, env: &Environment) -> Result<String, SourceError> {
        match self {
            Self::Variable(name) => env
                .get(name)
                .map(|text| text.trim().to_owned())
                .ok_or_else(|| SourceError::Variable(name.clone())),
            Self::File(path) => match fs::read_to_string(path) {
                Ok(text) => Ok(text.trim().to_owned()),
                Err(error) => Err(SourceError::File {
                    path: path.display().to_string(),
                    error,
                }),
            },
        }
    }
}

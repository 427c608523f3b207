//! The last good key set on disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::authn::vet::SetError;
use crate::durable::replace;
use crate::identity::hex;

/// Why a saved set was not written or not read.
#[derive(Debug, thiserror::Error)]
pub(super) enum SavedError {
    /// The disk.
    #[error("`{path}`: {error}")]
    Io {
        /// The file or its directory.
        path: String,
        /// What the system said.
        error: io::Error,
    },
    /// Not a file of ours.
    #[error("`{path}` is not a saved key set: {error}")]
    Format {
        /// The file.
        path: String,
        /// What the parser said.
        error: serde_json::Error,
    },
    /// A file of another issuer under this issuer's name.
    #[error("`{0}` is the saved key set of another issuer")]
    Issuer(String),
    /// The set no longer passes vetting.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The process is ending.
    #[error("saving was interrupted")]
    Interrupted,
}

/// A saved set: the text as fetched, vetted anew when it is loaded.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SavedSet {
    pub(super) issuer: String,
    pub(super) fetched_at: Timestamp,
    pub(super) jwks: String,
}

/// The file of an issuer. A digest, since an issuer is a URL.
pub(super) fn path(state: &Path, issuer: &str) -> PathBuf {
    let name = hex(&Sha256::digest(issuer.as_bytes()));
    state.join("keys").join(format!("{name}.json"))
}

/// Writes a set so that a crash leaves the old one or the new one.
pub(super) fn write(
    path: &Path,
    issuer: &str,
    fetched_at: Timestamp,
    jwks: Vec<u8>,
) -> Result<(), SavedError> {
    let set = SavedSet {
        issuer: issuer.to_owned(),
        fetched_at,
        // Vetting has passed, so this is UTF-8.
        jwks: String::from_utf8_lossy(&jwks).into_owned(),
    };
    let text = serde_json::to_vec(&set).map_err(|error| SavedError::Format {
        path: path.display().to_string(),
        error,
    })?;
    replace(path, &text).map_err(|error| SavedError::Io {
        path: path.display().to_string(),
        error,
    })
}

/// Reads the saved set, `None` when there is none.
pub(super) fn read(path: &Path, issuer: &str) -> Result<Option<SavedSet>, SavedError> {
    let shown = || path.display().to_string();
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            return Err(SavedError::Io {
                path: shown(),
                error,
            });
        }
    };
    let set: SavedSet = serde_json::from_slice(&text).map_err(|error| SavedError::Format {
        path: shown(),
        error,
    })?;
    if set.issuer != issuer {
        return Err(SavedError::Issuer(shown()));
    }
    Ok(Some(set))
}

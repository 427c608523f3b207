//! The registry on local disk, so that a gateway restarted while the store is
//! gone still knows what may be stopped.

use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Object, Registry};
use crate::durable::replace;

/// Why a snapshot could not be read or written.
#[derive(Debug, Error)]
pub enum SnapshotError {
    /// The file system refused.
    #[error("registry snapshot `{path}`: {cause}")]
    Io {
        /// The file.
        path: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The file is not a snapshot.
    #[error("registry snapshot `{path}` does not parse: {cause}")]
    Parse {
        /// The file.
        path: String,
        /// Where and why.
        cause: serde_json::Error,
    },
}

#[derive(Serialize, Deserialize)]
struct Snapshot {
    objects: Vec<Object>,
}

/// Writes all objects to `path`, replacing the file whole.
pub fn save(registry: &Registry, path: &Path) -> Result<(), SnapshotError> {
    let objects = registry.all();
    let bytes = serde_json::to_vec(&Snapshot { objects }).map_err(|cause| parse(path, cause))?;
    replace(path, &bytes).map_err(|cause| io_error(path, cause))
}

/// Reads `path` into `registry`. A missing file is an empty snapshot. The
/// generation stays: the store's own changes are followed from the start.
pub fn load(registry: &Registry, path: &Path) -> Result<usize, SnapshotError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(cause) => return Err(io_error(path, cause)),
    };
    let snapshot: Snapshot = serde_json::from_slice(&bytes).map_err(|cause| parse(path, cause))?;
    for object in &snapshot.objects {
        registry.apply(object);
    }
    Ok(snapshot.objects.len())
}

fn io_error(path: &Path, cause: io::Error) -> SnapshotError {
    SnapshotError::Io {
        path: path.display().to_string(),
        cause,
    }
}

fn parse(path: &Path, cause: serde_json::Error) -> SnapshotError {
    SnapshotError::Parse {
        path: path.display().to_string(),
        cause,
    }
}

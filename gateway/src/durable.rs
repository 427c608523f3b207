//! Small files in the state folder that are whole at every moment.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Replaces `path` by `text`: whoever reads sees the old text or the new one,
/// after a power cut as well. Makes the folder where there is none.
///
/// # Errors
/// The file system's.
pub(crate) fn replace(path: &Path, text: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(directory)?;
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(text)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    // The rename itself is durable only with its directory.
    File::open(directory)?.sync_all()
}

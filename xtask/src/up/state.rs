//! The state directory: keys, databases, configuration, logs.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::failure::Failure;
use crate::workspace::Workspace;

/// `var/up`, or `var/up-N` beside it for another port base, readable by its
/// owner alone. Held by one process at a time.
pub(crate) struct State {
    folder: PathBuf,
    root: PathBuf,
    kept: bool,
    lock: File,
}

impl State {
    /// Takes the directory, and empties it unless `keep` is set: the simulated
    /// swarm starts anew, and plans about another swarm would only confuse.
    pub(crate) fn prepare(
        workspace: &Workspace,
        port_base: u16,
        keep: bool,
    ) -> Result<State, Failure> {
        let name = match port_base {
            8080 => "up".to_owned(),
            other => format!("up-{other}"),
        };
        let folder = workspace.root.join("var").join(&name);
        fs::create_dir_all(workspace.root.join("var")).map_err(Failure::file(&folder))?;
        let lock = lock(&workspace.root.join("var").join(format!("{name}.lock")))?;
        if !keep && folder.exists() {
            fs::remove_dir_all(&folder).map_err(Failure::file(&folder))?;
        }
        let state = State {
            folder,
            root: workspace.root.clone(),
            kept: keep,
            lock,
        };
        state.folder("logs")?;
        Ok(state)
    }

    /// Whether it goes on with the state of the last run.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept
    }

    /// A folder in the directory, made when it is not there.
    pub(crate) fn folder(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.file(name);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&folder)
            .map_err(Failure::file(&folder))?;
        Ok(folder)
    }

    /// A file in the directory.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// What the processes say, one file each.
    pub(crate) fn logs(&self) -> PathBuf {
        self.folder.join("logs")
    }

    /// A path as a person at the root of the checkout would type it.
    pub(crate) fn shown(&self, path: PathBuf) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(&path);
        path.display().to_string()
    }

    /// Writes a file that only its owner can read.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = self.file(name);
        OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(&path)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(Failure::file(&path))?;
        Ok(path)
    }

    /// The key that gateway and service share, made on first use:
    /// `kid:base64url` of 32 random bytes.
    pub(crate) fn key(&self, service: &str) -> Result<String, Failure> {
        let name = format!("{service}.key");
        if let Ok(kept) = fs::read_to_string(self.file(&name)) {
            return Ok(kept.trim().to_owned());
        }
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes).map_err(Failure::Random)?;
        let key = format!("{service}-1:{}", URL_SAFE_NO_PAD.encode(bytes));
        self.write(&name, &format!("{key}\n"))?;
        Ok(key)
    }
}

impl Drop for State {
    /// Lets go at once: a program that is just being started holds a copy of
    /// the file until it runs.
    fn drop(&mut self) {
        if let Err(cause) = self.lock.unlock() {
            eprintln!("the state stays locked until this process ends: {cause}");
        }
    }
}

fn lock(path: &Path) -> Result<File, Failure> {
    let file = File::create(path).map_err(Failure::file(path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Failure::Locked { path: path.into() }),
        Err(TryLockError::Error(cause)) => Err(Failure::file(path)(cause)),
    }
}

#[cfg(test)]
mod tests;

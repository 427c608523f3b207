//! The files of a bundle: read once, hashed as read, and loaded from memory,
//! so that what was checked is what is in force.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;

use sha2::{Digest, Sha256};

use crate::diagnostics::{Check, Diagnostic, Diagnostics};

pub(crate) const MANIFEST: &str = "bundle.toml";
pub(crate) const GRANTS: &str = "grants.json";

pub(crate) const SCHEMA: &str = "schema/";
pub(crate) const PERMITS: &str = "permits/";
pub(crate) const GUARDS: &str = "guards/";
pub(crate) const TENANTS: &str = "tenants/";
pub(crate) const CASES: &str = "cases/";
pub(crate) const CASE_ENTITIES: &str = "cases/entities/";

const DIRECTORIES: [&str; 6] = [
    "schema",
    "permits",
    "guards",
    "tenants",
    "cases",
    "cases/entities",
];

/// Bounds that no sane bundle meets, so that a wrong path or a runaway
/// generator cannot exhaust memory.
const MAX_FILES: usize = 10_000;
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The bytes of a bundle, by path relative to it, with `/` as separator.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Files(BTreeMap<String, String>);

impl Files {
    /// Reads every file of a bundle.
    pub(crate) fn read(directory: &Path) -> Result<Self, Diagnostics> {
        let mut files = BTreeMap::new();
        let mut faults = Vec::new();
        read_directory(directory, "", &mut files, &mut faults);
        if faults.is_empty() {
            Ok(Self(files))
        } else {
            Err(Diagnostics::group(faults))
        }
    }

    /// SHA-256 over all names and contents, as lower-case hex.
    ///
    /// Every part is preceded by its length, so that moving text from one file
    /// into another, or from a name into a content, changes the hash.
    pub(crate) fn hash(&self) -> String {
        let mut hasher = Sha256::new();
        hasher.update(b"interlock-bundle-1");
        for part in self.0.iter().flat_map(|(name, text)| [name, text]) {
            hasher.update((part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        hasher
            .finalize()
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// A file that every bundle has.
    pub(crate) fn required(&self, name: &str, check: Check) -> Result<&str, Vec<Diagnostic>> {
        let missing = || Diagnostic::new(check, "the bundle has no such file").file(name);
        self.get(name).ok_or_else(|| vec![missing()])
    }

    pub(crate) fn schemas(&self) -> impl Iterator<Item = (&str, &str)> {
        self.under(SCHEMA)
    }

    pub(crate) fn policies(&self) -> impl Iterator<Item = (&str, &str)> {
        let guards = self.under(GUARDS);
        guards.chain(self.under(PERMITS)).chain(self.under(TENANTS))
    }

    pub(crate) fn cases(&self) -> impl Iterator<Item = (&str, &str)> {
        let cases = self.under(CASES);
        cases.filter(|(name, _)| !name.starts_with(CASE_ENTITIES))
    }

    fn under(&self, directory: &'static str) -> impl Iterator<Item = (&str, &str)> {
        let all = self
            .0
            .iter()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        all.filter(move |(name, _)| name.starts_with(directory))
    }
}

impl FromIterator<(String, String)> for Files {
    fn from_iter<I: IntoIterator<Item = (String, String)>>(files: I) -> Self {
        Self(files.into_iter().collect())
    }
}

fn read_directory(
    root: &Path,
    below: &str,
    files: &mut BTreeMap<String, String>,
    faults: &mut Vec<Diagnostic>,
) {
    let fault = |name: &str, what: String| Diagnostic::new(Check::Files, what).file(name);
    let entries = match fs::read_dir(root.join(below)) {
        Ok(entries) => entries,
        Err(error) => {
            faults.push(fault(
                below,
                format!("the directory cannot be read: {error}"),
            ));
            return;
        }
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                faults.push(fault(
                    below,
                    format!("the directory cannot be read: {error}"),
                ));
                continue;
            }
        };
        let name = entry.file_name().to_string_lossy().into_owned();
        // Editors' and deployment tools' own files, and notes for people.
        if name.starts_with('.') || name.ends_with('~') || name.ends_with(".md") {
            continue;
        }
        let name = match below {
            "" => name,
            below => format!("{below}/{name}"),
        };
        if files.len() >= MAX_FILES {
            faults.push(fault(&name, format!("more than {MAX_FILES} files")));
            return;
        }
        // `metadata` follows links: mounted configuration is made of them.
        match fs::metadata(entry.path()) {
            Ok(meta) if meta.is_dir() && DIRECTORIES.contains(&name.as_str()) => {
                read_directory(root, &name, files, faults);
            }
            Ok(meta) if meta.is_file() && belongs(&name) => match read_file(&entry.path()) {
                Ok(text) => {
                    files.insert(name, text);
                }
                Err(what) => faults.push(fault(&name, what)),
            },
            Ok(_) => {
                // A policy under a mistyped name would silently not hold.
                let what = "this does not belong in a bundle, and would be ignored".to_owned();
                let help = "policies are `*.cedar` in permits/, guards/ or tenants/; \
                            cases are `*.json` in cases/";
                faults.push(fault(&name, what).help(help));
            }
            Err(error) => faults.push(fault(&name, format!("cannot be read: {error}"))),
        }
    }
}

fn belongs(name: &str) -> bool {
    let ends = |end: &str| name.ends_with(end);
    match name.rsplit_once('/').map(|(directory, _)| directory) {
        None => name == MANIFEST || name == GRANTS,
        Some("schema") => ends(".cedarschema"),
        Some("permits" | "guards" | "tenants") => ends(".cedar"),
        Some(_) => ends(".json"),
    }
}

fn read_file(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    let file = fs::File::open(path).map_err(|error| format!("cannot be read: {error}"))?;
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("cannot be read: {error}"))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(format!("larger than {MAX_FILE_BYTES} bytes"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let offset = error.utf8_error().valid_up_to();
        format!("not UTF-8: the byte at offset {offset} belongs to no character")
    })
}

//! Turns the tables into Rust, or says which law they break and where.
//!
//! The build script calls this, and the crate's tests call the same functions
//! on broken tables. The vocabularies are the crate's own files.

#[macro_use]
#[path = "../src/terms.rs"]
pub mod terms;

#[path = "../src/class.rs"]
pub mod class;
#[path = "../src/failures/terms.rs"]
pub mod failure_terms;
#[path = "../src/relation.rs"]
pub mod relation;
#[path = "../src/text.rs"]
pub mod text;

pub mod emit;
pub mod failures;
pub mod fault;
pub mod laws;
pub mod reader;
pub mod schemas;
pub mod source;
pub mod table;
pub mod template;
pub mod timeouts;
pub mod words;

use std::path::Path;

use fault::Fault;
use source::Sources;

/// Reads `surface/` under `root`, judges it, and writes the crate's constants.
///
/// # Errors
/// Every fault that was found. When a file cannot be understood, the laws
/// that need its content are not judged.
pub fn compile(root: &Path) -> Result<String, Vec<Fault>> {
    compile_sources(&Sources::read(root)?)
}

/// The same for files that are already read.
///
/// # Errors
/// As [`compile`].
pub fn compile_sources(sources: &Sources) -> Result<String, Vec<Fault>> {
    let mut faults = Vec::new();
    let timeouts = timeouts::read(&sources.timeouts, &mut faults);
    let schemas = schemas::read(&sources.schemas, &mut faults);
    let cells = failures::read(&sources.failures, &mut faults);
    let mut rows = Vec::new();
    for source in &sources.services {
        rows.extend(table::read(source, &mut faults));
    }
    if faults.is_empty() {
        laws::judge(&rows, &timeouts, &schemas, &mut faults);
    }
    if faults.is_empty() {
        return Ok(emit::constants(&rows, &timeouts, &cells));
    }
    faults.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
    Err(faults)
}

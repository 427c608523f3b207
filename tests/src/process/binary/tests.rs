use std::fs::File;
use std::time::{Duration, SystemTime};

use super::check;

/// A program, its list of one source, and how much later the source changed.
fn program(later: Option<i64>) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("tool");
    let source = folder.path().join("main.rs");
    let built = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000);
    File::create(&program).unwrap().set_modified(built).unwrap();
    if let Some(later) = later {
        let changed = SystemTime::UNIX_EPOCH + Duration::from_secs((1_000 + later) as u64);
        File::create(&source)
            .unwrap()
            .set_modified(changed)
            .unwrap();
    }
    let list = format!("{}: {}\n", program.display(), source.display());
    std::fs::write(program.with_extension("d"), list).unwrap();
    check(&program)
}

#[test]
fn a_program_older_than_its_sources_is_refused() {
    assert_eq!(program(Some(-1)), Ok(()));
    assert!(program(Some(1)).unwrap_err().contains("is older than"));
    assert!(program(None).unwrap_err().contains("is older than"));
}

#[test]
fn a_program_that_was_not_built_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let reason = check(&folder.path().join("tool")).unwrap_err();
    assert!(reason.contains("is not built"), "{reason}");
}

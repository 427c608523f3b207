//! No file grows beyond what one reads at a sitting.

use std::path::Path;

use interlock_tests::repository;

/// Lines of a source file that are not tests.
const LIMIT: usize = 600;

/// The report on a file that is too long.
fn check(file: &Path, text: &str) -> Option<String> {
    let lines = text.lines().count();
    (source(file) && lines > LIMIT)
        .then(|| format!("{} has {lines} lines; {LIMIT} is the limit", file.display()))
}

/// Rust that is not tests. Tests stand in `foo/tests.rs`, in a `tests/` folder
/// of a crate, or below `foo/tests/`.
fn source(file: &Path) -> bool {
    let rust = file.extension().is_some_and(|end| end == "rs");
    let test = file.ends_with("tests.rs")
        || file.parent().is_some_and(|folder| {
            // The first component is a crate's own folder, and one is called so.
            folder
                .components()
                .skip(1)
                .any(|part| part.as_os_str() == "tests")
        });
    rust && !test
}

#[test]
fn files_are_short() {
    let files = repository::files();
    let sources = files.iter().filter(|file| source(file)).count();
    assert!(sources > 20, "only {sources} source files found");
    let long: Vec<String> = files
        .iter()
        .filter_map(|file| check(file, &repository::text(file)?))
        .collect();
    assert_eq!(long, Vec::<String>::new());
}

#[test]
fn a_long_file_is_found() {
    let long = "line\n".repeat(LIMIT + 1);
    let seen = |file: &str, text: &str| check(Path::new(file), text).is_some();
    assert!(seen("gateway/src/pipeline.rs", &long));
    assert!(seen("tests/src/idp.rs", &long));
    assert!(!seen("gateway/src/pipeline.rs", &long[5..]));
    assert!(!seen("gateway/src/pipeline/tests.rs", &long));
    assert!(!seen("gateway/src/pipeline/tests/races.rs", &long));
    assert!(!seen("tests/tests/it/tour.rs", &long));
    assert!(!seen("docs/API-SURFACE.md", &long));
}

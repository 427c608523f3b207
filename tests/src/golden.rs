//! Compares output with a file that people review.

use std::path::Path;

use crate::repository;

/// Compares `actual` with the file at `path`, relative to the root of the
/// checkout. With `INTERLOCK_GOLDEN=write` the file is written instead.
///
/// # Panics
/// Where they differ, with the first line that does and how to accept it.
pub fn check(path: &str, actual: &str) {
    let file = repository::root().join(path);
    if std::env::var_os("INTERLOCK_GOLDEN").is_some_and(|order| order == "write") {
        let folder = file.parent().unwrap_or(Path::new("."));
        std::fs::create_dir_all(folder).expect("the folder of a golden can be made");
        std::fs::write(&file, actual).expect("a golden can be written");
        return;
    }
    let expected = match std::fs::read_to_string(&file) {
        Ok(text) => text,
        Err(cause) => panic!("cannot read golden `{path}`: {cause}; run `cargo xtask golden`"),
    };
    if let Some(report) = difference(&expected, actual) {
        panic!(
            "golden `{path}` differs: {report}\nif that is right, run `cargo xtask golden` and commit the change"
        );
    }
}

/// The first line that differs, or `None` when nothing does.
fn difference(expected: &str, actual: &str) -> Option<String> {
    if expected == actual {
        return None;
    }
    let mut old = expected.split('\n');
    let mut new = actual.split('\n');
    let mut number = 1;
    loop {
        match (old.next(), new.next()) {
            (Some(old), Some(new)) if old == new => number += 1,
            (old, new) => {
                let shown = |line: Option<&str>| line.unwrap_or("(no line)").to_owned();
                return Some(format!(
                    "line {number}\n  golden: {}\n  now:    {}",
                    shown(old),
                    shown(new)
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests;

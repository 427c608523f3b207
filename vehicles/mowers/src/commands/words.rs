//! Every machine word that this crate writes as the reason of a record stands in
//! the document of problems.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const DOCUMENT: &str = include_str!("../../../../docs/MOWER-PROBLEMS.md");

/// Where reasons are made.
const PLACES: [&str; 6] = [
    "src/device",
    "src/sim/machine.rs",
    "src/sim/machine",
    "src/sim/world.rs",
    "src/sim/coverage.rs",
    "src/commands",
];

/// Words that look like one: of faults and latches, of sessions, frames and
/// previews, and of consumers.
const OTHERS: [&str; 11] = [
    "battery-empty",
    "blade-spin-up",
    "dock-failed",
    "drive-session-held",
    "emergency-stop",
    "fleet-command-results",
    "not-now",
    "preview-running",
    "sensors-silent",
    "stale-frame",
    "too-soon",
];

/// The sources below `path` that are no tests.
fn sources(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.push(path.to_owned());
        return;
    }
    for entry in fs::read_dir(path).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let is_test = matches!(name, Some("tests" | "testkit"));
        if !is_test && !path.ends_with(file!().trim_start_matches("vehicles/mowers/")) {
            sources(&path, found);
        }
    }
}

/// The word that a text in quotes begins with: one with a hyphen, or any that
/// the code before it rejects with.
fn word<'a>(before: &str, text: &'a str) -> Option<&'a str> {
    let end = text.find(|it: char| !it.is_ascii_lowercase() && it != '-')?;
    let (word, after) = text.split_at(end);
    let rejects = before.ends_with("rejected(") || before.ends_with(" no(");
    let is_word = (word.contains('-') || rejects) && !word.starts_with('-');
    let ends = after.starts_with('"') || after.starts_with(": ");
    (is_word && ends && !word.ends_with('-')).then_some(word)
}

fn words() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for place in PLACES {
        sources(&root.join(place), &mut found);
    }
    let mut words = BTreeSet::new();
    for source in found {
        let text = fs::read_to_string(&source).expect("a source");
        let lines = text.lines().map(str::trim_start);
        for line in lines.filter(|line| !line.starts_with("//")) {
            for (place, _) in line.match_indices('"') {
                let (before, text) = line.split_at(place);
                let text = text.trim_start_matches('"');
                words.extend(word(before, text).map(str::to_owned));
            }
        }
    }
    words
}

#[test]
fn every_machine_word_of_a_record_is_documented() {
    let words = words();
    for known in ["no-effect", "rain", "superseded-by-calming", "queue-full"] {
        assert!(words.contains(known), "the search misses `{known}`");
    }
    let stale = |word: &&&str| !words.contains(**word);
    assert_eq!(OTHERS.iter().find(stale), None, "nobody writes it any more");
    let reasons = DOCUMENT
        .split_once("## Reasons of records")
        .expect("a part")
        .1;
    let missing: Vec<&String> = words
        .iter()
        .filter(|word| !OTHERS.contains(&word.as_str()))
        .filter(|word| !reasons.contains(&format!("`{word}`")))
        .collect();
    assert!(missing.is_empty(), "not in MOWER-PROBLEMS.md: {missing:?}");
}

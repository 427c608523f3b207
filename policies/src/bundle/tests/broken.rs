//! Every fixture of `broken/` is refused by the check it names, and its twin,
//! one line apart, is not.

use std::collections::BTreeSet;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread;

use serde::Deserialize;

use super::super::Bundle;
use super::overlay::{Overlay, files, here};
use crate::diagnostics::{Check, Diagnostics};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    check: String,
    file: Option<String>,
    line: Option<usize>,
    /// How many faults the one mistake makes; one, unless told.
    faults: Option<usize>,
}

fn fixtures() -> Vec<(String, PathBuf, Expected)> {
    let mut fixtures = Vec::new();
    for entry in fs::read_dir(here("broken")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let text = fs::read_to_string(path.join("expect.toml")).unwrap();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            fixtures.push((name, path, toml::from_str(&text).unwrap()));
        }
    }
    fixtures.sort_by(|left, right| left.0.cmp(&right.0));
    fixtures
}

fn load(twin: &Path) -> Result<Bundle, Diagnostics> {
    let overlay = Overlay::new();
    for name in files(twin, "") {
        let text = fs::read_to_string(twin.join(&name)).unwrap();
        match name.as_str() {
            "remove" => text.split_whitespace().for_each(|prefix| {
                overlay.remove(prefix);
            }),
            "edit" => text.lines().for_each(|line| {
                let parts: Vec<&str> = line.split(" => ").collect();
                overlay.edit(parts[0], parts[1], parts[2]);
            }),
            _ => {
                overlay.write(&name, text);
            }
        }
    }
    overlay.load()
}

/// What is not as expected of a bad twin.
fn judge(expected: &Expected, faults: &Diagnostics) -> Option<String> {
    let wrong = |what: &str| Some(format!("{what}:\n{faults}"));
    if faults.iter().count() != expected.faults.unwrap_or(1) {
        return wrong("another number of faults");
    }
    if faults
        .iter()
        .any(|fault| fault.check.as_str() != expected.check)
    {
        return wrong("refused by another check");
    }
    let first = faults.iter().next();
    let place = first.map(|fault| (&fault.file, fault.line));
    if expected.file.is_some() && place != Some((&expected.file, expected.line)) {
        return wrong("refused at another place");
    }
    None
}

/// Looks at every fixture, on as many threads as there are cores: what is
/// wrong, if anything.
fn nothing_wrong(look: impl Fn(&Path, &Expected) -> Option<String> + Sync) {
    let fixtures = fixtures();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let wrong: Vec<String> = thread::scope(|scope| {
        let look = &look;
        let part = |part| {
            scope.spawn(move || -> Vec<String> {
                let part: &[(String, PathBuf, Expected)] = part;
                let wrong = part.iter().filter_map(|(name, path, expected)| {
                    look(path, expected).map(|what| format!("{name}: {what}"))
                });
                wrong.collect()
            })
        };
        let parts: Vec<_> = fixtures
            .chunks(fixtures.len().div_ceil(threads))
            .map(part)
            .collect();
        let wrong = parts.into_iter().flat_map(|part| part.join().unwrap());
        wrong.collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn bad_twins_are_refused_by_the_check_they_name() {
    nothing_wrong(|path, expected| match load(&path.join("bad")) {
        Ok(_) => Some("loads".to_owned()),
        Err(faults) => judge(expected, &faults),
    });
}

#[test]
fn good_twins_load() {
    nothing_wrong(|path, _| Some(load(&path.join("good")).err()?.to_string()));
}

#[test]
fn twins_are_one_line_apart() {
    for (name, path, _) in fixtures() {
        let lines = |twin: &str| -> Vec<String> {
            let root = path.join(twin);
            let text = |file: &String| fs::read_to_string(root.join(file)).unwrap();
            let lines = files(&root, "").iter().map(text).collect::<String>();
            lines.lines().map(str::to_owned).collect()
        };
        let (bad, good) = (lines("bad"), lines("good"));
        let same = bad.iter().zip(&good).filter(|(b, g)| b == g).count();
        let names = |twin: &str| files(&path.join(twin), "");
        // A fixture whose mistake is a file name has no other difference.
        let differ = if names("bad") == names("good") { 1 } else { 0 };
        assert_eq!(bad.len(), good.len(), "{name}");
        assert_eq!(bad.len() - same, differ, "{name}");
    }
}

#[test]
fn every_check_has_a_fixture() {
    let named: BTreeSet<String> = fixtures().into_iter().map(|(_, _, e)| e.check).collect();
    let all: BTreeSet<String> = Check::ALL.iter().map(ToString::to_string).collect();
    assert_eq!(named, all);
}

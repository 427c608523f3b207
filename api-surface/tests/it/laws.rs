//! Every law refuses its broken table and lets the good twin pass.
//!
//! `broken/<law>.toml` and `broken/<law>.good.toml` differ in one line. Both
//! mark with `# here` the line at which the fault must be reported.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::compile::fault::{Fault, Law};
use crate::compile::source::{Source, Sources};
use crate::compile::{compile, compile_sources};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub(crate) fn fixture(name: &str) -> Source {
    let label = format!("broken/{name}.toml");
    let text = fs::read_to_string(root().join(&label))
        .unwrap_or_else(|error| panic!("{label} is needed: {error}"));
    Source { label, text }
}

/// Component schemas that only fixtures use: commands to things.
fn with_things(schemas: &str) -> String {
    let mut all: Value = serde_json::from_str(schemas).expect("JSON");
    let kind = |kind: &str| json!({ "properties": { "kind": { "const": kind } } });
    let envelope = |mapping: Value| {
        let command = json!({ "discriminator": { "propertyName": "kind", "mapping": mapping } });
        json!({ "properties": { "command": command, "note": {} } })
    };
    let mut start = kind("start");
    start["properties"]["speed"] = json!({});
    let at = |name: &str| format!("#/components/schemas/{name}");
    let things = [
        ("StartThing", start),
        ("TurnThing", kind("turn")),
        ("HaltThing", kind("halt")),
        (
            "ThingRequest",
            envelope(json!({ "start": at("StartThing"), "turn": at("TurnThing") })),
        ),
        ("OneTurn", envelope(json!({ "turn": at("TurnThing") }))),
        // What it calls a turn is a halt.
        ("OddTurn", envelope(json!({ "turn": at("HaltThing") }))),
        ("PauseThing", kind("pause_mow")),
        (
            "PauseRequest",
            envelope(json!({ "pause_mow": at("PauseThing") })),
        ),
        ("HaltRequest", envelope(json!({ "halt": at("HaltThing") }))),
    ];
    for (name, schema) in things {
        all["schemas"][name] = schema;
    }
    all.to_string()
}

/// The repository's tables with the fixture in the place of what it is.
pub(crate) fn with(fixture: &Source) -> Sources {
    let mut sources = Sources::read(root()).expect("readable");
    sources.schemas.text = with_things(&sources.schemas.text);
    sources.services.clear();
    let has = |header: &str| fixture.text.lines().any(|line| line.starts_with(header));
    if has("[[timeout]]") {
        sources.timeouts = fixture.clone();
    } else if has("[[cell]]") {
        sources.failures = fixture.clone();
    } else {
        sources.services.push(fixture.clone());
    }
    sources
}

fn here(source: &Source) -> usize {
    let marks: Vec<usize> = source
        .text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.ends_with("# here"))
        .map(|(place, _)| place + 1)
        .collect();
    match marks.as_slice() {
        [line] => *line,
        _ => panic!("{} must mark one line with `# here`", source.label),
    }
}

#[test]
fn every_law_refuses_its_broken_table_at_its_line() {
    for law in Law::ALL {
        let broken = fixture(law.as_str());
        let faults = compile_sources(&with(&broken)).expect_err(law.as_str());
        let at: Vec<(&str, usize, Law)> = faults
            .iter()
            .map(|fault| (fault.file.as_str(), fault.line, fault.law))
            .collect();
        assert_eq!(
            at,
            [(broken.label.as_str(), here(&broken), *law)],
            "{faults:#?}"
        );
    }
}

#[test]
fn every_good_twin_passes() {
    for law in Law::ALL {
        let good = fixture(&format!("{law}.good"));
        if let Err(faults) = compile_sources(&with(&good)) {
            panic!("{}: {faults:#?}", good.label);
        }
    }
}

#[test]
fn twins_differ_in_one_line() {
    for law in Law::ALL {
        let broken = fixture(law.as_str()).text;
        let good = fixture(&format!("{law}.good")).text;
        assert_eq!(broken.lines().count(), good.lines().count(), "{law}");
        let differing = broken
            .lines()
            .zip(good.lines())
            .filter(|(a, b)| a != b)
            .count();
        assert_eq!(differing, 1, "{law}");
    }
}

#[test]
fn every_fixture_belongs_to_a_law() {
    let expected: BTreeSet<String> = Law::ALL
        .iter()
        .flat_map(|law| [format!("{law}.toml"), format!("{law}.good.toml")])
        .collect();
    let found: BTreeSet<String> = fs::read_dir(root().join("broken"))
        .expect("broken/")
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    assert_eq!(found, expected);
}

/// A copy of the repository's `surface/` with one more table in it.
fn tree_with(name: &str, text: &str) -> tempfile::TempDir {
    let tree = tempfile::tempdir().expect("a folder");
    let surface = tree.path().join("surface");
    fs::create_dir(&surface).expect("surface/");
    let files: Vec<PathBuf> = fs::read_dir(root().join("surface"))
        .expect("surface/")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    for file in files {
        fs::copy(&file, surface.join(file.file_name().expect("a name"))).expect("copied");
    }
    fs::write(surface.join(name), text).expect("written");
    tree
}

#[test]
fn the_build_stops_with_file_line_and_law() {
    let broken = fixture("stop-relation");
    let line = here(&broken);
    let tree = tree_with("x.toml", &broken.text);
    let faults = compile(tree.path()).expect_err("refused");
    let texts: Vec<String> = faults.iter().map(Fault::to_string).collect();
    assert_eq!(
        texts,
        [format!(
            "surface/x.toml:{line}: law stop-relation: a safety-write must be in relation \
             `view`: whoever may see may stop"
        )]
    );
}

#[test]
fn all_faults_are_reported_at_once() {
    let broken = fixture("stop-relation")
        .text
        .replace("timeout = \"stop\"", "timeout = \"soon\"");
    let tree = tree_with("x.toml", &broken);
    let faults = compile(tree.path()).expect_err("refused");
    let laws: Vec<Law> = faults.iter().map(|fault| fault.law).collect();
    assert_eq!(laws, [Law::StopRelation, Law::UnknownTerm]);
}

#[test]
fn a_missing_file_is_named() {
    let tree = tree_with("x.toml", &fixture("stop-relation.good").text);
    fs::remove_file(tree.path().join("surface/timeouts.toml")).expect("removed");
    let faults = compile(tree.path()).expect_err("refused");
    assert_eq!(
        faults.first().map(|fault| fault.file.as_str()),
        Some("surface/timeouts.toml")
    );
}

#[test]
fn kinds_of_one_path_become_candidates() {
    let constants = compile_sources(&with(&fixture("mixed-kinds.good"))).expect("lawful");
    assert!(
        constants.contains(
            "(Method::Post, Candidates { first: &ROW_TABLE[0], rest: &[&ROW_TABLE[1]] })"
        ),
        "{constants}"
    );
}

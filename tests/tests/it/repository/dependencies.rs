//! `docs/DEPENDENCIES.md` gives a reason for every dependency, and for none
//! that is gone.

use std::collections::BTreeSet;
use std::path::Path;

use interlock_tests::repository;

/// The names in the first column of the table under `## Crates`, with whether
/// the second column holds a reason.
fn listed(document: &str) -> Vec<(String, bool)> {
    document
        .lines()
        .skip_while(|line| *line != "## Crates")
        .skip(1)
        .take_while(|line| !line.starts_with("## "))
        .filter_map(|line| {
            let mut cells = line.strip_prefix("| `")?.split('|').map(str::trim);
            let name = cells.next()?.strip_suffix('`')?;
            let reason = cells.next().unwrap_or_default();
            Some((name.to_owned(), reason.split(' ').count() >= 3))
        })
        .collect()
}

/// The dependencies in the root manifest that are not of this workspace.
fn declared(manifest: &str) -> BTreeSet<String> {
    let manifest: toml::Table = manifest.parse().expect("the manifest is TOML");
    let table = manifest["workspace"]["dependencies"].as_table();
    table
        .expect("the workspace declares dependencies")
        .iter()
        .filter(|(_, value)| value.get("path").is_none())
        .map(|(name, _)| name.clone())
        .collect()
}

/// What document and manifest disagree on, in words.
fn differences(document: &str, manifest: &str) -> Vec<String> {
    let declared = declared(manifest);
    let listed = listed(document);
    let names: BTreeSet<String> = listed.iter().map(|(name, _)| name.clone()).collect();
    let missing = declared
        .difference(&names)
        .map(|it| format!("`{it}` has no line"));
    let gone = names
        .difference(&declared)
        .map(|it| format!("`{it}` is no dependency"));
    let silent = listed
        .iter()
        .filter(|(_, reason)| !reason)
        .map(|(it, _)| format!("`{it}` has no reason"));
    missing.chain(gone).chain(silent).collect()
}

fn text(file: &str) -> String {
    repository::text(Path::new(file)).expect("the file is text")
}

#[test]
fn every_dependency_has_a_reason() {
    let differences = differences(&text("docs/DEPENDENCIES.md"), &text("Cargo.toml"));
    assert_eq!(differences, Vec::<String>::new());
}

#[test]
fn every_dependency_is_used() {
    let declared = declared(&text("Cargo.toml"));
    let mut used = BTreeSet::new();
    for file in repository::files() {
        if file.ends_with("Cargo.toml") && file != Path::new("Cargo.toml") {
            let manifest: toml::Table = repository::text(&file).unwrap().parse().unwrap();
            for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
                let table = manifest.get(kind).and_then(toml::Value::as_table);
                used.extend(table.into_iter().flatten().map(|(name, _)| name.clone()));
            }
        }
    }
    let unused: Vec<&String> = declared.difference(&used).collect();
    assert_eq!(unused, Vec::<&String>::new());
}

#[test]
fn differences_are_found_both_ways() {
    let manifest = "[workspace.dependencies]\n\
        ours = { path = \"ours\" }\n\
        serde = \"1\"\n\
        tokio = { version = \"1\" }\n";
    let check = |lines: &str, expected: &[&str]| {
        let document =
            format!("| `not` | in the table |\n## Crates\n{lines}\n## Tools\n| `x` | y |\n");
        assert_eq!(differences(&document, manifest), expected);
    };
    let serde = "| `serde` | reads and writes | MIT |\n";
    let tokio = "| `tokio` | runs the tasks | MIT |\n";
    check(&format!("{serde}{tokio}"), &[]);
    check(serde, &["`tokio` has no line"]);
    check(
        &format!("{serde}{tokio}| `gone` | was of use |\n"),
        &["`gone` is no dependency"],
    );
    check(
        &format!("{serde}| `tokio` | |\n"),
        &["`tokio` has no reason"],
    );
}

//! Faults that other systems have had, each with the tests that would find it
//! here.
//!
//! An id stands for one kind of fault, tried with real input: a missing id, a
//! test that is gone and a test that names an unknown id fail the build.

mod fleet;
mod table;

use std::collections::BTreeSet;

use interlock_tests::repository;
use table::{Closed, Later};

/// Every fault that is known.
fn all() -> impl Iterator<Item = &'static (u16, &'static str, Closed)> {
    table::TABLE.iter().chain(fleet::TABLE)
}

/// The ids that there are: every third number was never given.
fn ids() -> BTreeSet<u16> {
    (1..=110).filter(|id| id % 3 != 0).collect()
}

/// Whether a file has a test function of that name: `fn NAME(` below a line
/// that makes it a test.
fn has_test(text: &str, name: &str) -> bool {
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let declared = format!("fn {name}(");
    lines.iter().enumerate().any(|(at, line)| {
        let is_function = line
            .strip_prefix("async ")
            .unwrap_or(line)
            .starts_with(&declared);
        let attributes = lines[..at].iter().rev().take_while(|line| {
            line.starts_with("#[") || line.starts_with("//") || line.ends_with(")]")
        });
        let mut attributes = attributes.map(|line| line.trim_start_matches("#["));
        is_function
            && attributes.any(|line| line.starts_with("test]") || line.starts_with("tokio::test"))
    })
}

/// What is wrong with one place of a test.
pub(crate) fn fault(place: &str) -> Option<String> {
    let Some((file, name)) = place.split_once("::") else {
        return Some(format!("`{place}` is not FILE::TEST"));
    };
    match std::fs::read_to_string(repository::root().join(file)).ok() {
        None => Some(format!("`{file}` is no file of this repository")),
        Some(text) if has_test(&text, name) => None,
        Some(_) => Some(format!("`{file}` has no test `{name}`")),
    }
}

#[test]
fn every_fault_is_tried_or_waits_for_what_it_is_about() {
    let listed: Vec<u16> = all().map(|(id, ..)| *id).collect();
    let distinct: BTreeSet<u16> = listed.iter().copied().collect();
    assert_eq!(distinct.len(), listed.len(), "an id is listed twice");
    assert_eq!(distinct, ids());
    for (id, what, closed) in all() {
        assert!(!what.is_empty(), "B{id:02}");
        match closed {
            Closed::By(tests) => assert!(!tests.is_empty(), "B{id:02} is tried by nothing"),
            Closed::Later(later) => assert!(!exists(*later), "B{id:02} can be tried by now"),
        }
    }
}

/// Whether what a fault waits for is there.
fn exists(later: Later) -> bool {
    let package = match later {
        Later::Mcp => "mcp/Cargo.toml",
    };
    repository::root().join(package).exists()
}

#[test]
fn every_test_that_is_named_is_there() {
    let places = all().flat_map(|(id, _, closed)| match closed {
        Closed::By(tests) => tests.iter().map(|place| (*id, *place)).collect(),
        Closed::Later(_) => Vec::new(),
    });
    let faults: Vec<String> = places
        .filter_map(|(id, place)| fault(place).map(|fault| format!("B{id:02}: {fault}")))
        .collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A case that names an id names one of those above, and the table names a test
/// of that file.
#[test]
fn every_id_that_a_case_names_is_in_the_table() {
    let folder = repository::root().join("tests/tests/it/hostile");
    let mut named = 0;
    for entry in std::fs::read_dir(folder).expect("the hostile cases") {
        let path = entry.expect("a file").path();
        let text = std::fs::read_to_string(&path).expect("text");
        let file = format!(
            "tests/tests/it/hostile/{}",
            path.file_name().unwrap().to_string_lossy()
        );
        for id in named_in(&text) {
            named += 1;
            let row = all().find(|(listed, ..)| *listed == id);
            let by = match row {
                Some((_, _, Closed::By(tests))) => {
                    tests.iter().any(|place| place.starts_with(&file))
                }
                Some((_, _, Closed::Later(_))) => true,
                None => false,
            };
            assert!(by, "{file} tries B{id:02}, which the table does not say");
        }
    }
    assert!(named > 30, "{named} ids are named by cases");
}

/// The ids at the start of a text literal, `"B07 a class"`.
fn named_in(text: &str) -> BTreeSet<u16> {
    let starts = text.split("\"B").skip(1);
    let digits = starts.filter_map(|rest| rest.split_once(' ').map(|(digits, _)| digits));
    digits.filter_map(|digits| digits.parse().ok()).collect()
}

#[test]
fn a_test_that_is_not_there_is_found() {
    let text = "#[test]\nfn one() {}\n\n#[tokio::test(flavor = \"multi_thread\")]\nasync fn two() {}\n\nfn helper() {}\n";
    assert!(has_test(text, "one") && has_test(text, "two"));
    assert!(!has_test(text, "helper") && !has_test(text, "on") && !has_test(text, "three"));
    for place in [
        "tests/tests/it/bugs.rs::no_such_test",
        "tests/tests/it/bugs.rs::has_test",
        "tests/tests/it/no_such_file.rs::a_test",
        "no place at all",
    ] {
        assert!(fault(place).is_some(), "{place}");
    }
    assert_eq!(
        named_in("(\"B07 a class\", \"Bxx no\", \"B107 an origin\")"),
        BTreeSet::from([7, 107])
    );
}

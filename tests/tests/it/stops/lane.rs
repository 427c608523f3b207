//! The stop lane knows of nothing that could hold a stop back.

use interlock_tests::repository;

/// Modules of the gateway that keep, claim, queue or limit something, and
/// `gateway`, which holds them all.
const FORBIDDEN: [&str; 7] = [
    "store",
    "plans",
    "idempotency",
    "admission",
    "keyed",
    "redis",
    "gateway",
];

/// The lines of a source text that name a forbidden module, comments and texts
/// aside.
fn forbidden(source: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in source.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        // Every other part stands between quotes.
        let code = code.split('"').step_by(2).collect::<Vec<_>>().join(" ");
        let mut words = code.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
        if let Some(word) = words.find(|word| FORBIDDEN.contains(word)) {
            found.push(format!("line {}: `{word}`", number + 1));
        }
    }
    found
}

#[test]
fn the_stop_lane_imports_no_store_no_plan_and_no_key() {
    let path = repository::root().join("gateway/src/stop.rs");
    let source = std::fs::read_to_string(path).unwrap();
    assert!(source.contains("pub async fn deliver"), "not the stop lane");
    assert_eq!(forbidden(&source), Vec::<String>::new());
}

#[test]
fn an_import_of_the_store_is_found_however_it_is_written() {
    let check = |source: &str, expected: &[&str]| assert_eq!(forbidden(source), expected);
    check("use crate::store::Store;", &["line 1: `store`"]);
    check(
        "use crate::{\n    clock::Clock,\n    plans,\n};",
        &["line 3: `plans`"],
    );
    check(
        "let key = crate::idempotency::judge(None);",
        &["line 1: `idempotency`"],
    );
    check("use super::gateway::Gateway;", &["line 1: `gateway`"]);
    check("// It imports no store.\nuse crate::clock::Clock;", &[]);
    check("let text = \"no store here\"; restore();", &[]);
}

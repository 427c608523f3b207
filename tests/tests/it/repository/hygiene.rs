//! What no file of this checkout may hold.

use std::path::Path;

use interlock_tests::repository;

/// Something that is not wanted, and where.
struct Rule {
    /// Written in parts, so that this file does not break its own rules.
    pattern: &'static str,
    applies: fn(&Path) -> bool,
    why: &'static str,
}

/// Waits for time.
const WAIT: &str = concat!("sle", "ep(");

const RULES: &[Rule] = &[
    Rule {
        pattern: concat!("/wo", "rk/"),
        applies: any,
        why: "a path of one machine",
    },
    Rule {
        pattern: concat!("/ro", "ot/"),
        applies: any,
        why: "a path of one machine",
    },
    Rule {
        pattern: concat!("/ho", "me/"),
        applies: any,
        why: "a path of one machine",
    },
    Rule {
        pattern: concat!("to", "do!("),
        applies: rust,
        why: "unfinished",
    },
    Rule {
        pattern: concat!("unimple", "mented!("),
        applies: rust,
        why: "unfinished",
    },
    Rule {
        pattern: concat!("TO", "DO"),
        applies: any,
        why: "unfinished",
    },
    Rule {
        pattern: concat!("FIX", "ME"),
        applies: any,
        why: "unfinished",
    },
    Rule {
        pattern: concat!("#[ign", "ore"),
        applies: rust,
        why: "a test that does not run",
    },
    Rule {
        pattern: concat!("#[should_", "panic"),
        applies: rust,
        why: "a test that any panic satisfies",
    },
    Rule {
        pattern: WAIT,
        applies: test,
        why: "a test that waits for time; wait for a state with `poll`, or pause the clock",
    },
    Rule {
        pattern: concat!("dbg", "!("),
        applies: rust,
        why: "left over from debugging",
    },
    Rule {
        pattern: concat!("<<<<", "<<< "),
        applies: any,
        why: "an unresolved merge",
    },
];

fn any(_: &Path) -> bool {
    true
}

fn rust(file: &Path) -> bool {
    file.extension().is_some_and(|end| end == "rs")
}

/// Code of tests and of their harness. Time may pass in `poll` alone.
fn test(file: &Path) -> bool {
    let tests = file.components().any(|part| part.as_os_str() == "tests");
    rust(file) && (tests || file.ends_with("tests.rs")) && !file.ends_with("src/poll.rs")
}

/// Whether every test of a file runs in a time of its own, which passes when
/// nothing else is left to do: `start_paused` of tokio's tests and runtimes.
fn virtual_time(text: &str) -> bool {
    let mut tests = text.lines().filter(|line| line.contains("#[tokio::test"));
    text.contains("start_paused") && tests.all(|line| line.contains("start_paused"))
}

/// Every rule that a file breaks, in words.
fn check(file: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if file.ends_with("mod.rs") {
        found.push(format!("{}: a module `foo` is `foo.rs`", file.display()));
    }
    let virtual_time = virtual_time(text);
    for (index, line) in text.lines().enumerate() {
        for rule in RULES {
            let exempt = rule.pattern == WAIT && virtual_time;
            if (rule.applies)(file) && line.contains(rule.pattern) && !exempt {
                let Rule { pattern, why, .. } = rule;
                let place = format!("{}:{}", file.display(), index + 1);
                found.push(format!("{place}: `{pattern}` is {why}"));
            }
        }
    }
    found
}

#[test]
fn files_hold_nothing_unwanted() {
    let found: Vec<String> = repository::files()
        .iter()
        .filter_map(|file| Some(check(file, &repository::text(file)?)))
        .flatten()
        .collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn every_rule_can_fail() {
    for rule in RULES {
        let text = format!("fine\n{} rest\n", rule.pattern);
        let found = check(Path::new("gateway/src/plans/tests.rs"), &text);
        let expected = format!(
            "gateway/src/plans/tests.rs:2: `{}` is {}",
            rule.pattern, rule.why
        );
        assert_eq!(found, [expected]);
    }
    assert_eq!(check(Path::new("gateway/src/plans/mod.rs"), "").len(), 1);
}

#[test]
fn waiting_is_for_the_code_that_serves() {
    let waits = concat!("tokio::time::sle", "ep(pause).await;");
    let found = |file: &str| !check(Path::new(file), waits).is_empty();
    assert!(found("tests/src/redis.rs"));
    assert!(found("tests/tests/it/tour.rs"));
    assert!(!found("tests/src/poll.rs"));
    assert!(!found("vehicles/drones/src/link.rs"));
}

#[test]
fn waiting_in_a_time_of_its_own_costs_none() {
    let file = Path::new("tests/tests/it/tour.rs");
    let waits = concat!("tokio::time::sle", "ep(pause).await;");
    let found = |attributes: &str| !check(file, &format!("{attributes}\n{waits}\n")).is_empty();
    let (paused, real) = ("#[tokio::test(start_paused = true)]", "#[tokio::test]");
    assert!(!found(paused));
    assert!(found(real));
    assert!(found(&format!("{paused}\n{real}")));
}

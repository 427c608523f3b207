use super::difference;

fn check(expected: &str, actual: &str, report: Option<&str>) {
    assert_eq!(difference(expected, actual).as_deref(), report);
}

#[test]
fn finds_the_first_line_that_differs() {
    check("a\nb\n", "a\nb\n", None);
    check("a\nb\n", "a\nc\n", Some("line 2\n  golden: b\n  now:    c"));
    check("a\n", "a\nb\n", Some("line 2\n  golden: \n  now:    b"));
    check(
        "a",
        "a\nb",
        Some("line 2\n  golden: (no line)\n  now:    b"),
    );
    check(
        "a\nb",
        "a",
        Some("line 2\n  golden: b\n  now:    (no line)"),
    );
}

use super::{matches, run, steps};

const DOCUMENT: &str = r#"
# Tour

```sh
not run
```

```console
$ NAME=drone
$ echo "hello $NAME" \
    and goodbye
hello drone and goodbye
```

```console
$ printf 'id: %s
    port: 8080\n' "$NAME"
id: ...
    port: 8080
```
"#;

fn check(document: &str, substitutions: &[(&str, &str)]) -> Result<(), String> {
    let folder = tempfile::tempdir().unwrap();
    run(&steps(document), folder.path(), substitutions)
}

#[test]
fn runs_all_blocks_in_one_shell() {
    assert_eq!(steps(DOCUMENT).len(), 3);
    assert_eq!(check(DOCUMENT, &[]), Ok(()));
    assert_eq!(check(DOCUMENT, &[("8080", "9090")]), Ok(()));
}

#[test]
fn other_output_is_told_with_its_line() {
    let report = check(&DOCUMENT.replace("id: ...", "ID: ..."), &[]).unwrap_err();
    assert!(report.starts_with("line 16: `printf"), "{report}");
    assert!(report.contains("id: drone"), "{report}");
}

#[test]
fn a_command_that_fails_silently_is_told() {
    // Its output says it all, as with `grep -c`.
    assert_eq!(check("```console\n$ echo 0; false\n0\n```\n", &[]), Ok(()));
    let report = check("```console\n$ false\n```\n", &[]).unwrap_err();
    assert!(
        report.starts_with("line 2: `false` ended with 1"),
        "{report}"
    );
}

#[test]
fn dots_stand_for_text_and_for_lines() {
    let cases = [
        (&["a", "...", "d"][..], &["a", "b", "c", "d"][..], true),
        (&["a", "...", "d"], &["a", "d"], true),
        (&["a", "...", "d"], &["a", "b"], false),
        (&["..."], &[], true),
        (&["a...c"], &["abc"], true),
        (&["a...c...e"], &["a-c-c-e"], true),
        (&["a...c"], &["abd"], false),
        (&["a"], &["a", "b"], false),
        (&["a", "b"], &["a"], false),
    ];
    for (expected, actual, fits) in cases {
        assert_eq!(matches(expected, actual), fits, "{expected:?} {actual:?}");
    }
}

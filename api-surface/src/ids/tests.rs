use super::{MAX_ID, ObjectId, ScopeId};

fn check(text: &str, good: bool) {
    assert_eq!(text.parse::<ScopeId>().is_ok(), good, "{text:?}");
    assert_eq!(text.parse::<ObjectId>().is_ok(), good, "{text:?}");
    let json = serde_json::to_string(text).expect("JSON");
    let read = serde_json::from_str::<ScopeId>(&json);
    assert_eq!(read.is_ok(), good, "{text:?}");
    if let Ok(id) = read {
        assert_eq!(id.as_str(), text);
        assert_eq!(serde_json::to_string(&id).expect("JSON"), json);
    }
}

#[test]
fn ids_are_one_plain_word() {
    for text in [
        "a",
        "7",
        "acme",
        "swarm-1",
        "Site:north_2.b",
        &"a".repeat(MAX_ID),
    ] {
        check(text, true);
    }
    for text in [
        "", " ", "-a", ".", "_a", ":a", "a b", "a/b", "a\n", "é", "a\u{301}", "a\0",
    ] {
        check(text, false);
    }
    check(&"a".repeat(MAX_ID + 1), false);
}

#[test]
fn the_error_shows_the_text_harmlessly() {
    let error = "a\nb".parse::<ScopeId>().expect_err("no id").to_string();
    assert_eq!(
        error,
        r"`a\nb` is no id: it takes 1 to 64 of `A-Z a-z 0-9 . _ : -`, first a letter or digit"
    );
}

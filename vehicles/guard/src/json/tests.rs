use super::Json;

fn check(text: &str, expected: &str) {
    let error = Json::parse(text.as_bytes()).expect_err(text).to_string();
    assert!(error.contains(expected), "{text}: {error}");
}

#[test]
fn what_no_reader_should_guess_at_is_refused() {
    check(r#"{"a":1,"a":2}"#, "field `a` is repeated");
    check(r#"{"w":[{"x":1,"x":1}]}"#, "field `x` is repeated");
    check("1e999", "number out of range");
    check("[1] x", "trailing characters");
    check(&"[".repeat(1000), "recursion limit");
    check("", "EOF");
}

#[test]
fn ordinary_json_keeps_its_order() {
    let value = Json::parse(br#"{"b":[null,true,"t",1.5],"a":{}}"#).unwrap();
    let Json::Object(members) = value else {
        panic!("an object");
    };
    assert_eq!(members[0].0, "b");
    assert_eq!(members[1], ("a".to_owned(), Json::Object(vec![])));
}

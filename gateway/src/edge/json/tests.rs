use proptest::prelude::*;
use serde_json::{Value, json};

use super::{DEPTH, JsonError, parse};

fn check(text: &str, expected: Result<Value, JsonError>) {
    assert_eq!(parse(text.as_bytes()), expected, "{text}");
}

fn syntax(line: usize, column: usize) -> Result<Value, JsonError> {
    Err(JsonError::Syntax { line, column })
}

#[test]
fn plain_values_are_read() {
    check(
        r#" {"a":[1,-2,0.5,true,null,"\u00e9"],"b":{}} "#,
        Ok(json!({"a":[1,-2,0.5,true,null,"é"],"b":{}})),
    );
    check("9007199254740991", Ok(json!(9_007_199_254_740_991_u64)));
}

#[test]
fn repeated_names_are_refused_at_every_level() {
    let duplicate = |name: &str| Err(JsonError::Duplicate(name.to_owned()));
    check(
        r#"{"kind":"pause_mow","kind":"start_mow"}"#,
        duplicate("kind"),
    );
    check(r#"{"waypoints":[{"x":1,"y":2,"x":3}]}"#, duplicate("x"));
    check(r#"{"a":{"b":1,"b":1}}"#, duplicate("b"));
    // An escaped name is the same name.
    check(r#"{"ab":1,"\u0061b":2}"#, duplicate("ab"));
    check(
        r#"{"a":{"b":1},"c":{"b":1}}"#,
        Ok(json!({"a":{"b":1},"c":{"b":1}})),
    );
}

#[test]
fn only_one_whole_value_is_accepted() {
    check("", syntax(1, 0));
    check("{} {}", syntax(1, 4));
    check("{}x", syntax(1, 3));
    check("{\n\"a\":}", syntax(2, 5));
    check("{'a':1}", syntax(1, 2));
    check("[1,]", syntax(1, 4));
    check("NaN", syntax(1, 1));
    check("1e999", syntax(1, 5));
    check(r#""\ud800""#, syntax(1, 8));
    check("\"\u{1}\"", syntax(1, 2));
    check("// x\n{}", syntax(1, 1));
}

#[test]
fn other_encodings_are_refused() {
    assert_eq!(parse(b"\xEF\xBB\xBF{}"), Err(JsonError::ByteOrderMark));
    assert_eq!(parse(b"\xff\xfe{\0}\0"), Err(JsonError::NotUtf8(0)));
    assert_eq!(parse(b"{\"a\":\"\xff\"}"), Err(JsonError::NotUtf8(6)));
}

#[test]
fn numbers_that_would_not_arrive_are_refused() {
    for text in [
        "9007199254740992",
        "-9007199254740992",
        "18446744073709551615",
        "18446744073709551616",
        "1e16",
    ] {
        check(text, Err(JsonError::Inexact));
    }
}

#[test]
fn depth_is_bounded() {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    assert!(parse(nested(DEPTH).as_bytes()).is_ok());
    check(&nested(DEPTH + 1), Err(JsonError::Depth));
    check(&nested(100_000), Err(JsonError::Depth));
    let objects = format!("{}1{}", r#"{"a":"#.repeat(DEPTH + 1), "}".repeat(DEPTH + 1));
    check(&objects, Err(JsonError::Depth));
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e9_f64..1e9).prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map(".{0,4}", inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(value in values()) {
        let text = serde_json::to_vec(&value).unwrap();
        prop_assert_eq!(parse(&text), Ok(value));
    }

    /// The canonical form is stable: digests made before and after a value was
    /// stored agree.
    #[test]
    fn the_canonical_form_is_a_fixed_point(value in values()) {
        let once = serde_json_canonicalizer::to_vec(&value).unwrap();
        let again = serde_json_canonicalizer::to_vec(&parse(&once).unwrap()).unwrap();
        prop_assert_eq!(again, once);
    }

    #[test]
    fn any_bytes_are_answered(bytes: Vec<u8>) {
        let _ = parse(&bytes);
    }
}

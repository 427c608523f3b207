use proptest::prelude::*;

use super::{QUERY_BYTES, Query, QueryError};

fn check(raw: &str, expected: Result<&str, QueryError>) {
    let rendered = Query::parse(Some(raw)).map(|query| query.render());
    assert_eq!(rendered, expected.map(str::to_owned), "query: {raw:?}");
}

#[test]
fn a_query_has_one_canonical_text() {
    let table = [
        ("", ""),
        ("limit=10", "limit=10"),
        ("b=2&a=1", "a=1&b=2"),
        ("a=%7e", "a=~"),
        ("a=%2f%2F/", "a=%2F%2F%2F"),
        ("a=", "a="),
        ("a=b=c", "a=b%3Dc"),
        ("a=%C3%A9", "a=%C3%A9"),
    ];
    for (raw, expected) in table {
        check(raw, Ok(expected));
    }
}

#[test]
fn ambiguous_queries_are_refused_without_their_values() {
    let name = |text: &str| text.to_owned();
    let table = [
        ("a=1&a=2", QueryError::Duplicate(name("a"))),
        ("a=1&&b=2", QueryError::Name(2)),
        ("&", QueryError::Name(1)),
        ("?a", QueryError::Name(1)),
        ("=x", QueryError::Name(1)),
        ("%61=x", QueryError::Name(1)),
        ("a[]=x", QueryError::Name(1)),
        ("a", QueryError::NoValue(name("a"))),
        ("a=+", QueryError::Value(name("a"))),
        ("a=%", QueryError::Value(name("a"))),
        ("a=%2", QueryError::Value(name("a"))),
        ("a=%g0", QueryError::Value(name("a"))),
        ("a=%ff", QueryError::Value(name("a"))),
        ("a=%00", QueryError::Value(name("a"))),
        ("a=%0d%0a", QueryError::Value(name("a"))),
        ("a=\\", QueryError::Value(name("a"))),
    ];
    for (raw, error) in table {
        check(raw, Err(error));
    }
    let long = format!("a={}", "b".repeat(QUERY_BYTES));
    check(&long, Err(QueryError::Long(QUERY_BYTES + 2)));
}

#[test]
fn a_secret_in_a_query_is_refused_and_not_repeated() {
    for name in [
        "access_token",
        "token",
        "approvalCode",
        "APPROVALCODE",
        "code",
    ] {
        let error = Query::parse(Some(&format!("limit=1&{name}=hunter2"))).unwrap_err();
        assert_eq!(error, QueryError::Secret(name.to_owned()));
        assert!(!error.to_string().contains("hunter2"));
        assert!(!format!("{error:?}").contains("hunter2"));
    }
    // Without a value it is as much of a mistake.
    check("token", Err(QueryError::Secret("token".to_owned())));
}

#[test]
fn undeclared_parameters_are_named() {
    let query = Query::parse(Some("limit=1&class=read")).unwrap();
    assert_eq!(query.get("limit"), Some("1"));
    assert_eq!(query.only(&["limit", "class"]), Ok(()));
    assert_eq!(
        query.only(&["limit"]),
        Err(QueryError::Undeclared("class".to_owned()))
    );
}

proptest! {
    #[test]
    fn the_canonical_text_reads_back_as_itself(raw in "[a-c=&%0-9a-f/.+~é]{0,30}") {
        if let Ok(query) = Query::parse(Some(&raw)) {
            let text = query.render();
            let again = Query::parse(Some(&text)).unwrap();
            prop_assert_eq!(again.render(), text);
            for (name, value) in query.iter() {
                prop_assert_eq!(again.get(name), Some(value));
            }
        }
    }
}

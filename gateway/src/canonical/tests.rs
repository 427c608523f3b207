use proptest::prelude::{Strategy, any, prop, proptest};
use serde_json::{Value, json};

use super::{CanonicalError, canonical};

fn check(input: &str, expected: &str) {
    let value: Value = serde_json::from_str(input).expect("the fixture is JSON");
    let bytes = canonical(&value).expect("the fixture has a canonical form");
    assert_eq!(
        String::from_utf8(bytes).expect("UTF-8"),
        expected,
        "{input}"
    );
}

#[test]
fn cosmetic_differences_vanish() {
    check(r#"{ "b": 1, "a" : [ 2 ] }"#, r#"{"a":[2],"b":1}"#);
    check("[10, 10.0, 1e1]", "[10,10,10]");
    check("[-0.0, 0]", "[0,0]");
    check("[0.1, 1e21, 1e-7]", "[0.1,1e+21,1e-7]");
    check(r#""é\n""#, r#""é\n""#);
    check("9007199254740991", "9007199254740991");
}

#[test]
fn integers_a_double_cannot_hold_are_refused() {
    for number in [9_007_199_254_740_992_i64, -9_007_199_254_740_992] {
        assert_eq!(
            canonical(&json!({ "deep": [number] })),
            Err(CanonicalError::InexactInteger(number.to_string()))
        );
    }
    assert!(canonical(&json!(u64::MAX)).is_err());
}

/// Any JSON value with numbers of both kinds.
pub(crate) fn any_json() -> impl Strategy<Value = Value> {
    let leaf = proptest::prop_oneof![
        proptest::strategy::Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-1_000_000_i64..1_000_000).prop_map(Value::from),
        (-1.0e6_f64..1.0e6).prop_map(Value::from),
        "[a-z\"\\\\é]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        proptest::prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{0,3}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn the_form_is_a_fixed_point(value in any_json()) {
        let first = canonical(&value).expect("canonical");
        let again: Value = serde_json::from_slice(&first).expect("JSON");
        assert_eq!(canonical(&again).expect("canonical"), first);
    }
}

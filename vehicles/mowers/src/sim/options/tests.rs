use serde_json::{Value, json};

use super::Options;

/// What is said of some options, `ok` of possible ones.
fn check(given: &Value, expected: &[&str]) {
    let said = match Options::read(given.as_object().unwrap()) {
        Ok(_) => Vec::new(),
        Err(error) => error.0.iter().map(ToString::to_string).collect(),
    };
    assert_eq!(said.len(), expected.len(), "{given}: {said:?}");
    for (said, expected) in said.iter().zip(expected) {
        assert!(said.starts_with(expected), "{said}");
    }
}

#[test]
fn every_option_that_is_not_possible_is_named() {
    check(&json!({}), &[]);
    check(
        &json!({"vendor_account": "a", "pause_before_dock": null}),
        &[],
    );
    check(
        &json!({"width": 8.0, "seed": -1, "profile": "vacuum", "vendor_account": 7, "map": {}}),
        &[
            "`map` is not possible: missing field `revision`",
            "`profile` is not possible: unknown variant `vacuum`",
            "`seed` is not possible: invalid value",
            "`vendor_account` is not possible: invalid type",
            "`width` is not possible: unknown field `width`",
        ],
    );
    check(
        &json!({"width_m": 2, "speed": 101, "battery_percent": 100}),
        &[
            "`width_m` must be from 3 to 1000, not 2",
            "`speed` must be from 1 to 100, not 101",
        ],
    );
    let nowhere = json!({"revision": 1, "dock": [0.0, 0.0], "areas": [
        {"id": "00000000-0000-0000-0000-000000000001", "name": "a", "outline": [[0.0, 0.0], [1.0, 0.0]]},
    ]});
    check(&json!({ "map": nowhere }), &["`map` is not possible"]);
}

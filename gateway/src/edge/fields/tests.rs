use interlock_surface::{Class, ROWS, Row};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};
use serde_json::{Map, Value, json};

use super::{Known, acting, at, becomes, life};

fn row(name: &str) -> &'static Row {
    interlock_surface::row(name).expect(name)
}

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// Any row whose kind is nested.
fn nested() -> &'static Row {
    row("mowers.command.start_mow")
}

fn check(row: &Row, body: Value, expected: Result<(), &str>) {
    let told = Known::of(row).check(&map(body.clone()));
    let told = told.map_err(|cause| cause.to_string());
    match (&told, expected) {
        (Ok(()), Ok(())) => {}
        (Err(cause), Err(part)) if cause.contains(part) => {}
        _ => panic!("{body}: {told:?}, expected {expected:?}"),
    }
}

#[test]
fn a_field_beside_the_kind_is_known_by_its_whole_path() {
    let known = json!({ "command": { "kind": "start_mow", "area_ids": ["a"] }, "ttl_seconds": 5 });
    check(nested(), known, Ok(()));
    for (body, part) in [
        (
            json!({ "command": { "blade": 1 } }),
            "`command.blade` is not known",
        ),
        (json!({ "area_ids": [] }), "`area_ids` is not known"),
        (json!({ "kind": "start_mow" }), "`kind` is not known"),
        (json!({ "command": [] }), "`command` must be an object"),
        (
            json!({ "command": "start_mow" }),
            "`command` must be an object",
        ),
        (
            json!({ "command.area_ids": [] }),
            "`command.area_ids` is not known",
        ),
        (
            json!({ "command": { "kind": "start_mow", "": 1 } }),
            "`command.` is not known",
        ),
        (json!({ "Command": {} }), "`Command` is not known"),
    ] {
        check(nested(), body, Err(part));
    }
    // What lies inside a declared field is not looked at.
    check(
        nested(),
        json!({ "command": { "pattern": { "new": 1 } } }),
        Ok(()),
    );
}

#[test]
fn a_field_is_found_by_its_path() {
    let body = map(json!({ "command": { "kind": "x" }, "a": 1 }));
    assert_eq!(at(&body, "command.kind"), Some(&json!("x")));
    assert_eq!(at(&body, "a"), Some(&json!(1)));
    assert_eq!(at(&body, "a.b"), None);
    assert_eq!(at(&body, "command.kind.x"), None);
    assert_eq!(at(&body, ""), None);
}

#[test]
fn the_kind_and_the_acting_fields_decide() {
    let body = map(json!({
        "command": { "kind": "start_mow", "area_ids": ["a"] },
        "correlation_id": "c",
        "ttl_seconds": 5,
    }));
    let decides = acting(nested(), &body);
    let expected = json!({
        "command.kind": "start_mow", "command.area_ids": ["a"], "ttl_seconds": 5,
    });
    assert_eq!(Value::Object(decides), expected);
}

#[test]
fn a_command_lives_as_long_as_its_longest_word() {
    let check = |body: Value, expected: i64| {
        assert_eq!(life(nested(), &map(body.clone())), expected, "{body}");
    };
    check(json!({}), 0);
    check(json!({ "ttl_seconds": 30 }), 30_000);
    check(json!({ "ttl_seconds": "30" }), 0);
    // The body is forwarded in its canonical form, where 30.0 is 30.
    check(json!({ "ttl_seconds": 30.0 }), 30_000);
    check(
        json!({ "ttl_seconds": 29.5, "command": { "ttl_ms": 29_000.5 } }),
        30_000,
    );
    check(json!({ "ttl_seconds": 1e300 }), i64::MAX);
    check(
        json!({ "ttl_seconds": 9_007_199_254_740_991_i64 }),
        9_007_199_254_740_991_000,
    );
    assert_eq!(
        life(
            row("drones.mission.start"),
            &map(json!({ "ttl_seconds": 30 }))
        ),
        0
    );
}

#[test]
fn a_plan_becomes_the_body_of_its_write() {
    let plan = map(json!({ "area_ids": ["a"], "ttl_seconds": 60 }));
    let body = becomes(nested(), &plan).unwrap();
    let expected = json!({
        "command": { "kind": "start_mow", "area_ids": ["a"] }, "ttl_seconds": 60,
    });
    assert_eq!(Value::Object(body), expected);
    let flat = map(json!({ "type": "survey", "name": "north" }));
    let body = becomes(row("drones.mission.start"), &flat).unwrap();
    assert_eq!(body, flat);
    let lost = becomes(nested(), &map(json!({ "altitude": 3 })));
    assert!(lost.is_err_and(|cause| cause.to_string().contains("`altitude`")));
}

/// JSON objects whose names are often those of the row.
fn bodies() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("command".to_owned()),
        Just("kind".to_owned()),
        Just("area_ids".to_owned()),
        Just("ttl_seconds".to_owned()),
        Just("command.kind".to_owned()),
        "[a-z.]{0,6}",
    ];
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        Just(json!("start_mow")),
        Just(Value::Null),
    ];
    let tree = leaf.prop_recursive(3, 24, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(name.clone(), inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    });
    tree.prop_filter("an object", Value::is_object)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// What is kept of a body is known, and of a known body everything is kept.
    #[test]
    fn keeping_leaves_what_checking_takes(body in bodies()) {
        for row in ROWS.iter().filter(|row| row.kind_field.is_some()).take(4) {
            let known = Known::of(row);
            let before = map(body.clone());
            let mut kept = before.clone();
            known.keep(&mut kept);
            assert!(known.check(&kept).is_ok(), "{kept:?}");
            if known.check(&before).is_ok() {
                assert_eq!(kept, before);
            } else {
                assert_ne!(kept, before);
            }
        }
    }

    /// Whatever a plan holds that its write takes, the write's own reader takes
    /// the body that it becomes.
    #[test]
    fn what_a_plan_becomes_is_read_by_its_row(names in prop::collection::hash_set(0_usize..6, 0..6)) {
        let propose = ROWS.iter().filter(|row| row.class == Class::Plan);
        for plan in propose {
            let dispatch = ROWS.iter().find(|row| {
                row.service == plan.service && row.class == Class::GatedWrite
            });
            let write = row(dispatch.and_then(|row| row.becomes).expect("a write"));
            let fields = plan.acting.iter().enumerate().filter(|(index, _)| names.contains(index));
            let fields = fields.map(|(index, name)| ((*name).to_owned(), json!(index))).collect();
            let body = becomes(write, &fields).expect("a body");
            assert!(Known::of(write).check(&body).is_ok(), "{body:?}");
            assert_eq!(write.kind, write.kind_field.and_then(|field| at(&body, field)?.as_str()));
        }
    }
}

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Attributes;

fn map(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

fn check(kind: &str, attributes: Value, expected: Result<(), &str>) {
    let parsed = Attributes::parse(kind, &map(attributes.clone()));
    let told = parsed.map(drop).map_err(|cause| cause.to_string());
    match (&told, expected) {
        (Ok(()), Ok(())) => {}
        (Err(cause), Err(part)) if cause.contains(part) => {}
        _ => panic!("{kind} {attributes}: {told:?}, expected {expected:?}"),
    }
}

#[test]
fn what_policies_judge_by_is_typed() {
    check("Scope", json!({}), Ok(()));
    check(
        "Scope",
        json!({ "features": ["control"], "suspended": false }),
        Ok(()),
    );
    check(
        "Scope",
        json!({ "time_zone": "Europe/Berlin", "quiet_hours": [] }),
        Ok(()),
    );
    check("Scope", json!({ "time_zone": "Europe/Berlin" }), Ok(()));
    check(
        "Swarm",
        json!({ "quarantined": true, "model": "x500" }),
        Ok(()),
    );
    for (kind, attributes, part) in [
        (
            "Scope",
            json!({ "features": "control" }),
            "`features` must be",
        ),
        ("Scope", json!({ "features": [1] }), "`features` must be"),
        ("Scope", json!({ "features": [""] }), "`features` must be"),
        (
            "Scope",
            json!({ "suspended": "no" }),
            "`suspended` must be `true`",
        ),
        (
            "Scope",
            json!({ "time_zone": "Berlin" }),
            "`time_zone` must name",
        ),
        ("Scope", json!({ "time_zone": 1 }), "`time_zone` must name"),
        (
            "Scope",
            json!({ "quiet_hours": [] }),
            "`quiet_hours` need a `time_zone`",
        ),
        (
            "Scope",
            json!({ "time_zone": "UTC", "quiet_hours": [{}] }),
            "`quiet_hours` window 1: `from`",
        ),
        (
            "Scope",
            json!({ "quarantined": false }),
            "`quarantined` means nothing",
        ),
        (
            "Swarm",
            json!({ "quarantined": 1 }),
            "`quarantined` must be `true`",
        ),
        (
            "Swarm",
            json!({ "suspended": true }),
            "`suspended` belongs to scopes",
        ),
        (
            "Swarm",
            json!({ "quiet_hours": [] }),
            "`quiet_hours` belongs to scopes",
        ),
    ] {
        check(kind, attributes, Err(part));
    }
}

#[test]
fn what_cannot_be_read_moves_nothing() {
    let scope = Attributes::or_still("Scope", "acme", &map(json!({ "features": 1 })));
    assert_eq!(
        (scope.features, scope.suspended),
        (Some(BTreeSet::new()), true)
    );
    let swarm = Attributes::or_still("Swarm", "s", &map(json!({ "quarantined": "?" })));
    assert!(swarm.quarantined);
}

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{Faults, Limits, read_abort};
use crate::contract::{Command, Formation, MissionRequest, MissionType};

fn good() -> Value {
    json!({
        "name": " survey ",
        "type": "formation",
        "formation": "v",
        "waypoints": [{"x": 0, "y": 0, "z": 6}, {"x": 30, "y": 0.5, "z": 6}],
        "droneCount": 3,
        "spacingMeters": 3,
    })
}

fn read(value: &Value) -> Result<MissionRequest, Faults> {
    Limits::default().read_mission(value.to_string().as_bytes())
}

fn faults(value: &Value) -> Vec<String> {
    read(value).expect_err(&value.to_string()).0
}

/// The good request with one field set is refused with these sentences.
fn check(field: &str, value: Value, expected: &[&str]) {
    let mut request = good();
    request[field] = value;
    assert_eq!(faults(&request), expected, "{field}");
}

fn check_point(point: Value, expected: &[&str]) {
    check(
        "waypoints",
        json!([{"x": 0, "y": 0, "z": 6}, point]),
        expected,
    );
}

#[test]
fn a_good_request_is_read_with_its_defaults() {
    let request = read(&good()).unwrap();
    assert_eq!(request.name, "survey");
    assert_eq!(request.kind, MissionType::Formation);
    assert_eq!(request.formation, Formation::V);
    assert_eq!(request.waypoints.len(), 2);
    assert_eq!(request.drone_count, 3);
    assert_eq!(request.spacing_meters, 3.0);

    let mut short = good();
    let members = short.as_object_mut().unwrap();
    members.remove("formation");
    members.remove("spacingMeters");
    let request = read(&short).unwrap();
    assert_eq!(request.formation, Formation::Line);
    assert_eq!(request.spacing_meters, 2.0);
    short["formation"] = Value::Null;
    assert_eq!(read(&short).unwrap().formation, Formation::Line);
}

#[test]
fn the_bounds_themselves_are_allowed() {
    let mut request = good();
    request["name"] = json!("ü".repeat(200));
    request["droneCount"] = json!(5);
    request["spacingMeters"] = json!(100);
    request["type"] = json!("waypoint");
    request["waypoints"] = json!([{"x": 600, "y": -800, "z": 120}, {"x": 0, "y": 0, "z": 0.001}]);
    read(&request).unwrap();
}

#[test]
fn names_types_and_formations() {
    let long = "n".repeat(201);
    check("name", json!(""), &["`name` must not be blank"]);
    check("name", json!(" \t\n"), &["`name` must not be blank"]);
    check(
        "name",
        json!(long),
        &["`name` must have at most 200 characters, not 201"],
    );
    // Counted as given: trimming does not make a long name short.
    check(
        "name",
        json!(format!("a{}", " ".repeat(200))),
        &["`name` must have at most 200 characters, not 201"],
    );
    check("name", json!(null), &["`name` must be a string, not null"]);
    check("name", json!(7), &["`name` must be a string, not a number"]);
    for wrong in ["Waypoint", "WAYPOINT", "WaypointFollow", "survey"] {
        check(
            "type",
            json!(wrong),
            &[&format!(
                "`type` must be `waypoint` or `formation`, not `{wrong}`"
            )],
        );
    }
    check(
        "formation",
        json!("V"),
        &["`formation` must be `line`, `v` or null, not `V`"],
    );
    check(
        "formation",
        json!(""),
        &["`formation` must be `line`, `v` or null, not ``"],
    );
    // Ignored for a waypoint mission, but not any text.
    let mut request = good();
    request["type"] = json!("waypoint");
    request["formation"] = json!("wedge");
    assert_eq!(
        faults(&request),
        ["`formation` must be `line`, `v` or null, not `wedge`"]
    );
}

#[test]
fn waypoints_one_by_one() {
    let many: Vec<Value> = (0..101).map(|_| json!({"x": 0, "y": 0, "z": 6})).collect();
    check(
        "waypoints",
        json!([]),
        &["`waypoints` must have 1 to 100 points, not 0"],
    );
    check(
        "waypoints",
        json!(many),
        &["`waypoints` must have 1 to 100 points, not 101"],
    );
    check(
        "waypoints",
        json!(null),
        &["`waypoints` must be an array, not null"],
    );
    check(
        "waypoints",
        json!("0,0,6"),
        &["`waypoints` must be an array, not a string"],
    );
    check_point(
        json!(null),
        &["`waypoints[1]` must be an object with `x`, `y` and `z`, not null"],
    );
    check_point(
        json!([0, 0, 6]),
        &["`waypoints[1]` must be an object with `x`, `y` and `z`, not an array"],
    );
    check_point(json!({"x": 0, "y": 0}), &["`waypoints[1].z` is required"]);
    check_point(
        json!({"x": 0, "y": 0, "z": "500ft"}),
        &["`waypoints[1].z` must be a number in meters, not a string"],
    );
    check_point(
        json!({"x": 0, "y": 0, "z": 35, "alt_ft": 115}),
        &["unknown field `alt_ft` in `waypoints[1]`"],
    );
    check_point(
        json!({"x": null, "y": true, "z": 6}),
        &[
            "`waypoints[1].x` must be a number in meters, not null",
            "`waypoints[1].y` must be a number in meters, not a boolean",
        ],
    );
    for z in ["-5", "0", "-0.0", "120.001", "3500", "1e308"] {
        let z: Value = serde_json::from_str(z).unwrap();
        let shown = z.as_f64().unwrap() + 0.0;
        check_point(
            json!({"x": 0, "y": 0, "z": z}),
            &[&format!(
                "`waypoints[1]` must be above 0 m and at most 120 m high, not {shown} m"
            )],
        );
    }
    check_point(
        json!({"x": 600, "y": 800.1, "z": 6}),
        &["`waypoints[1]` is 1000.1 m from the origin, outside the geofence of 1000 m"],
    );
}

#[test]
fn counts_and_spacings() {
    for count in [
        "0",
        "6",
        "-1",
        "2.5",
        "3.0",
        "99999999999999999999",
        "4294967299",
    ] {
        let body = good()
            .to_string()
            .replace("\"droneCount\":3", &format!("\"droneCount\":{count}"));
        let found = Limits::default()
            .read_mission(body.as_bytes())
            .unwrap_err()
            .0;
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("`droneCount` must be a whole number from 1 to 5, not "));
    }
    check(
        "droneCount",
        json!("3"),
        &["`droneCount` must be a whole number, not a string"],
    );
    check(
        "spacingMeters",
        json!(0),
        &["`spacingMeters` must be above 0 and at most 200 m, not 0"],
    );
    check(
        "spacingMeters",
        json!(-0.0),
        &["`spacingMeters` must be above 0 and at most 200 m, not 0"],
    );
    check(
        "spacingMeters",
        json!(10_000),
        &["`spacingMeters` must be above 0 and at most 200 m, not 10000"],
    );
    check(
        "spacingMeters",
        json!("2m"),
        &["`spacingMeters` must be a number in meters, not a string"],
    );
    check(
        "spacingMeters",
        json!(null),
        &["`spacingMeters` must be a number in meters, not null"],
    );
}

#[test]
fn limits_bind_what_each_drone_flies() {
    let mut request = good();
    request["type"] = json!("waypoint");
    request["spacingMeters"] = json!(150);
    request["waypoints"] = json!([
        {"x": 0, "y": 0, "z": 6},
        {"x": 0, "y": 701, "z": 6},
        {"x": 0, "y": 900, "z": 6},
    ]);
    assert_eq!(
        faults(&request),
        [
            "`waypoints[2]` as drone_2 flies it is 1050.0 m from the origin, outside the geofence \
         of 1000 m",
            "`waypoints[1]` as drone_3 flies it is 1001.0 m from the origin, outside the geofence \
         of 1000 m (and 1 more of its points)",
        ]
    );
    // The same lanes the other way round are inside.
    request["waypoints"] = json!([{"x": 0, "y": -900, "z": 6}]);
    read(&request).unwrap();
    // A V spreads to both sides, behind the leader.
    request["type"] = json!("formation");
    request["waypoints"] = json!([{"x": -900, "y": 0, "z": 6}]);
    assert_eq!(faults(&request).len(), 2);
}

#[test]
fn every_fault_is_said_at_once() {
    let request = json!({
        "type": "Formation",
        "waypoints": [null, {"x": 2000, "y": 0, "z": 500, "unit": "ft"}],
        "droneCount": 0,
        "spacingMeters": -1,
        "altitudeUnit": "ft",
    });
    let mut found = faults(&request);
    found.sort();
    assert_eq!(
        found,
        [
            "`droneCount` must be a whole number from 1 to 5, not 0",
            "`name` is required",
            "`spacingMeters` must be above 0 and at most 200 m, not -1",
            "`type` must be `waypoint` or `formation`, not `Formation`",
            "`waypoints[0]` must be an object with `x`, `y` and `z`, not null",
            "`waypoints[1]` is 2000.0 m from the origin, outside the geofence of 1000 m",
            "`waypoints[1]` must be above 0 m and at most 120 m high, not 500 m",
            "unknown field `altitudeUnit`",
            "unknown field `unit` in `waypoints[1]`",
        ]
    );
}

#[test]
fn what_is_no_object_is_said_so() {
    for (body, part) in [
        ("", "the body is not valid JSON: EOF"),
        ("{", "the body is not valid JSON: EOF"),
        ("[]", "the body must be a JSON object, not an array"),
        ("null", "the body must be a JSON object, not null"),
        (
            "{\"name\":NaN}",
            "the body is not valid JSON: expected value",
        ),
        (
            "{\"spacingMeters\":1e999}",
            "the body is not valid JSON: number out of range",
        ),
        (
            "{\"name\":\"a\",\"name\":\"b\"}",
            "field `name` is repeated",
        ),
    ] {
        let found = Limits::default()
            .read_mission(body.as_bytes())
            .unwrap_err()
            .0;
        assert_eq!(found.len(), 1);
        assert!(found[0].contains(part), "{body}: {found:?}");
    }
}

#[test]
fn many_unknown_fields_are_counted_not_listed() {
    let mut request = good();
    for n in 0..50 {
        request[format!("extra{n}\n")] = json!(n);
    }
    let found = faults(&request);
    assert_eq!(found.len(), 11);
    assert_eq!(found[10], "40 more unknown fields");
    assert!(found.iter().all(|fault| !fault.contains('\n')), "{found:?}");
}

#[test]
fn aborts() {
    for (body, expected) in [
        ("", Command::Rtl),
        (" \n", Command::Rtl),
        ("{}", Command::Rtl),
        (r#"{"action":null}"#, Command::Rtl),
        (r#"{"action":""}"#, Command::Rtl),
        (r#"{"action":"rtl"}"#, Command::Rtl),
        (r#"{"action":"land"}"#, Command::Land),
        (r#"{"action":"hold"}"#, Command::Hold),
    ] {
        assert_eq!(read_abort(body.as_bytes()), Ok(expected), "{body}");
    }
    for (body, fault) in [
        (
            r#"{"action":"RTL"}"#,
            "`action` must be `rtl`, `land` or `hold`, not `RTL`",
        ),
        (r#"{"action":1}"#, "`action` must be a string, not a number"),
        (r#"{"force":true}"#, "unknown field `force`"),
        ("[]", "the body must be a JSON object, not an array"),
    ] {
        assert_eq!(
            read_abort(body.as_bytes()),
            Err(Faults(vec![fault.to_owned()])),
            "{body}"
        );
    }
}

#[test]
fn limits_that_bind_nothing_are_refused() {
    assert_eq!(Limits::default().check(), Ok(()));
    let limits = Limits {
        max_drone_count: 0,
        max_altitude_meters: f64::NAN,
        geofence_radius_meters: f64::INFINITY,
        max_waypoints: 0,
        max_name_length: 0,
        max_spacing_meters: -1.0,
    };
    assert_eq!(limits.check().unwrap_err().0.len(), 6);
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "\\PC{0,8}".prop_map(Value::from),
        prop_oneof!["waypoint", "formation", "line", "v"].prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        let key = prop_oneof!["x", "y", "z", "\\PC{0,4}"];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(key, inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Whatever is written in a field, the request is read or refused; and
    /// what is read keeps the limits on every flown point.
    #[test]
    fn reading_never_panics_and_never_lets_a_point_out(
        field in prop_oneof![
            "name", "type", "formation", "waypoints", "droneCount", "spacingMeters", "\\PC{0,4}"
        ],
        value in any_json(),
    ) {
        let mut request = good();
        request[field] = value.clone();
        for body in [request, value] {
            if let Ok(request) = read(&body) {
                for index in 0..request.drone_count {
                    let shift = crate::paths::offset(
                        request.kind, request.formation, request.spacing_meters, index,
                    );
                    for point in &request.waypoints {
                        let flown = point.plus(shift);
                        prop_assert!(flown.horizontal() <= 1000.0);
                        prop_assert!(flown.z > 0.0 && flown.z <= 120.0);
                    }
                }
            }
            let _ = read_abort(body.to_string().as_bytes());
        }
    }

    #[test]
    fn bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Limits::default().read_mission(&body);
        let _ = read_abort(&body);
    }

    /// Random routes of the right form: limits decide, and they decide on what
    /// is flown.
    #[test]
    fn a_route_is_accepted_exactly_when_all_its_flown_points_are_inside(
        x in -1200.0..1200.0_f64, y in -1200.0..1200.0_f64, z in -10.0..130.0_f64,
        count in 1_u32..=5, spacing in 0.1..200.0_f64, lanes in any::<bool>(),
    ) {
        let kind = if lanes { "waypoint" } else { "formation" };
        let body = json!({
            "name": "r", "type": kind, "droneCount": count, "spacingMeters": spacing,
            "waypoints": [{"x": x, "y": y, "z": z}],
        });
        let inside = (0..count).all(|index| {
            let shift = f64::from(index) * spacing;
            let (east, north) = if lanes { (x, y + shift) } else { (x - shift, y) };
            east.hypot(north) <= 1000.0
        });
        prop_assert_eq!(read(&body).is_ok(), inside && z > 0.0 && z <= 120.0);
    }
}

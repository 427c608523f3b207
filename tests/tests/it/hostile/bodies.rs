//! Bodies that two readers could understand differently, or that nobody should
//! fly.

use serde_json::{Value, json};

use super::stage::{self, Case, case, good, mission, post, refused};

/// The mission with one field changed.
fn with(name: &str, value: Value) -> String {
    let mut mission = crate::personas::stage::route();
    mission[name] = value;
    mission.to_string()
}

/// The mission at that height.
fn high(z: Value) -> String {
    with(
        "waypoints",
        json!([{ "x": 0, "y": 0, "z": z }, { "x": 30, "y": 0, "z": z }]),
    )
}

/// Each tried as a mission and as a plan.
fn both(id: &'static str, body: &str, right: &'static [u16]) -> [Case; 2] {
    ["/api/missions", "/api/mission-plans"].map(|path| case(id, post(path, "", body), right))
}

#[tokio::test]
async fn a_body_has_one_reading() {
    let system = stage::system().await;
    let good_body = mission();
    let text = |from: &str, to: &str| {
        let changed = good_body.replacen(from, to, 1);
        assert_ne!(changed, good_body, "{from}");
        changed
    };
    let deep = format!("{}1{}", "[".repeat(200), "]".repeat(200));
    let bad = &[400][..];
    let cases: Vec<Case> = [
        both(
            "B71 a name twice",
            &text("\"droneCount\":3", "\"droneCount\":3,\"droneCount\":1"),
            bad,
        ),
        both(
            "B71 twice in a waypoint",
            &text("\"x\":0", "\"x\":0,\"x\":90"),
            bad,
        ),
        both(
            "B71 twice, once escaped",
            &text(
                "\"droneCount\":3",
                "\"droneCount\":3,\"drone\\u0043ount\":1",
            ),
            bad,
        ),
        both(
            "B71 another case",
            &text("\"droneCount\"", "\"DroneCount\""),
            bad,
        ),
        both(
            "B71 an unknown field",
            &text("\"droneCount\"", "\"force\":true,\"droneCount\""),
            bad,
        ),
        both(
            "B71 the prototype",
            &text("\"droneCount\"", "\"__proto__\":{},\"droneCount\""),
            bad,
        ),
        both("B73 more after the end", &format!("{good_body} {{}}"), bad),
        both("B73 broken off", &good_body[..good_body.len() - 1], bad),
        both(
            "B73 a byte order mark",
            &format!("\u{feff}{good_body}"),
            bad,
        ),
        both("B73 a comment", &format!("{good_body}/* */"), bad),
        both("B73 single quotes", &good_body.replace('"', "'"), bad),
        both("B73 a list", "[]", bad),
        both("B73 a text", "\"mission\"", bad),
        both("B73 nothing", "null", bad),
        both("B73 empty", "", bad),
        both(
            "B73 too deep",
            &with("waypoints", json!("DEEP")).replace("\"DEEP\"", &deep),
            bad,
        ),
        both(
            "B73 a number beyond what all readers hold",
            &text("\"x\":30", "\"x\":9007199254740993"),
            bad,
        ),
        both(
            "B73 a number beyond all",
            &text("\"x\":30", "\"x\":1e999"),
            bad,
        ),
        both("B73 no number", &text("\"x\":30", "\"x\":NaN"), bad),
        both("B73 half a surrogate", &text("survey", "\\ud800"), bad),
    ]
    .into_iter()
    .flatten()
    .collect();
    refused(&system, &cases);
    good(&system, &post("/api/mission-plans", "", &good_body), 201);
}

#[tokio::test]
async fn a_body_is_json_and_says_so() {
    let system = stage::system().await;
    let body = mission();
    let typed = |kind: &str| {
        post("/api/missions", "", &body).replace("Content-Type: application/json\r\n", kind)
    };
    let wrong = &[415][..];
    refused(
        &system,
        &[
            case("B73 text", typed("Content-Type: text/plain\r\n"), wrong),
            case(
                "B73 a form",
                typed("Content-Type: application/x-www-form-urlencoded\r\n"),
                wrong,
            ),
            case("B73 no type", typed(""), wrong),
            case(
                "B73 nearly",
                typed("Content-Type: application/jsonp\r\n"),
                wrong,
            ),
            case(
                "B73 a suffix",
                typed("Content-Type: application/vnd.x+json\r\n"),
                wrong,
            ),
            case(
                "B73 another charset",
                typed("Content-Type: application/json; charset=utf-16\r\n"),
                wrong,
            ),
            case(
                "B73 two in one",
                typed("Content-Type: application/json, text/plain\r\n"),
                wrong,
            ),
            case(
                "B73 compressed",
                typed("Content-Type: application/json\r\nContent-Encoding: gzip\r\n"),
                wrong,
            ),
            case(
                "B73 compressed twice",
                typed("Content-Type: application/json\r\nContent-Encoding: identity, br\r\n"),
                wrong,
            ),
        ],
    );
    // UTF-16 that says it is JSON.
    let wide: Vec<u8> = body.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let head = format!(
        "POST /api/missions HTTP/1.1\r\nHOSTTOKENContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        wide.len()
    );
    let before = system.upstream.bytes_to_target();
    let bytes = [stage::filled(&system, &head).into_bytes(), wide].concat();
    let answers = stage::answers(&system, bytes);
    assert_eq!(answers[0].status, 400, "B73 UTF-16: {}", answers[0].text());
    assert_eq!(system.upstream.bytes_to_target(), before);
}

/// What says feet, flies too high, too low or nowhere is refused by name; what
/// only the service can judge flies nothing.
#[tokio::test]
async fn a_height_is_meters_within_the_limits() {
    let system = stage::system().await;
    let refusals: [(&str, String); 16] = [
        (
            "B71 an unknown field in a waypoint",
            mission().replacen("\"x\":0", "\"x\":0,\"speed\":99", 1),
        ),
        ("B71 a number as text", with("droneCount", json!("3"))),
        ("B71 part of a drone", with("droneCount", json!(2.5))),
        ("B83 a unit", with("unit", json!("ft"))),
        ("B83 feet by name", with("alt_ft", json!(500))),
        (
            "B83 feet in a waypoint",
            with(
                "waypoints",
                json!([{ "x": 0, "y": 0, "z": 6, "unit": "ft" }]),
            ),
        ),
        ("B83 a number with a unit", high(json!("500ft"))),
        ("B83 500 feet", high(json!(500))),
        ("B83 35 m in centimeters", high(json!(3500))),
        ("B85 below the ground", high(json!(-5))),
        ("B85 on the ground", high(json!(0))),
        (
            "B85 no height",
            with("waypoints", json!([{ "x": 0, "y": 0 }])),
        ),
        ("B85 another datum", with("datum", json!("AMSL"))),
        ("B85 nothing for a height", high(Value::Null)),
        (
            "B86 across the world",
            with("waypoints", json!([{ "x": 1e9, "y": 0, "z": 6 }])),
        ),
        (
            "B86 degrees",
            with("waypoints", json!([{ "lat": 0, "lon": 179.9995, "z": 6 }])),
        ),
    ];
    let before = system.sim.counters();
    for (id, body) in refusals {
        for path in ["/api/missions", "/api/mission-plans"] {
            let sent = stage::filled(&system, &post(path, "", &body));
            let answers = stage::answers(&system, sent);
            let [answer] = &answers[..] else {
                panic!("{id}: {answers:?}");
            };
            assert_eq!(answer.status, 400, "{id} at {path}: {}", answer.text());
            assert_eq!(system.sim.counters(), before, "{id} at {path}");
        }
    }
}

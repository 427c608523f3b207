use proptest::prelude::{Just, Strategy, any, prop_oneof};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{StopWords, read, read_path, read_plan, read_reset, read_stop};
use crate::contract::{Command, CommandKind, PatternKind};
use crate::service::problem::Problem;

const AREA: &str = "0192f0c1-0000-7000-8000-000000000001";

fn faults(body: &Value) -> Vec<String> {
    match read(body.to_string().as_bytes()) {
        Err(Problem::Invalid(faults)) => faults,
        other => panic!("{other:?}"),
    }
}

fn taken(command: &Value) -> Command {
    let body = json!({ "command": command }).to_string();
    read(body.as_bytes()).expect("a good command").command
}

#[track_caller]
fn refused(command: &Value, wanted: &[&str]) {
    let found = faults(&json!({ "command": command }));
    assert_eq!(found, wanted);
}

#[test]
fn every_kind_with_its_parameters() {
    let session = Uuid::nil();
    let commands = [
        json!({ "kind": "start_mow", "area_ids": [AREA], "pattern": { "kind": "double",
            "angle_deg": -180, "spacing_cm": 35, "border_laps": 4, "obstacle_laps": 0,
            "order": "lanes_first" }, "blade_height_mm": 15, "speed_mps": 1.2,
            "duration_min": 1440, "expected_path_hash": "ab".repeat(32) }),
        json!({ "kind": "resume_mow", "expected_path_hash": "01".repeat(32) }),
        json!({ "kind": "pause_mow" }),
        json!({ "kind": "return_to_dock" }),
        json!({ "kind": "set_blade_height", "height_mm": 100 }),
        json!({ "kind": "set_speed", "speed_mps": 0.57 }),
        json!({ "kind": "manual_drive", "session_id": session, "sequence": 1, "linear": -1,
            "angular": 1, "blade_on": true, "ttl_ms": 100 }),
        json!({ "kind": "emergency_stop", "reason": "a dog" }),
        json!({ "kind": "reset_emergency", "on_site_confirmed": true }),
        json!({ "kind": "leave_dock" }),
        json!({ "kind": "sync_map" }),
        json!({ "kind": "resync_rtk" }),
        json!({ "kind": "relocate_dock" }),
        json!({ "kind": "restart_mower" }),
    ];
    let kinds: Vec<CommandKind> = commands.iter().map(|c| taken(c).kind()).collect();
    assert_eq!(kinds, CommandKind::ALL);
}

#[test]
fn defaults_of_a_pattern_and_of_a_frame() {
    let Command::StartMow(start) =
        taken(&json!({ "kind": "start_mow", "area_ids": [AREA], "pattern": {} }))
    else {
        panic!("a start");
    };
    let pattern = start.pattern.expect("a pattern");
    assert_eq!(pattern.kind, PatternKind::Parallel);
    let Command::ManualDrive(frame) = taken(&json!({ "kind": "manual_drive",
        "session_id": Uuid::nil(), "sequence": 0, "linear": 0, "angular": 0 }))
    else {
        panic!("a frame");
    };
    assert_eq!((frame.ttl_ms, frame.blade_on), (1_000, false));
}

#[test]
fn every_limit_has_an_edge() {
    let areas =
        |count: usize| -> Vec<Uuid> { (0..count).map(|n| Uuid::from_u128(n as u128)).collect() };
    taken(&json!({ "kind": "start_mow", "area_ids": areas(60) }));
    refused(
        &json!({ "kind": "start_mow", "area_ids": areas(61) }),
        &["`command.area_ids` must have at most 60 items"],
    );
    refused(
        &json!({ "kind": "start_mow", "area_ids": [] }),
        &["`command.area_ids` must name at least one area"],
    );
    refused(
        &json!({ "kind": "start_mow", "area_ids": [AREA, AREA] }),
        &["`command.area_ids[1]` is repeated"],
    );
    refused(
        &json!({ "kind": "set_blade_height", "height_mm": 14 }),
        &["`command.height_mm` must be a whole number from 15 to 100"],
    );
    refused(
        &json!({ "kind": "set_blade_height", "height_mm": 20.5 }),
        &["`command.height_mm` must be a whole number from 15 to 100"],
    );
    refused(
        &json!({ "kind": "set_speed", "speed_mps": 1.21 }),
        &["`command.speed_mps` must be a number from 0.1 to 1.2"],
    );
    refused(
        &json!({ "kind": "set_speed", "speed_mps": 0.555 }),
        &["`command.speed_mps` must have at most two decimals"],
    );
    refused(
        &json!({ "kind": "resume_mow", "expected_path_hash": "AB" }),
        &["`command.expected_path_hash` must be 64 lower-case hexadecimal digits"],
    );
    refused(
        &json!({ "kind": "emergency_stop", "reason": "x".repeat(201) }),
        &["`command.reason` must have 0 to 200 characters, not 201"],
    );
}

#[test]
fn all_faults_are_said_at_once() {
    let found = faults(&json!({
        "command": {
            "kind": "start_mow", "area_ids": ["x"], "duration_min": 0, "speed_mps": "fast",
            "blade_height_mm": true,
            "pattern": { "kind": "spiral", "angle_deg": 181, "spacing_cm": 4.9,
                "border_laps": 5, "obstacle_laps": -1, "order": null, "color": 1 },
            "issued_by": "me",
        },
        "ttl_seconds": 301, "correlation_id": 7, "area_clear_confirmed": "yes", "priority": "high",
    }));
    assert_eq!(
        found,
        [
            "`command.area_ids[0]` must be a UUID",
            "`command.pattern.kind` must be `parallel`, `double`, `border_only` or `none`",
            "`command.pattern.order` must be `border_first` or `lanes_first`",
            "`command.pattern.angle_deg` must be a number from -180 to 180",
            "`command.pattern.spacing_cm` must be a number from 5 to 35",
            "`command.pattern.border_laps` must be a whole number from 0 to 4",
            "`command.pattern.obstacle_laps` must be a whole number from 0 to 4",
            "unknown field `command.pattern.color`",
            "`command.blade_height_mm` must be a whole number from 15 to 100",
            "`command.speed_mps` must be a number from 0.1 to 1.2",
            "`command.duration_min` must be a whole number from 1 to 1440",
            "unknown field `command.issued_by`",
            "`ttl_seconds` must be a whole number from 1 to 300",
            "`correlation_id` must be a UUID",
            "`area_clear_confirmed` must be true or false, not a string",
            "unknown field `priority`",
        ]
    );
}

#[test]
fn missing_and_unknown_kinds() {
    refused(&json!({}), &["`command.kind` is required"]);
    refused(
        &json!({ "kind": "fly", "x": 1 }),
        &[
            "`command.kind` must be a known command kind",
            "unknown field `command.x`",
        ],
    );
    assert_eq!(faults(&json!({})), ["`command` is required"]);
    assert_eq!(
        faults(&json!([])),
        ["the body must be a JSON object, not an array"]
    );
    refused(
        &json!({ "kind": "manual_drive" }),
        &[
            "`command.session_id` is required",
            "`command.sequence` is required",
            "`command.linear` is required",
            "`command.angular` is required",
        ],
    );
}

#[test]
fn a_repeated_name_is_refused() {
    let body = br#"{"command":{"kind":"pause_mow","kind":"start_mow"}}"#;
    let Err(Problem::Unreadable(found)) = read(body) else {
        panic!("two kinds");
    };
    assert!(found.contains("field `kind` is repeated"), "{found}");
}

#[test]
fn nothing_in_a_body_keeps_a_stop() {
    let words = |body: &[u8]| read_stop(body);
    assert_eq!(words(b""), StopWords::default());
    assert_eq!(words(b"{\"command\":7"), StopWords::default());
    let long = json!({ "command": { "kind": "emergency_stop", "reason": "é".repeat(300) },
        "correlation_id": AREA, "ttl_seconds": 9_999 });
    let read = words(long.to_string().as_bytes());
    assert_eq!(read.reason.expect("a reason").chars().count(), 200);
    assert_eq!(read.correlation_id, Uuid::try_parse(AREA).ok());
}

#[test]
fn a_reset_needs_somebody_on_site() {
    let confirmed = |value: &Value| read_reset(value.to_string().as_bytes());
    assert!(confirmed(&json!({ "on_site_confirmed": true })).is_ok());
    for (body, wanted) in [
        (json!({}), "`on_site_confirmed` is required"),
        (
            json!({ "on_site_confirmed": false }),
            "`on_site_confirmed` must be true: somebody has to stand next to the mower",
        ),
        (
            json!({ "on_site_confirmed": 1 }),
            "`on_site_confirmed` must be true or false, not a number",
        ),
    ] {
        assert_eq!(
            confirmed(&body),
            Err(Problem::Invalid(vec![wanted.to_owned()]))
        );
    }
}

#[test]
fn previews_and_proposals() {
    let path = read_path(json!({ "area_ids": [AREA] }).to_string().as_bytes()).expect("a preview");
    assert_eq!((path.area_ids.len(), path.pattern), (1, None));
    let start = read_plan(
        json!({ "area_ids": [AREA], "duration_min": 30, "ttl_seconds": 60 })
            .to_string()
            .as_bytes(),
    );
    assert_eq!(start.expect("a proposal").duration_min, Some(30));
    let wrong = read_path(
        json!({ "area_ids": [AREA], "speed_mps": 1 })
            .to_string()
            .as_bytes(),
    );
    assert_eq!(
        wrong,
        Err(Problem::Invalid(vec![
            "unknown field `speed_mps`".to_owned()
        ]))
    );
}

proptest::proptest! {
    #[test]
    fn a_command_that_is_read_is_read_again(speed in 10_u32..=120, height in 15_u16..=100) {
        let command = taken(&json!({ "kind": "start_mow", "area_ids": [AREA],
            "speed_mps": f64::from(speed) / 100.0, "blade_height_mm": height }));
        let text = serde_json::to_value(&command).expect("JSON");
        proptest::prop_assert_eq!(taken(&text), command);
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in proptest::collection::vec(proptest::num::u8::ANY, 0..200)) {
        let _ = read(&bytes);
        let _ = read_stop(&bytes);
    }

    /// JSON with the right names and anything in them: far behind the parser.
    #[test]
    fn no_values_break_the_reader(mut command in members(), kind in kind(), rest in members()) {
        command.insert("kind".to_owned(), json!(kind));
        let mut body = rest.clone();
        body.insert("command".to_owned(), Value::Object(command.clone()));
        let text = Value::Object(body).to_string();
        match read(text.as_bytes()) {
            Ok(request) => {
                proptest::prop_assert_eq!(request.command.kind().as_str(), kind);
                let again = serde_json::to_value(&request.command).expect("JSON");
                proptest::prop_assert_eq!(taken(&again), request.command);
            }
            Err(Problem::Invalid(faults)) => proptest::prop_assert!(!faults.is_empty()),
            Err(other) => proptest::prop_assert!(false, "{}", other),
        }
        let plain = Value::Object(command).to_string();
        let _ = (read_plan(plain.as_bytes()), read_path(plain.as_bytes()), read_reset(plain.as_bytes()));
        let words = read_stop(text.as_bytes());
        proptest::prop_assert!(words.reason.is_none_or(|reason| reason.chars().count() <= 200));
    }
}

/// The name of a kind.
fn kind() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(CommandKind::ALL.map(CommandKind::as_str).to_vec())
}

/// Some of the names that bodies have, with values that are sometimes right.
fn members() -> impl Strategy<Value = serde_json::Map<String, Value>> {
    const NAMES: [&str; 16] = [
        "area_ids",
        "pattern",
        "blade_height_mm",
        "speed_mps",
        "duration_min",
        "expected_path_hash",
        "height_mm",
        "session_id",
        "sequence",
        "linear",
        "angular",
        "ttl_ms",
        "reason",
        "on_site_confirmed",
        "ttl_seconds",
        "correlation_id",
    ];
    let value = prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!([AREA])),
        Just(json!(AREA)),
        Just(json!({ "kind": "double", "spacing_cm": 20 })),
        Just(json!("ab".repeat(32))),
        (-2..120_i64).prop_map(|number| json!(number)),
        any::<f64>().prop_map(|number| json!(number)),
        any::<u64>().prop_map(|number| json!(number)),
        ".{0,300}".prop_map(|text| json!(text)),
    ];
    let name = proptest::sample::select(NAMES.map(str::to_owned).to_vec());
    proptest::collection::hash_map(name, value, 0..6)
        .prop_map(|members| members.into_iter().collect())
}

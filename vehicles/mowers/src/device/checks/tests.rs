use uuid::Uuid;

use super::command;
use crate::contract::{Command, CommandKind, Pattern, Start};
use crate::device::testkit::{area, capabilities, map, start_mow};

/// The code of the refusal, or `ok`.
fn check(asked: &Command, expected: &str) {
    check_for(asked, &capabilities(), expected);
}

fn check_for(asked: &Command, able: &crate::contract::Capabilities, expected: &str) {
    let said = match command(asked, able, &map()) {
        Ok(()) => "ok".to_owned(),
        Err(why) => why.split(':').next().unwrap().to_owned(),
    };
    assert_eq!(said, expected, "{asked:?}");
}

fn start(change: impl FnOnce(&mut Start)) -> Command {
    let mut start = start_mow();
    change(&mut start);
    Command::StartMow(start)
}

fn pattern(change: impl FnOnce(&mut Pattern)) -> Command {
    let mut pattern = Pattern::default();
    change(&mut pattern);
    start(|start| start.pattern = Some(pattern))
}

#[test]
fn limits_of_the_kind_and_of_the_mower() {
    check(&start(|_| {}), "ok");
    check(&start(|start| start.area_ids.clear()), "invalid-parameters");
    let many = start(|start| start.area_ids = vec![area(); 61]);
    check(&many, "invalid-parameters");
    let unknown = start(|start| start.area_ids = vec![area(), Uuid::nil()]);
    check(&unknown, "unknown-area");
    check(
        &start(|start| start.duration_min = Some(0)),
        "invalid-parameters",
    );
    check(&start(|start| start.duration_min = Some(1_440)), "ok");
    check(
        &start(|start| start.duration_min = Some(1_441)),
        "invalid-parameters",
    );
    for (height, expected) in [
        (14, "invalid-parameters"),
        (24, "capability"),
        (25, "ok"),
        (70, "ok"),
        (71, "capability"),
        (101, "invalid-parameters"),
    ] {
        check(&Command::SetBladeHeight { height_mm: height }, expected);
        check(
            &start(|start| start.blade_height_mm = Some(height)),
            expected,
        );
    }
    for (mps, expected) in [
        (0.05, "invalid-parameters"),
        (0.19, "capability"),
        (0.2, "ok"),
        (0.6, "ok"),
        (0.61, "capability"),
        (1.3, "invalid-parameters"),
        (f64::NAN, "invalid-parameters"),
        (f64::INFINITY, "invalid-parameters"),
    ] {
        check(&Command::SetSpeed { speed_mps: mps }, expected);
        check(&start(|start| start.speed_mps = Some(mps)), expected);
    }
    check(&pattern(|_| {}), "ok");
    check(&pattern(|it| it.angle_deg = 181.0), "invalid-parameters");
    check(&pattern(|it| it.angle_deg = f64::NAN), "invalid-parameters");
    check(&pattern(|it| it.spacing_cm = 4.0), "invalid-parameters");
    check(&pattern(|it| it.spacing_cm = 19.0), "capability");
    check(&pattern(|it| it.border_laps = 5), "invalid-parameters");
    check(&pattern(|it| it.obstacle_laps = 5), "invalid-parameters");
    let nobody = Command::ResetEmergency {
        on_site_confirmed: false,
    };
    check(&nobody, "invalid-parameters");
}

#[test]
fn what_is_not_declared_is_not_taken() {
    for kind in CommandKind::ALL {
        let mut able = capabilities();
        able.kinds.retain(|known| *known != kind);
        let json = serde_json::json!({"kind": kind, "height_mm": 40, "speed_mps": 0.3,
            "on_site_confirmed": true, "area_ids": [area()]});
        let keep = |name: &str| match kind {
            CommandKind::StartMow => name == "area_ids",
            CommandKind::SetBladeHeight => name == "height_mm",
            CommandKind::SetSpeed => name == "speed_mps",
            CommandKind::ResetEmergency => name == "on_site_confirmed",
            _ => false,
        };
        let fields = json.as_object().unwrap().clone().into_iter();
        let fields = fields.filter(|(name, _)| name == "kind" || keep(name));
        let value = serde_json::Value::Object(fields.collect());
        // A frame has a shape of its own and is refused in any case.
        let Ok(asked) = serde_json::from_value::<Command>(value) else {
            assert_eq!(kind, CommandKind::ManualDrive);
            continue;
        };
        check_for(&asked, &able, "unsupported-kind");
        check(&asked, "ok");
    }
    let mut able = capabilities();
    able.patterns = false;
    check_for(&pattern(|_| {}), &able, "capability");
    able.areas = false;
    // All of its areas are what it mows anyway.
    check_for(&start(|_| {}), &able, "ok");
}

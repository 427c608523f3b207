//! The union of commands with its hard limits. Each mower narrows them.

use std::collections::BTreeSet;

use serde_json::Value;
use uuid::Uuid;

use super::fields::Fields;
use super::{Faults, REASON};
use crate::contract::{Command, CommandKind, Drive, Order, Pattern, PatternKind, Start};

/// Most areas of one start or preview.
const AREAS: usize = 60;

/// Speeds in meters per second.
const SPEED: std::ops::RangeInclusive<f64> = 0.1..=1.2;

/// Cutting heights in millimeters.
const HEIGHT: std::ops::RangeInclusive<i64> = 15..=100;

/// The command that the members of an object say.
pub(super) fn command(mut fields: Fields, faults: &mut Faults) -> Option<Command> {
    if !fields.demand("kind", faults) {
        return None;
    }
    // The parameters of a kind that does not exist cannot be judged.
    let kind = fields.text("kind", "a known command kind", CommandKind::named, faults)?;
    let command = parameters(kind, &mut fields, faults);
    fields.refuse_rest(faults);
    command
}

fn parameters(kind: CommandKind, fields: &mut Fields, faults: &mut Faults) -> Option<Command> {
    match kind {
        CommandKind::StartMow => start(fields, faults).map(Command::StartMow),
        CommandKind::ResumeMow => Some(Command::ResumeMow {
            expected_path_hash: path_hash(fields, faults),
        }),
        CommandKind::PauseMow => Some(Command::PauseMow {}),
        CommandKind::ReturnToDock => Some(Command::ReturnToDock {}),
        CommandKind::SetBladeHeight => {
            fields.demand("height_mm", faults);
            let height_mm = fields.integer("height_mm", HEIGHT, faults)?;
            Some(Command::SetBladeHeight { height_mm })
        }
        CommandKind::SetSpeed => set_speed(fields, faults),
        CommandKind::ManualDrive => drive(fields, faults).map(Command::ManualDrive),
        CommandKind::EmergencyStop => Some(Command::EmergencyStop {
            reason: fields.text(
                "reason",
                "a text of at most 200 characters",
                |text| (text.chars().count() <= REASON).then(|| text.to_owned()),
                faults,
            ),
        }),
        CommandKind::ResetEmergency => reset(fields, faults),
        CommandKind::LeaveDock => Some(Command::LeaveDock {}),
        CommandKind::SyncMap => Some(Command::SyncMap {}),
        CommandKind::ResyncRtk => Some(Command::ResyncRtk {}),
        CommandKind::RelocateDock => Some(Command::RelocateDock {}),
        CommandKind::RestartMower => Some(Command::RestartMower {}),
    }
}

/// The parameters of a start.
pub(super) fn start(fields: &mut Fields, faults: &mut Faults) -> Option<Start> {
    let area_ids = areas(fields, faults);
    let pattern = pattern(fields, faults);
    let blade_height_mm = fields.integer("blade_height_mm", HEIGHT, faults);
    let speed_mps = fields.number("speed_mps", SPEED, faults);
    let duration_min = fields.integer("duration_min", 1..=1_440, faults);
    let expected_path_hash = path_hash(fields, faults);
    Some(Start {
        area_ids: area_ids?,
        pattern,
        blade_height_mm,
        speed_mps,
        duration_min,
        expected_path_hash,
    })
}

/// 1 to 60 areas, each once.
pub(super) fn areas(fields: &mut Fields, faults: &mut Faults) -> Option<Vec<Uuid>> {
    let value = fields.required("area_ids", faults)?;
    let items = value
        .as_array()
        .filter(|items| (1..=AREAS).contains(&items.len()));
    let Some(items) = items else {
        fields.fault("area_ids", "an array of 1 to 60 ids", &value, faults);
        return None;
    };
    let read = |item: &Value| item.as_str().and_then(|text| Uuid::try_parse(text).ok());
    let ids: Option<Vec<Uuid>> = items.iter().map(read).collect();
    if ids.is_none() {
        faults
            .0
            .push(format!("{} must hold UUIDs only", fields.name("area_ids")));
    }
    let ids = ids?;
    let distinct: BTreeSet<&Uuid> = ids.iter().collect();
    if distinct.len() != ids.len() {
        let name = fields.name("area_ids");
        faults.0.push(format!("{name} must name each area once"));
    }
    Some(ids)
}

/// How areas are covered; what is left out is the default of a pattern.
pub(super) fn pattern(fields: &mut Fields, faults: &mut Faults) -> Option<Pattern> {
    let place = fields.name("pattern");
    let value = fields.take("pattern")?;
    let mut fields = Fields::object(place.trim_matches('`'), value, faults)?;
    let usual = Pattern::default();
    let kind = fields.text(
        "kind",
        "`parallel`, `double`, `border_only` or `none`",
        |name| match name {
            "parallel" => Some(PatternKind::Parallel),
            "double" => Some(PatternKind::Double),
            "border_only" => Some(PatternKind::BorderOnly),
            "none" => Some(PatternKind::None),
            _ => None,
        },
        faults,
    );
    let order = fields.text(
        "order",
        "`border_first` or `lanes_first`",
        |name| match name {
            "border_first" => Some(Order::BorderFirst),
            "lanes_first" => Some(Order::LanesFirst),
            _ => None,
        },
        faults,
    );
    let angle_deg = fields.number("angle_deg", -180.0..=180.0, faults);
    let spacing_cm = fields.number("spacing_cm", 5.0..=35.0, faults);
    let border_laps = fields.integer("border_laps", 0..=4, faults);
    let obstacle_laps = fields.integer("obstacle_laps", 0..=4, faults);
    fields.refuse_rest(faults);
    Some(Pattern {
        kind: kind.unwrap_or(usual.kind),
        angle_deg: angle_deg.unwrap_or(usual.angle_deg),
        spacing_cm: spacing_cm.unwrap_or(usual.spacing_cm),
        border_laps: border_laps.unwrap_or(usual.border_laps),
        obstacle_laps: obstacle_laps.unwrap_or(usual.obstacle_laps),
        order: order.unwrap_or(usual.order),
    })
}

/// The attestation that takes the latch off.
pub(super) fn reset(fields: &mut Fields, faults: &mut Faults) -> Option<Command> {
    let there = fields.demand("on_site_confirmed", faults);
    let confirmed = fields.flag("on_site_confirmed", faults);
    if there && confirmed == Some(false) {
        let name = fields.name("on_site_confirmed");
        faults.0.push(format!(
            "{name} must be true: somebody has to stand next to the mower"
        ));
    }
    confirmed.map(|on_site_confirmed| Command::ResetEmergency { on_site_confirmed })
}

fn set_speed(fields: &mut Fields, faults: &mut Faults) -> Option<Command> {
    fields.demand("speed_mps", faults);
    let speed_mps = fields.number("speed_mps", SPEED, faults)?;
    let hundredths = speed_mps * 100.0;
    if (hundredths - hundredths.round()).abs() > 1e-9 {
        let name = fields.name("speed_mps");
        faults
            .0
            .push(format!("{name} must have at most two decimals"));
    }
    Some(Command::SetSpeed { speed_mps })
}

fn drive(fields: &mut Fields, faults: &mut Faults) -> Option<Drive> {
    for name in ["session_id", "sequence", "linear", "angular"] {
        fields.demand(name, faults);
    }
    let session_id = fields.uuid("session_id", faults);
    let sequence = fields.integer("sequence", 0..=i64::MAX, faults);
    let linear = fields.number("linear", -1.0..=1.0, faults);
    let angular = fields.number("angular", -1.0..=1.0, faults);
    let blade_on = fields.flag("blade_on", faults).unwrap_or_default();
    let ttl_ms = fields.integer("ttl_ms", 100..=2_000, faults);
    Some(Drive {
        session_id: session_id?,
        sequence: sequence?,
        linear: linear?,
        angular: angular?,
        blade_on,
        ttl_ms: ttl_ms.unwrap_or(1_000),
    })
}

fn path_hash(fields: &mut Fields, faults: &mut Faults) -> Option<String> {
    let hexadecimal = |text: &str| {
        let digits = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (text.len() == 64 && digits).then(|| text.to_owned())
    };
    let wanted = "64 lower-case hexadecimal digits";
    fields.text("expected_path_hash", wanted, hexadecimal, faults)
}

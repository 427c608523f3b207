//! The union of commands with its hard limits. Each mower narrows them.

use interlock_guard::json::Json;
use uuid::Uuid;

use super::REASON;
use crate::contract::{Command, CommandKind, Drive, Order, Pattern, PatternKind, Start};
use crate::service::body::Body;

/// Most areas of one start or preview.
const AREAS: usize = 60;

/// Speeds in meters per second.
const SPEED: (f64, f64) = (0.1, 1.2);

/// Cutting heights in millimeters.
const HEIGHT: (i64, i64) = (15, 100);

/// The command that the members of an object say.
pub(super) fn command(body: &mut Body) -> Option<Command> {
    command_with(body, start)
}

/// The same for a command to many.
pub(super) fn command_each(body: &mut Body) -> Option<Command> {
    command_with(body, start_each)
}

fn command_with(
    body: &mut Body,
    start: impl FnOnce(&mut Body) -> Option<Start>,
) -> Option<Command> {
    let given = body.required("kind");
    // The parameters of a kind that does not exist cannot be judged.
    let kind = word(
        body,
        "kind",
        given,
        "a known command kind",
        CommandKind::named,
    )?;
    match kind {
        CommandKind::StartMow => start(body).map(Command::StartMow),
        CommandKind::ResumeMow => Some(Command::ResumeMow {
            expected_path_hash: path_hash(body),
        }),
        CommandKind::PauseMow => Some(Command::PauseMow {}),
        CommandKind::ReturnToDock => Some(Command::ReturnToDock {}),
        CommandKind::SetBladeHeight => {
            let given = body.required("height_mm");
            let height = body.whole("height_mm", given, HEIGHT.0, HEIGHT.1)?;
            let height_mm = u16::try_from(height).ok()?;
            Some(Command::SetBladeHeight { height_mm })
        }
        CommandKind::SetSpeed => set_speed(body),
        CommandKind::ManualDrive => drive(body).map(Command::ManualDrive),
        CommandKind::EmergencyStop => {
            let given = body.take("reason");
            let reason = body.text("reason", given, 0, REASON);
            Some(Command::EmergencyStop { reason })
        }
        CommandKind::ResetEmergency => reset(body),
        CommandKind::LeaveDock => Some(Command::LeaveDock {}),
        CommandKind::SyncMap => Some(Command::SyncMap {}),
        CommandKind::ResyncRtk => Some(Command::ResyncRtk {}),
        CommandKind::RelocateDock => Some(Command::RelocateDock {}),
        CommandKind::RestartMower => Some(Command::RestartMower {}),
    }
}

/// The parameters of a start.
pub(super) fn start(body: &mut Body) -> Option<Start> {
    let given = body.required("area_ids");
    let area_ids = areas_of(body, given);
    let start = work(body);
    let expected_path_hash = path_hash(body);
    Some(Start {
        area_ids: area_ids?,
        expected_path_hash,
        ..start
    })
}

/// The parameters of a start of many; no areas where none are named.
fn start_each(body: &mut Body) -> Option<Start> {
    let area_ids = match body.take("area_ids") {
        None => Some(Vec::new()),
        given => areas_of(body, given),
    };
    let start = work(body);
    Some(Start {
        area_ids: area_ids?,
        ..start
    })
}

/// How to mow, wherever that is.
fn work(body: &mut Body) -> Start {
    Start {
        area_ids: Vec::new(),
        pattern: pattern(body),
        blade_height_mm: whole(body, "blade_height_mm", HEIGHT.0, HEIGHT.1),
        speed_mps: number(body, "speed_mps", SPEED),
        duration_min: whole(body, "duration_min", 1, 1_440),
        expected_path_hash: None,
    }
}

/// 1 to 60 areas, each once.
pub(super) fn areas(body: &mut Body) -> Option<Vec<Uuid>> {
    let given = body.required("area_ids");
    areas_of(body, given)
}

fn areas_of(body: &mut Body, given: Option<Json>) -> Option<Vec<Uuid>> {
    let ids = body.ids("area_ids", given, AREAS)?;
    if ids.is_empty() {
        let name = body.full("area_ids");
        body.fault(format!("{name} must name at least one area"));
    }
    Some(ids)
}

/// How areas are covered; what is left out is the default of a pattern.
pub(super) fn pattern(body: &mut Body) -> Option<Pattern> {
    let given = body.take("pattern");
    body.object("pattern", given, |body| {
        let usual = Pattern::default();
        let given = body.take("kind");
        let kinds = "`parallel`, `double`, `border_only` or `none`";
        let kind = word(body, "kind", given, kinds, |name| match name {
            "parallel" => Some(PatternKind::Parallel),
            "double" => Some(PatternKind::Double),
            "border_only" => Some(PatternKind::BorderOnly),
            "none" => Some(PatternKind::None),
            _ => None,
        });
        let given = body.take("order");
        let orders = "`border_first` or `lanes_first`";
        let order = word(body, "order", given, orders, |name| match name {
            "border_first" => Some(Order::BorderFirst),
            "lanes_first" => Some(Order::LanesFirst),
            _ => None,
        });
        let angle_deg = number(body, "angle_deg", (-180.0, 180.0));
        let spacing_cm = number(body, "spacing_cm", (5.0, 35.0));
        let border_laps = whole(body, "border_laps", 0, 4);
        let obstacle_laps = whole(body, "obstacle_laps", 0, 4);
        Some(Pattern {
            kind: kind.unwrap_or(usual.kind),
            angle_deg: angle_deg.unwrap_or(usual.angle_deg),
            spacing_cm: spacing_cm.unwrap_or(usual.spacing_cm),
            border_laps: border_laps.unwrap_or(usual.border_laps),
            obstacle_laps: obstacle_laps.unwrap_or(usual.obstacle_laps),
            order: order.unwrap_or(usual.order),
        })
    })
}

/// The attestation that takes the latch off.
pub(super) fn reset(body: &mut Body) -> Option<Command> {
    let given = body.required("on_site_confirmed");
    let on_site_confirmed = body.flag("on_site_confirmed", given)?;
    if !on_site_confirmed {
        let name = body.full("on_site_confirmed");
        body.fault(format!(
            "{name} must be true: somebody has to stand next to the mower"
        ));
    }
    Some(Command::ResetEmergency { on_site_confirmed })
}

/// A whole number that may be absent, of a type that holds its range.
pub(super) fn whole<T: TryFrom<i64>>(
    body: &mut Body,
    name: &str,
    least: i64,
    most: i64,
) -> Option<T> {
    let given = body.take(name);
    let value = body.whole(name, given, least, most)?;
    T::try_from(value).ok()
}

fn number(body: &mut Body, name: &str, (least, most): (f64, f64)) -> Option<f64> {
    let given = body.take(name);
    // Not minus zero: it would be another text for the same number.
    body.number(name, given, least, most)
        .map(|value| value + 0.0)
}

/// One word of a list.
fn word<T>(
    body: &mut Body,
    name: &str,
    given: Option<Json>,
    wanted: &str,
    read: impl FnOnce(&str) -> Option<T>,
) -> Option<T> {
    let value = match given? {
        Json::Text(text) => read(&text),
        _ => None,
    };
    if value.is_none() {
        let name = body.full(name);
        body.fault(format!("{name} must be {wanted}"));
    }
    value
}

fn set_speed(body: &mut Body) -> Option<Command> {
    let given = body.required("speed_mps");
    let speed_mps = body.number("speed_mps", given, SPEED.0, SPEED.1)?;
    let hundredths = speed_mps * 100.0;
    if (hundredths - hundredths.round()).abs() > 1e-9 {
        let name = body.full("speed_mps");
        body.fault(format!("{name} must have at most two decimals"));
    }
    Some(Command::SetSpeed { speed_mps })
}

fn drive(body: &mut Body) -> Option<Drive> {
    let given = body.required("session_id");
    let session_id = body.id("session_id", given);
    let given = body.required("sequence");
    let sequence = body.whole("sequence", given, 0, i64::MAX);
    let given = body.required("linear");
    let linear = body.number("linear", given, -1.0, 1.0);
    let given = body.required("angular");
    let angular = body.number("angular", given, -1.0, 1.0);
    let given = body.take("blade_on");
    let blade_on = body.flag("blade_on", given).unwrap_or_default();
    let ttl_ms = whole(body, "ttl_ms", 100, 2_000);
    Some(Drive {
        session_id: session_id?,
        sequence: u64::try_from(sequence?).ok()?,
        linear: linear?,
        angular: angular?,
        blade_on,
        ttl_ms: ttl_ms.unwrap_or(1_000),
    })
}

fn path_hash(body: &mut Body) -> Option<String> {
    let given = body.take("expected_path_hash");
    let wanted = "64 lower-case hexadecimal digits";
    word(body, "expected_path_hash", given, wanted, |text| {
        let digits = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        (text.len() == 64 && digits).then(|| text.to_owned())
    })
}

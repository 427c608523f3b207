//! What a command must pass before the vendor is asked: the limits of its kind
//! and what the mower declares.

use uuid::Uuid;

use crate::contract::{Capabilities, Command, CommandKind, Map, Pattern, Start};

/// The most areas one command may name.
const MOST_AREAS: usize = 60;

/// Says why a mower with these capabilities and this map does not take the
/// command: a machine code, then text.
pub(crate) fn command(
    command: &Command,
    capabilities: &Capabilities,
    map: &Map,
) -> Result<(), String> {
    let kind = command.kind();
    // A frame never travels in a stream, and a stop never asks what it may.
    if kind == CommandKind::ManualDrive {
        return Err("drive-session-needed: frames go through a drive session".to_owned());
    }
    if !capabilities.kinds.contains(&kind) {
        return Err(format!(
            "unsupported-kind: the mower does not take `{}`",
            kind.as_str()
        ));
    }
    match command {
        Command::StartMow(wanted) => start(wanted, capabilities, map),
        Command::SetBladeHeight { height_mm } => blade_height(*height_mm, capabilities),
        Command::SetSpeed { speed_mps } => speed(*speed_mps, capabilities),
        Command::ResetEmergency { on_site_confirmed } if !on_site_confirmed => {
            Err("invalid-parameters: `on_site_confirmed` must be true".to_owned())
        }
        _ => Ok(()),
    }
}

/// A start, or what is previewed as one.
pub(crate) fn start(wanted: &Start, capabilities: &Capabilities, map: &Map) -> Result<(), String> {
    areas(&wanted.area_ids, capabilities, map)?;
    if let Some(given) = &wanted.pattern {
        pattern(given, capabilities)?;
    }
    if let Some(height) = wanted.blade_height_mm {
        blade_height(height, capabilities)?;
    }
    if let Some(mps) = wanted.speed_mps {
        speed(mps, capabilities)?;
    }
    match wanted.duration_min {
        Some(minutes) if !(1..=1_440).contains(&minutes) => {
            Err("invalid-parameters: `duration_min` must be 1 to 1,440".to_owned())
        }
        _ => Ok(()),
    }
}

fn areas(area_ids: &[Uuid], capabilities: &Capabilities, map: &Map) -> Result<(), String> {
    if area_ids.is_empty() || area_ids.len() > MOST_AREAS {
        return Err(format!(
            "invalid-parameters: {} areas, 1 to {MOST_AREAS} are allowed",
            area_ids.len()
        ));
    }
    let known = |id: &Uuid| map.areas.iter().any(|area| area.id == *id);
    if let Some(unknown) = area_ids.iter().find(|id| !known(id)) {
        return Err(format!(
            "unknown-area: `{unknown}` is not on the mower's map"
        ));
    }
    let all = map.areas.iter().all(|area| area_ids.contains(&area.id));
    if !capabilities.areas && !all {
        return Err("capability: the mower mows all of its areas or none".to_owned());
    }
    Ok(())
}

fn pattern(pattern: &Pattern, capabilities: &Capabilities) -> Result<(), String> {
    if !capabilities.patterns {
        return Err("capability: the mower takes no pattern".to_owned());
    }
    if !(-180.0..=180.0).contains(&pattern.angle_deg) {
        return Err("invalid-parameters: `angle_deg` must be -180 to 180".to_owned());
    }
    if pattern.border_laps > 4 || pattern.obstacle_laps > 4 {
        return Err("invalid-parameters: at most 4 laps".to_owned());
    }
    let spacing = pattern.spacing_cm;
    within("spacing_cm", spacing, (5.0, 35.0), "invalid-parameters")?;
    within("spacing_cm", spacing, capabilities.spacing_cm, "capability")
}

fn blade_height(height_mm: u16, capabilities: &Capabilities) -> Result<(), String> {
    let (lowest, highest) = capabilities.blade_height_mm;
    let height = f64::from(height_mm);
    within("height_mm", height, (15.0, 100.0), "invalid-parameters")?;
    let range = (f64::from(lowest), f64::from(highest));
    within("height_mm", height, range, "capability")
}

fn speed(mps: f64, capabilities: &Capabilities) -> Result<(), String> {
    within("speed_mps", mps, (0.1, 1.2), "invalid-parameters")?;
    within("speed_mps", mps, capabilities.speed_mps, "capability")
}

/// Not-a-number is in no range.
fn within(name: &str, value: f64, (low, high): (f64, f64), code: &str) -> Result<(), String> {
    if (low..=high).contains(&value) {
        Ok(())
    } else {
        Err(format!(
            "{code}: `{name}` {value} is not in {low} to {high}"
        ))
    }
}

#[cfg(test)]
mod tests;

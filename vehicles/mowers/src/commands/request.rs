//! Reading what was asked: the whole union with its limits, every fault said.
//!
//! Who asks, for which account and how urgent is never read from here.

use std::fmt;

use uuid::Uuid;

use crate::contract::{Command, Pattern, Start};

pub(crate) mod fields;
mod strict;
mod union;

#[cfg(test)]
mod tests;

use fields::Fields;

/// Longest reason of a stop, in characters.
const REASON: usize = 200;

/// Everything wrong with a request, one sentence each.
#[derive(Clone, Debug, Default, PartialEq, Eq, thiserror::Error)]
pub struct Faults(pub Vec<String>);

impl fmt::Display for Faults {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0.join("; "))
    }
}

impl Faults {
    fn finish<T>(self, value: Option<T>) -> Result<T, Self> {
        match value {
            Some(value) if self.0.is_empty() => Ok(value),
            _ => Err(self),
        }
    }
}

/// A command as it was asked.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What to do.
    pub command: Command,
    /// The wished life in seconds, 1 to 300.
    pub ttl_seconds: Option<u16>,
    /// The caller's own id for it.
    pub correlation_id: Option<Uuid>,
    /// Whether somebody says that nobody is in the area.
    pub area_clear_confirmed: bool,
}

/// Reads the body of a command.
///
/// # Errors
/// Every fault found.
pub fn read(body: &[u8]) -> Result<Request, Faults> {
    let mut faults = Faults::default();
    let Some(mut fields) = Fields::open(body, &mut faults) else {
        return Err(faults);
    };
    let command = fields
        .required("command", &mut faults)
        .and_then(|value| Fields::object("command", value, &mut faults))
        .and_then(|fields| union::command(fields, &mut faults));
    let ttl_seconds = fields.integer("ttl_seconds", 1..=300, &mut faults);
    let correlation_id = fields.uuid("correlation_id", &mut faults);
    let area_clear_confirmed = fields
        .flag("area_clear_confirmed", &mut faults)
        .unwrap_or_default();
    fields.refuse_rest(&mut faults);
    faults.finish(command.map(|command| Request {
        command,
        ttl_seconds,
        correlation_id,
        area_clear_confirmed,
    }))
}

/// What a stop says besides that it is one. Nothing in a body can be so wrong
/// that it keeps a stop from being carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopWords {
    /// Cut to 200 characters.
    pub reason: Option<String>,
    /// Where it is an id.
    pub correlation_id: Option<Uuid>,
}

/// Reads the body of a stop as far as it can be read.
#[must_use]
pub fn read_stop(body: &[u8]) -> StopWords {
    let Ok(value) = serde_json::from_slice::<serde_json::Value>(body) else {
        return StopWords::default();
    };
    let reason = value.get("command").and_then(|command| {
        let reason = command.get("reason")?.as_str()?;
        Some(reason.chars().take(REASON).collect())
    });
    let correlation_id = value
        .get("correlation_id")
        .and_then(|id| Uuid::try_parse(id.as_str()?).ok());
    StopWords {
        reason,
        correlation_id,
    }
}

/// Reads the body of a reset: somebody stands next to the mower.
///
/// # Errors
/// Every fault found; that nobody confirmed is one.
pub fn read_reset(body: &[u8]) -> Result<Command, Faults> {
    let mut faults = Faults::default();
    let Some(mut fields) = Fields::open(body, &mut faults) else {
        return Err(faults);
    };
    let command = union::reset(&mut fields, &mut faults);
    fields.refuse_rest(&mut faults);
    faults.finish(command)
}

/// Reads the body of a path preview: areas and a pattern.
///
/// # Errors
/// Every fault found.
pub fn read_path(body: &[u8]) -> Result<(Vec<Uuid>, Option<Pattern>), Faults> {
    let mut faults = Faults::default();
    let Some(mut fields) = Fields::open(body, &mut faults) else {
        return Err(faults);
    };
    let areas = union::areas(&mut fields, &mut faults);
    let pattern = union::pattern(&mut fields, &mut faults);
    fields.refuse_rest(&mut faults);
    faults.finish(areas.map(|areas| (areas, pattern)))
}

/// Reads a proposal: what a start would be, and how long its dispatch may live.
///
/// # Errors
/// Every fault found.
pub fn read_plan(body: &[u8]) -> Result<Start, Faults> {
    let mut faults = Faults::default();
    let Some(mut fields) = Fields::open(body, &mut faults) else {
        return Err(faults);
    };
    let _: Option<u16> = fields.integer("ttl_seconds", 1..=300, &mut faults);
    let start = union::start(&mut fields, &mut faults);
    fields.refuse_rest(&mut faults);
    faults.finish(start)
}

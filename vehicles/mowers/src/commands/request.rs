//! Reading what was asked: the whole union with its limits, every fault said.
//!
//! Who asks, for which account and how urgent is never read from here.

use uuid::Uuid;

use crate::contract::{Command, Start};
use crate::service::body::Body;
use crate::service::problem::Problem;

mod union;

#[cfg(test)]
mod tests;

/// Longest reason of a stop, in characters.
const REASON: usize = 200;

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
/// [`Problem::Invalid`] with every fault, [`Problem::Unreadable`] when it is no JSON.
pub fn read(bytes: &[u8]) -> Result<Request, Problem> {
    read_with(bytes, union::command)
}

/// Reads the body of a command to many: a start need not name areas, which
/// differ from mower to mower; then it has none here. Nor can it name the one
/// path that all would drive.
///
/// # Errors
/// As those of [`read`].
pub fn read_each(bytes: &[u8]) -> Result<Request, Problem> {
    read_with(bytes, union::command_each)
}

fn read_with(
    bytes: &[u8],
    read: impl FnOnce(&mut Body) -> Option<Command>,
) -> Result<Request, Problem> {
    let mut body = Body::open(bytes)?;
    let given = body.required("command");
    let command = body.object("command", given, read);
    let ttl_seconds = union::whole(&mut body, "ttl_seconds", 1, 300);
    let given = body.take("correlation_id");
    let correlation_id = body.id("correlation_id", given);
    let given = body.take("area_clear_confirmed");
    let area_clear_confirmed = body.flag("area_clear_confirmed", given);
    body.end()?;
    Ok(Request {
        command: command.ok_or(Problem::Internal)?,
        ttl_seconds,
        correlation_id,
        area_clear_confirmed: area_clear_confirmed.unwrap_or_default(),
    })
}

/// What a stop says besides that it is one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StopWords {
    /// Cut to 200 characters.
    pub reason: Option<String>,
    /// Where it is an id.
    pub correlation_id: Option<Uuid>,
}

/// Reads the body of a stop as far as it can be read.
///
/// SAFETY-STOP: nothing in a body can be so wrong that it keeps a stop from
/// being carried out.
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
/// [`Problem::Invalid`] with every fault; that nobody confirmed is one.
pub fn read_reset(bytes: &[u8]) -> Result<Command, Problem> {
    let mut body = Body::open(bytes)?;
    let command = union::reset(&mut body);
    body.end()?;
    command.ok_or(Problem::Internal)
}

/// Reads the body of a path preview: a start of nothing but areas and a pattern.
///
/// # Errors
/// [`Problem::Invalid`] with every fault.
pub fn read_path(bytes: &[u8]) -> Result<Start, Problem> {
    let mut body = Body::open(bytes)?;
    let areas = union::areas(&mut body);
    let pattern = union::pattern(&mut body);
    body.end()?;
    Ok(Start {
        area_ids: areas.ok_or(Problem::Internal)?,
        pattern,
        ..Start::default()
    })
}

/// Reads a proposal: what a start would be, and how long its dispatch may live.
///
/// # Errors
/// [`Problem::Invalid`] with every fault.
pub fn read_plan(bytes: &[u8]) -> Result<Start, Problem> {
    let mut body = Body::open(bytes)?;
    let _: Option<u16> = union::whole(&mut body, "ttl_seconds", 1, 300);
    let start = union::start(&mut body);
    body.end()?;
    start.ok_or(Problem::Internal)
}

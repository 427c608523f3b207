//! What became of an operation whose answer was lost: what its record says.

use axum::http::StatusCode;
use jiff::Timestamp;
use uuid::Uuid;

use super::record::{OVERDUE_AFTER, Record};
use super::{bulk, issue, publish, store};
use crate::contract::{Priority, Status};
use crate::drive;
use crate::operations::{Answer, Effect};
use crate::service::Fleet;
use crate::service::problem::Problem;

#[cfg(test)]
mod tests;

/// How a command stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Settled {
    /// Its outcome may still come.
    Running,
    /// What it did, and how it is answered.
    Done(Effect, Answer),
}

/// How the command or bulk of an operation stands; `None` when there is none.
///
/// # Errors
/// [`Problem`] when the records cannot be read.
pub async fn settled(fleet: &Fleet, operation: Uuid) -> Result<Option<Settled>, Problem> {
    let now = fleet.now();
    if let Some(record) = store::find(&fleet.records, operation).await? {
        return by_record(&record, now).map(Some);
    }
    if let Some(head) = bulk::kept::find(&fleet.records, operation).await? {
        let records = store::of_bulk(&fleet.records, operation).await?;
        let answer = bulk::answer::of_records(&head, &records);
        let answer = Answer::json(StatusCode::ACCEPTED, &answer)?;
        let location = bulk::answer::location(operation);
        return Ok(Some(Settled::Done(Effect::Done, answer.at(location))));
    }
    if let Some(settled) = drive::settled(fleet, operation).await? {
        return Ok(Some(settled));
    }
    // Sent, and waiting for its record.
    Ok(fleet
        .control
        .spool
        .holds(operation)
        .then_some(Settled::Running))
}

fn by_record(record: &Record, now: Timestamp) -> Result<Settled, Problem> {
    let envelope = &record.envelope;
    let outcome = &record.outcome;
    let over = envelope
        .expires_at
        .saturating_add(OVERDUE_AFTER)
        .is_ok_and(|end| now > end);
    let says = |word: &str| {
        let reason = outcome.reason.as_deref().unwrap_or_default();
        outcome.status == Status::Failed && reason.starts_with(word)
    };
    let handed_on = || Ok(Settled::Done(Effect::Done, issue::accepted(record)?));
    if outcome.late.is_some() {
        return handed_on();
    }
    if says(publish::REFUSED) {
        let problem = Problem::BusUnavailable("nothing was sent".to_owned());
        return Ok(Settled::Done(Effect::None, problem.answer()));
    }
    if outcome.status == Status::Rejected && says_superseded(record) {
        let detail = "the mower was stopped while this was on its way".to_owned();
        let problem = Problem::StoppedSince(detail);
        return Ok(Settled::Done(Effect::None, problem.answer()));
    }
    // A device gateway has spoken: it was handed on.
    let unclear = outcome.status == Status::Pending || says(publish::UNCONFIRMED);
    if !unclear || envelope.priority == Priority::Emergency {
        return handed_on();
    }
    if !over {
        return Ok(Settled::Running);
    }
    let detail = "nobody knows whether the command was sent".to_owned();
    let problem = Problem::PublishUnconfirmed(detail);
    Ok(Settled::Done(Effect::Maybe, problem.answer()))
}

/// Ours alone: a device gateway that drops a queued command had it.
fn says_superseded(record: &Record) -> bool {
    let unsent = issue::superseded(record.envelope.issued_at).reason;
    record.outcome.reason == unsent
}

//! What became of an operation whose answer was lost: what its record says.

use axum::http::StatusCode;
use jiff::Timestamp;
use uuid::Uuid;

use super::bulk::answer;
use super::bulk::kept::{self, Head};
use super::record::{OVERDUE_AFTER, Record};
use super::unsent::{self, Had};
use super::{issue, publish, store};
use crate::contract::{CommandKind, Priority};
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
    if let Some(head) = kept::find(&fleet.records, operation).await? {
        let records = store::of_bulk(&fleet.records, operation).await?;
        return by_records(&head, &records, now).map(Some);
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
    if let Some(problem) = refusal(record) {
        return Ok(problem_of(&problem));
    }
    // A device gateway has spoken: it was handed on.
    let unclear = unsent::had(&record.outcome) == Had::Unclear;
    if !unclear || envelope.priority == Priority::Emergency {
        return Ok(Settled::Done(Effect::Done, issue::accepted(record)?));
    }
    Ok(match over(envelope.expires_at, now) {
        false => Settled::Running,
        true => problem_of(&nobody_knows()),
    })
}

/// How a command to many stands: it was handed on when one of them was.
fn by_records(head: &Head, records: &[Record], now: Timestamp) -> Result<Settled, Problem> {
    let is = |had: Had| records.iter().any(|it| unsent::had(&it.outcome) == had);
    let answered = || {
        let answer = Answer::json(StatusCode::ACCEPTED, &answer::of_records(head, records))?;
        let location = answer::location(head.bulk_id);
        Ok(Settled::Done(Effect::Done, answer.at(location)))
    };
    if head.kind == CommandKind::EmergencyStop {
        return answered();
    }
    let unclear = is(Had::Unclear);
    if unclear && !over(head.expires_at, now) {
        return Ok(Settled::Running);
    }
    if is(Had::Somebody) {
        return answered();
    }
    if unclear {
        return Ok(problem_of(&nobody_knows()));
    }
    // What was only not fit to be sent is said item by item.
    match records.iter().find_map(refusal) {
        Some(problem) => Ok(problem_of(&problem)),
        None => answered(),
    }
}

/// Why nobody had a command that was to be handed on at once.
fn refusal(record: &Record) -> Option<Problem> {
    let outcome = &record.outcome;
    let reason = outcome.reason.as_deref().unwrap_or_default();
    match unsent::had(outcome) {
        Had::Nobody if reason.starts_with(publish::REFUSED) => {
            Some(Problem::BusUnavailable("nothing was sent".to_owned()))
        }
        Had::Nobody if reason == unsent::STOPPED => Some(Problem::StoppedSince(
            "the mower was stopped while this was on its way".to_owned(),
        )),
        Had::Nobody if reason == unsent::NOT_HELD => Some(Problem::NotHeld),
        _ => None,
    }
}

fn nobody_knows() -> Problem {
    Problem::PublishUnconfirmed("nobody knows whether the command was sent".to_owned())
}

fn problem_of(problem: &Problem) -> Settled {
    Settled::Done(problem.effect(), problem.answer())
}

/// Whether a life is over, and the time in which its end may still be told.
fn over(expires_at: Timestamp, now: Timestamp) -> bool {
    let end = expires_at.saturating_add(OVERDUE_AFTER);
    end.is_ok_and(|end| now > end)
}

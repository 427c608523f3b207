//! Emergency stops: first the epoch in memory, then the bus, then the records.
//!
//! SAFETY-STOP: nothing here waits for the records, the gateway's answer for
//! longer than 300 ms, or anything of a request but its target. A stop is never
//! refused: not for its age, its place, its body or its repetition.

use std::sync::Arc;
use std::time::Duration;

use axum::http::StatusCode;
use jiff::Timestamp;
use uuid::Uuid;

use super::ask::Ask;
use super::bulk::kept::Head;
use super::issue::accepted_as;
use super::record::{Decided, Outcome, Record};
use super::request::StopWords;
use super::unsent::NOT_STOPPED;
use crate::contract::{Command, CommandKind, Envelope, Issuer, Priority};
use crate::crash::CrashPoint;
use crate::hierarchy::roster::Member;
use crate::operations::{Answer, Effect};
use crate::service::Fleet;
use crate::service::problem::Problem;

mod lookup;
pub mod many;
mod noted;
pub mod rate;
mod sending;
mod urgency;

#[cfg(test)]
mod tests;

use sending::{Sending, Told};

/// How long a stop may take to be confirmed before it is answered; it is
/// repeated beyond that.
const ANSWER_WITHIN: Duration = Duration::from_millis(2_000);

/// Stops one mower.
///
/// # Errors
/// [`Problem::NotStopped`] says whether it may still be moving;
/// [`Problem::NotFound`] when there is no such mower.
pub async fn one(
    fleet: &Arc<Fleet>,
    ask: &Ask,
    mower: Uuid,
    words: StopWords,
) -> Result<Answer, Problem> {
    let member = lookup::mower(fleet, mower).await?;
    let command_id = ask.operation.unwrap_or_else(Uuid::now_v7);
    let composed = compose(fleet, ask, &[member], &words, |_| command_id, None);
    let sent = send(fleet, None, composed).await;
    let (Some(record), Some(told)) = (sent.records.first(), sent.told.first()) else {
        return Err(Problem::Internal);
    };
    match told {
        Told::Queued => accepted_as(record, sent.recorded),
        told => {
            fleet.control.counters.stops_failed.add();
            let problem = not_stopped(told);
            tracing::error!(%mower, %command_id, "alarm: {problem}");
            Err(problem)
        }
    }
}

/// What became of stops.
struct Sent {
    records: Vec<Record>,
    /// In the order of the records.
    told: Vec<Told>,
    recorded: bool,
}

/// The records of stops of these mowers, whose epochs are raised by this very
/// call.
fn compose(
    fleet: &Fleet,
    ask: &Ask,
    members: &[Arc<Member>],
    words: &StopWords,
    id_of: impl Fn(Uuid) -> Uuid,
    bulk_id: Option<Uuid>,
) -> Vec<Record> {
    let now = fleet.now();
    let mowers: Vec<Uuid> = members.iter().map(|member| member.mower_id).collect();
    let epochs = fleet.control.epochs.raise(&mowers, now);
    for mower in &mowers {
        fleet.drives.stopped(*mower, now);
    }
    let lives = fleet.settings.lives();
    let expires_at = lives.end(CommandKind::EmergencyStop, None, now);
    let correlation_id = words.correlation_id.unwrap_or_else(Uuid::now_v7);
    let record = |(member, stop_epoch): (&Arc<Member>, u64)| Record {
        envelope: Envelope {
            command_id: id_of(member.mower_id),
            mower_id: member.mower_id,
            account_id: member.account_id.clone(),
            issued_by: ask.issuer.clone(),
            issued_at: now,
            expires_at,
            priority: Priority::Emergency,
            correlation_id,
            stop_epoch,
            // A stop yields to nothing, so nobody compares it.
            calm_epoch: 0,
            command: Command::EmergencyStop {
                reason: words.reason.clone(),
            },
        },
        bulk_id,
        plan_id: None,
        area_clear: None,
        decided: Decided {
            hierarchy_rev: member.hierarchy_rev,
            ..ask.decided.clone()
        },
        outcome: Outcome::PENDING,
    };
    members.iter().zip(epochs).map(record).collect()
}

/// Sends stops until the bus or a device gateway has each, or until it is time
/// to answer; then notes them.
async fn send(fleet: &Arc<Fleet>, head: Option<&Head>, records: Vec<Record>) -> Sent {
    fleet.crash.reached(CrashPoint::StopRaised).await;
    let envelopes: Vec<Envelope> = records.iter().map(|it| it.envelope.clone()).collect();
    let mut sending = Sending::start(Arc::clone(fleet), envelopes);
    let told = sending.wait(ANSWER_WITHIN).await;
    for told in &told {
        let counters = &fleet.control.counters;
        counters
            .commands
            .add(CommandKind::EmergencyStop, told.handed_on());
    }
    fleet.crash.reached(CrashPoint::StopPublished).await;
    let recorded = noted::note(fleet, head, &records).await;
    if let Some(stop) = records.first() {
        watch(fleet, &stop.envelope.issued_by);
    }
    Sent {
        records,
        told,
        recorded,
    }
}

/// Tells of whoever stops often. Nobody is hindered from it.
fn watch(fleet: &Fleet, issuer: &Issuer) {
    if fleet.control.stop_rate.is_often(&issuer.id, fleet.now()) {
        fleet.control.counters.stops_frequent.add();
        tracing::warn!(
            issuer = issuer.id,
            on_behalf_of = issuer.on_behalf_of,
            "somebody stopped more than {} times within an hour",
            rate::OFTEN
        );
    }
}

/// How a stop that nobody has is answered.
fn not_stopped(told: &Told) -> Problem {
    let (effect, known) = match told {
        Told::Queued | Told::Unclear(_) => (Effect::Maybe, "nobody confirmed the stop"),
        Told::No(_) => (Effect::None, "the stop reached nobody"),
    };
    let why = told.why();
    Problem::NotStopped {
        detail: format!(
            "{known}: {why}; it is repeated until its life ends, but do not wait: use the button on the mower"
        ),
        effect,
    }
}

/// The answer to a stop of many.
fn answered(answer: &impl serde::Serialize, bulk: Uuid) -> Result<Answer, Problem> {
    let answer = Answer::json(StatusCode::ACCEPTED, answer)?;
    Ok(answer.at(super::bulk::answer::location(bulk)))
}

/// How long after a time the records and the spool may take.
fn patience(stops: usize) -> Duration {
    let each = Duration::from_micros(50);
    let stops = u32::try_from(stops).unwrap_or(u32::MAX);
    Duration::from_millis(100).saturating_add(each.saturating_mul(stops))
}

/// Failed for good: nobody had it in its life.
fn given_up(told: &Told, now: Timestamp) -> Outcome {
    Outcome::ended(
        crate::contract::Status::Failed,
        format!("{NOT_STOPPED}: {}", told.why()),
        now,
    )
}

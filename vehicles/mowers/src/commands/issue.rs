//! One command to one mower: checked, written down, committed, and only then
//! published. A start is never published twice.

use std::sync::Arc;

use axum::http::StatusCode;
use jiff::Timestamp;
use sqlx::{AssertSqlSafe, Row as _};
use uuid::Uuid;

use super::ask::Ask;
use super::check::{self, Present};
use super::counters::HandedOn;
use super::record::{AreaClear, Decided, Outcome, Record};
use super::request::Request;
use super::{calming, epochs, presence, publish, room, status, store, unsent};
use crate::bus::Published;
use crate::contract::{Command, Envelope, Priority};
use crate::crash::CrashPoint;
use crate::operations::{self, Answer, Effect};
use crate::records::{Records, RecordsError};
use crate::service::Fleet;
use crate::service::problem::Problem;
use crate::service::settle::repeated;

#[cfg(test)]
mod tests;

/// Issues one command.
///
/// # Errors
/// A [`Problem`]; each says whether the mower may act.
pub async fn issue(
    fleet: &Arc<Fleet>,
    ask: Ask,
    mower: Uuid,
    request: Request,
) -> Result<Answer, Problem> {
    let id = ask.id()?;
    ask.in_time(fleet.now())?;
    check::kind(&ask, &request.command)?;
    let area_clear = check::area_clear(&ask, &request)?;
    fleet.crash.reached(CrashPoint::CommandChecked).await;
    let written = write(fleet, &ask, (id, mower), request, area_clear).await?;
    let record = match written {
        Written::Before(answer) => return Ok(answer),
        Written::Now(record) => record,
    };
    fleet.crash.reached(CrashPoint::CommandCommitted).await;
    let published = hand_on(fleet, &record).await;
    fleet.crash.reached(CrashPoint::CommandPublished).await;
    let result = conclude(fleet, &record, published).await;
    fleet.crash.reached(CrashPoint::CommandAnswered).await;
    result
}

enum Written {
    /// This operation was answered before.
    Before(Answer),
    Now(Box<Record>),
}

/// Writes the record and its operation in one transaction, with everything
/// compared inside it.
async fn write(
    fleet: &Fleet,
    ask: &Ask,
    (id, mower): (Uuid, Uuid),
    request: Request,
    area_clear: Option<AreaClear>,
) -> Result<Written, Problem> {
    let now = fleet.now();
    let mut change = fleet.records.begin().await?;
    let begun = operations::begin(&mut change, id, ask.row, now).await?;
    if let Some(answer) = repeated(begun, ask.row)? {
        return Ok(Written::Before(answer));
    }
    let kind = request.command.kind();
    let placed = placed(&mut change, mower).await?;
    let revision = placed.revision;
    let epochs = &fleet.control.epochs;
    // Another replica may have stopped it.
    epochs.learn(mower, placed.stop_epoch);
    let present = Present {
        mower,
        revision,
        stop_epoch: epochs.current(mower),
        stopped_since: epochs.stopped_since(mower, ask.asked_at),
    };
    let mut command = request.command;
    check::present(ask, kind, present)?;
    check::bind(ask, &mut command)?;
    let calm_epoch = match kind.calms() {
        true => {
            let raised = calming::raise(&mut change, &[mower]).await?;
            raised.get(&mower).copied().ok_or(Problem::Internal)?
        }
        false => {
            let calmed = [(mower, placed.calm_epoch)];
            if !room::take(&mut change, &calmed, now).await?.is_empty() {
                return Err(Problem::BusUnavailable(room::FULL.to_owned()));
            }
            placed.calm_epoch
        }
    };
    let lives = fleet.settings.lives();
    let record = Record {
        envelope: Envelope {
            command_id: id,
            mower_id: mower,
            account_id: placed.account_id,
            issued_by: ask.issuer.clone(),
            issued_at: now,
            expires_at: lives.end(kind, request.ttl_seconds, now),
            priority: Priority::of(kind),
            correlation_id: request.correlation_id.unwrap_or_else(Uuid::now_v7),
            // The approved fence may come from a replica that has heard of a later stop.
            stop_epoch: ask
                .approval
                .as_ref()
                .map_or(present.stop_epoch, |approved| {
                    approved.fence.stop_epoch.max(present.stop_epoch)
                }),
            calm_epoch,
            command,
        },
        bulk_id: None,
        plan_id: ask.approval.as_ref().map(|approved| approved.plan),
        area_clear,
        decided: Decided {
            hierarchy_rev: revision,
            ..ask.decided.clone()
        },
        outcome: Outcome::PENDING,
    };
    store::insert(&mut change, std::slice::from_ref(&record)).await?;
    // Whether it is committed or not: nothing was published, nothing will be.
    change.commit().await.map_err(RecordsError::from)?;
    Ok(Written::Now(Box::new(record)))
}

/// What the rows say of a mower.
struct Placed {
    account_id: String,
    revision: u64,
    stop_epoch: u64,
    calm_epoch: u64,
}

async fn placed(change: &mut sqlx::AnyConnection, mower: Uuid) -> Result<Placed, Problem> {
    let sql = format!(
        "SELECT m.account_id, m.hierarchy_rev, {} AS stop_epoch,
             COALESCE(c.epoch, 0) AS calm_epoch
         FROM mowers m LEFT JOIN calm_epochs c ON c.mower_id = m.id WHERE m.id = $1",
        epochs::RECORDED
    );
    let row = sqlx::query(AssertSqlSafe(sql))
        .bind(mower.to_string())
        .fetch_optional(&mut *change)
        .await?
        .ok_or(Problem::NotFound)?;
    Ok(Placed {
        account_id: row.try_get("account_id")?,
        revision: store::unsigned(row.try_get("hierarchy_rev")?)?,
        stop_epoch: store::unsigned(row.try_get("stop_epoch")?)?,
        calm_epoch: store::unsigned(row.try_get("calm_epoch")?)?,
    })
}

/// Publishes what is on record, unless nobody holds the mower or a stop came
/// meanwhile.
///
/// SAFETY-STOP: a stop raises the epoch before it is published, and the command
/// carries the epoch it was checked against: so either it is not published, or
/// the mower's gateway refuses it.
pub(super) async fn hand_on(fleet: &Fleet, record: &Record) -> Handed {
    let envelope = &record.envelope;
    let kind = envelope.command.kind();
    let counters = &fleet.control.counters;
    // What calms goes out whatever there is to doubt.
    if !kind.calms() && presence::is_nobody(fleet, envelope).await {
        counters.commands.add(kind, HandedOn::Refused);
        return Handed::NotHeld;
    }
    if kind.moves() && fleet.control.epochs.current(envelope.mower_id) > envelope.stop_epoch {
        counters.commands.add(kind, HandedOn::Superseded);
        return Handed::Superseded;
    }
    let now = fleet.now();
    let published = publish::publish(&*fleet.bus, envelope, now, publish::CONFIRM).await;
    let end = match &published {
        Published::Stored { .. } => HandedOn::Queued,
        Published::Refused(_) => HandedOn::Refused,
        Published::Unconfirmed(_) => HandedOn::Unconfirmed,
    };
    counters.commands.add(kind, end);
    Handed::Tried(published)
}

/// What became of handing a command on.
pub(super) enum Handed {
    /// The mower was stopped first: nothing was published.
    Superseded,
    /// Nobody holds the mower: nothing was published.
    NotHeld,
    /// It was published once.
    Tried(Published),
}

impl Handed {
    /// What it makes of the record; `None`: the bus has it.
    pub(super) fn outcome(&self, now: Timestamp) -> Option<Outcome> {
        match self {
            Self::Superseded => Some(superseded(now)),
            Self::NotHeld => Some(not_held(now)),
            Self::Tried(published) => publish::failed(published, now),
        }
    }

    /// How it is answered; `None`: the bus has it.
    pub(super) fn problem(&self) -> Option<Problem> {
        match self {
            Self::Superseded => Some(Problem::StoppedSince(
                "the mower was stopped while this was on its way; nothing was sent".to_owned(),
            )),
            Self::NotHeld => Some(Problem::NotHeld),
            Self::Tried(published) => publish::problem(published),
        }
    }
}

/// The end of a command that a stop overtook before it was sent.
pub(super) fn superseded(now: Timestamp) -> Outcome {
    Outcome::ended(crate::contract::Status::Rejected, unsent::STOPPED, now)
}

/// The end of a command to a mower that nobody holds.
fn not_held(now: Timestamp) -> Outcome {
    Outcome::ended(crate::contract::Status::Failed, unsent::NOT_HELD, now)
}

async fn conclude(fleet: &Fleet, record: &Record, handed: Handed) -> Result<Answer, Problem> {
    let now = fleet.now();
    let id = record.envelope.command_id;
    if let Some(outcome) = handed.outcome(now)
        && let Err(error) = status::close(&fleet.records, &[id], &outcome).await
    {
        tracing::error!(%id, "the end of a command is not recorded: {error}");
    }
    let Some(problem) = handed.problem() else {
        let answer = accepted(record)?;
        finish(&fleet.records, id, Effect::Done, &answer, now).await;
        return Ok(answer);
    };
    // What may have happened is settled by its record.
    if problem.effect() != Effect::Maybe {
        finish(&fleet.records, id, problem.effect(), &problem.answer(), now).await;
    }
    Err(problem)
}

/// The answer of a command that the bus has.
pub(super) fn accepted(record: &Record) -> Result<Answer, Problem> {
    accepted_as(record, true)
}

/// The answer of a stop that somebody has, and whether it is on record.
pub(super) fn accepted_as(record: &Record, recorded: bool) -> Result<Answer, Problem> {
    let answer = Answer::json(StatusCode::ACCEPTED, &record.accepted(recorded))?;
    Ok(answer.at(location(record.envelope.command_id)))
}

/// Where the record of a command is read.
fn location(command: Uuid) -> String {
    format!("/api/v1/fleet/commands/{command}")
}

/// Notes how an operation ended. When that fails its record settles it.
pub(super) async fn finish(
    records: &Records,
    id: Uuid,
    effect: Effect,
    answer: &Answer,
    now: Timestamp,
) {
    if let Err(error) = operations::finish(records.pool(), id, effect, answer, now).await {
        tracing::error!(%id, "the end of an operation is not recorded: {error}");
    }
}

/// The command of a reset that was read and confirmed.
#[must_use]
pub fn reset(command: Command) -> Request {
    Request {
        command,
        ttl_seconds: None,
        correlation_id: None,
        area_clear_confirmed: false,
    }
}

//! One command to the mowers of a site or a group: each member is judged, those
//! that are allowed get a record of one transaction, and are published after it.
//!
//! Members the caller cannot see show in no byte of the answer, and nothing is
//! written of members the caller may not command.

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::StatusCode;
use futures_util::StreamExt;
use interlock_guard::Granted;
use interlock_guard::evaluations::{Question, Verdict};
use jiff::Timestamp;
use uuid::Uuid;

use super::ask::Ask;
use super::paced::Waiting;
use super::record::{AreaClear, Record};
use super::request::Request;
use super::{calming, check, issue, paced, room, status, store};
use crate::contract::{Command, CommandKind};
use crate::crash::CrashPoint;
use crate::hierarchy::model::MOWER;
use crate::hierarchy::roster::Member;
use crate::operations::{self, Answer, Effect};
use crate::records::RecordsError;
use crate::service::Fleet;
use crate::service::problem::Problem;
use crate::service::settle::repeated;

pub mod answer;
mod areas;
mod compose;
pub mod kept;
pub(in crate::commands) mod places;
mod skip;

#[cfg(test)]
mod tests;

use answer::{BulkAnswer, Item};
use areas::Areas;
use compose::Found;
use kept::{Head, Target};
use places::Place;

/// Publishes under way at once.
const AT_ONCE: usize = 64;

/// A member that may be commanded.
struct Candidate {
    member: Arc<Member>,
    /// The revision that was judged.
    judged: Option<u64>,
    /// The highest revision of the mower and all that it lies in, as it was before.
    highest: u64,
}

/// What is decided before anything is written.
struct Plan {
    candidates: Vec<Candidate>,
    items: Vec<Item>,
}

/// Commands the members of a container.
///
/// # Errors
/// A [`Problem`] when none of them was commanded.
pub async fn bulk(
    fleet: &Arc<Fleet>,
    ask: Ask,
    granted: &Granted,
    target: Target,
    request: Request,
) -> Result<Answer, Problem> {
    let id = ask.id()?;
    ask.in_time(fleet.now())?;
    check::kind(&ask, &request.command)?;
    let area_clear = check::area_clear(&ask, &request)?;
    let kind = request.command.kind();
    let members = fleet.roster.members(target.container());
    // Read before the gateway is asked: what changes from here on makes it stale.
    let before = before(fleet, &members).await?;
    let verdicts = judge(fleet, granted, kind, &members).await?;
    let plan = plan(fleet, kind, members, verdicts, &before);
    let most = usize::try_from(fleet.settings.limits.bulk).unwrap_or(usize::MAX);
    if plan.candidates.len() + plan.items.len() > most {
        return Err(Problem::BulkTooLarge(format!(
            "one command may go to {most} mowers at most; name a smaller group"
        )));
    }
    let mowers = plan.mowers();
    let areas = match &request.command {
        Command::StartMow(start) => areas::of(fleet, &start.area_ids, &mowers).await,
        _ => HashMap::new(),
    };
    let bulk = Bulk {
        ask,
        target,
        request,
        area_clear,
        areas,
    };
    bulk.run(fleet, id, plan).await
}

/// The highest revision of each mower and all that it lies in.
async fn before(fleet: &Fleet, members: &[Arc<Member>]) -> Result<HashMap<Uuid, Place>, Problem> {
    let mowers: Vec<Uuid> = members.iter().map(|it| it.mower_id).collect();
    let mut records = fleet.records.pool().acquire().await?;
    Ok(places::of(&mut records, &mowers).await?)
}

/// One verdict for each member: its kind, and whether it is visible.
async fn judge(
    fleet: &Fleet,
    granted: &Granted,
    kind: CommandKind,
    members: &[Arc<Member>],
) -> Result<Vec<Verdict>, Problem> {
    let ids: Vec<String> = members.iter().map(|it| it.mower_id.to_string()).collect();
    let questions: Vec<Question<'_>> = ids
        .iter()
        .map(|id| Question {
            action: kind.as_str(),
            kind: MOWER,
            id,
        })
        .collect();
    fleet.judge(granted, &questions).await
}

fn plan(
    fleet: &Fleet,
    kind: CommandKind,
    members: Vec<Arc<Member>>,
    verdicts: Vec<Verdict>,
    before: &HashMap<Uuid, Place>,
) -> Plan {
    let now = fleet.now();
    let mut plan = Plan {
        candidates: Vec::new(),
        items: Vec::new(),
    };
    for (member, verdict) in members.into_iter().zip(verdicts) {
        let mower = member.mower_id;
        if !verdict.visible {
            continue;
        }
        if !verdict.allowed {
            plan.items.push(Item::forbidden(mower, verdict.problem));
            continue;
        }
        let seen = fleet.telemetry.latest(mower);
        match skip::reason(kind, seen.as_deref(), now) {
            Some(reason) => plan.items.push(Item::skipped(mower, reason)),
            None => plan.candidates.push(Candidate {
                member,
                judged: verdict.revision,
                highest: before.get(&mower).map_or(0, |place| place.highest),
            }),
        }
    }
    plan
}

/// A bulk command with everything that its records need.
struct Bulk {
    ask: Ask,
    target: Target,
    request: Request,
    area_clear: Option<AreaClear>,
    /// What each candidate of a start is to mow.
    areas: HashMap<Uuid, Areas>,
}

/// What a transaction wrote.
struct Written {
    head: Head,
    /// Those to send, each with its turn.
    records: Vec<(Timestamp, Waiting)>,
    /// Those that were refused as they were written.
    refused: Vec<Record>,
    items: Vec<Item>,
}

impl Plan {
    fn mowers(&self) -> Vec<Uuid> {
        let candidates = self.candidates.iter();
        candidates.map(|it| it.member.mower_id).collect()
    }
}

impl Bulk {
    async fn run(self, fleet: &Arc<Fleet>, id: Uuid, plan: Plan) -> Result<Answer, Problem> {
        fleet.crash.reached(CrashPoint::CommandChecked).await;
        let now = fleet.now();
        let mut change = fleet.records.begin().await?;
        let begun = operations::begin(&mut change, id, self.ask.row, now).await?;
        if let Some(answer) = repeated(begun, self.ask.row)? {
            return Ok(answer);
        }
        let account_id = places::account(&mut change, &self.target).await?;
        let mowers = plan.mowers();
        let places = places::of(&mut change, &mowers).await?;
        let mut found = Found::at(places);
        if self.request.command.kind().calms() {
            found.calmed = calming::raise(&mut change, &mowers).await?;
        } else {
            found.full = room::take(&mut change, &found.calm_epochs(), now).await?;
        }
        let written = self.compose(fleet, (id, account_id), plan, &found, now);
        let sent = written.records.iter().map(|(_, it)| &it.record);
        let records: Vec<Record> = sent.chain(&written.refused).cloned().collect();
        kept::insert(&mut change, &written.head).await?;
        store::insert(&mut change, &records).await?;
        change.commit().await.map_err(RecordsError::from)?;
        fleet.crash.reached(CrashPoint::CommandCommitted).await;
        let answered = self.publish(fleet, written).await;
        fleet.crash.reached(CrashPoint::CommandAnswered).await;
        answered
    }

    /// Publishes those whose turn has come, leaves the others to their turn, and
    /// answers.
    async fn publish(&self, fleet: &Arc<Fleet>, written: Written) -> Result<Answer, Problem> {
        let Written {
            head,
            records,
            refused: _,
            mut items,
        } = written;
        let (now, later): (Vec<_>, Vec<_>) = records
            .into_iter()
            .partition(|(turn, _)| *turn <= head.issued_at);
        let waiting = later.len();
        items.extend(later.iter().map(|(_, it)| Item::accepted(&it.record)));
        fleet.control.paced.add(later);
        let handing = now
            .into_iter()
            .map(|(_, Waiting { record, .. })| async move {
                let handed = issue::hand_on(fleet, &record).await;
                (record, handed)
            });
        let handed: Vec<_> = futures_util::stream::iter(handing)
            .buffer_unordered(AT_ONCE)
            .collect()
            .await;
        let stored = handed.iter().filter(|(_, it)| paced::is_stored(it)).count();
        let mut worst = None;
        for (record, handed) in &handed {
            let id = record.envelope.command_id;
            let Some(outcome) = handed.outcome(fleet.now()) else {
                items.push(Item::accepted(record));
                continue;
            };
            let reason = outcome.reason.as_deref().unwrap_or_default();
            items.push(Item::failed(record.envelope.mower_id, Some(id), reason));
            if let Err(error) = status::close(&fleet.records, &[id], &outcome).await {
                tracing::error!(%id, "the end of a command is not recorded: {error}");
            }
            // What may have happened says more than what did not.
            let problem = handed.problem();
            let unclear = |it: &Problem| it.effect() == Effect::Maybe;
            if worst.is_none() || problem.as_ref().is_some_and(unclear) {
                worst = problem;
            }
        }
        if stored + waiting == 0
            && let Some(problem) = worst
        {
            if problem.effect() != Effect::Maybe {
                let answer = problem.answer();
                self.finish(fleet, &head, problem.effect(), &answer).await;
            }
            return Err(problem);
        }
        let kept: Vec<Item> = items.iter().filter(|it| it.has_record()).cloned().collect();
        // Nothing of those who were refused is written down.
        let answer = self.answer(&BulkAnswer::new(&head, kept))?;
        self.finish(fleet, &head, Effect::Done, &answer).await;
        self.answer(&BulkAnswer::new(&head, items))
    }

    fn answer(&self, answer: &BulkAnswer) -> Result<Answer, Problem> {
        let location = answer::location(answer.bulk_id());
        Ok(Answer::json(StatusCode::ACCEPTED, answer)?.at(location))
    }

    async fn finish(&self, fleet: &Fleet, head: &Head, effect: Effect, answer: &Answer) {
        issue::finish(&fleet.records, head.bulk_id, effect, answer, fleet.now()).await;
    }
}

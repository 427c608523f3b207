//! Stopping all mowers of a container that the caller may see.

use std::sync::Arc;

use interlock_guard::Granted;
use interlock_guard::evaluations::{OBSERVE, Question};
use tokio::time::timeout;
use uuid::Uuid;

use super::{Told, answered, compose, lookup, not_stopped, send};
use crate::commands::ask::Ask;
use crate::commands::bulk::answer::{BulkAnswer, Item};
use crate::commands::bulk::kept::{Head, Target};
use crate::commands::request::StopWords;
use crate::contract::CommandKind;
use crate::hierarchy::model::MOWER;
use crate::hierarchy::roster::Member;
use crate::operations::{Answer, Effect};
use crate::service::Fleet;
use crate::service::problem::Problem;

/// Whom a stop is for.
enum Judged {
    /// These, and the caller may see them.
    Visible(Vec<Arc<Member>>),
    /// All of the container: nobody could say what the caller may see.
    Degraded(Vec<Arc<Member>>),
}

/// Stops the mowers of a container.
///
/// # Errors
/// [`Problem::NotStopped`] when nobody has any of the stops;
/// [`Problem::NotFound`] when there is no such container.
pub async fn many(
    fleet: &Arc<Fleet>,
    ask: &Ask,
    granted: &Granted,
    target: Target,
    words: StopWords,
) -> Result<Answer, Problem> {
    let mut members = fleet.roster.members(target.container());
    if members.is_empty() && !fleet.roster.is_loaded() {
        return Err(Problem::NotStopped {
            detail: "this replica does not know its mowers yet; nothing was sent: \
                     use the buttons on the mowers"
                .to_owned(),
            effect: Effect::None,
        });
    }
    if members.is_empty() {
        lookup::container(fleet, &target).await?;
    }
    if let Some(tenants) = ask.tenants.as_ref().filter(|tenants| !tenants.is_empty()) {
        members.retain(|member| tenants.contains(&member.account_id));
    }
    let (members, degraded) = match judge(fleet, granted, &target, members).await {
        Judged::Visible(members) => (members, false),
        Judged::Degraded(members) => {
            fleet.control.counters.stops_degraded.add();
            (members, true)
        }
    };
    let bulk_id = ask.operation.unwrap_or_else(Uuid::now_v7);
    let id_of = |mower: Uuid| Uuid::new_v5(&bulk_id, mower.as_bytes());
    let composed = compose(fleet, ask, &members, &words, id_of, Some(bulk_id));
    let now = fleet.now();
    let account = members.first().map(|member| member.account_id.clone());
    let head = Head {
        bulk_id,
        // Without a member nothing is written, and nobody asks for it.
        account_id: account.unwrap_or_default(),
        kind: CommandKind::EmergencyStop,
        target,
        issued_at: now,
        expires_at: fleet
            .settings
            .lives()
            .end(CommandKind::EmergencyStop, None, now),
    };
    let sent = send(fleet, Some(&head), composed).await;
    let stops = sent.records.iter().zip(&sent.told);
    let items = stops.map(|(record, told)| match told {
        Told::Queued => Item::accepted(record),
        told => {
            let id = Some(record.envelope.command_id);
            let reason = format!("not-stopped, may still be moving: {}", told.why());
            Item::failed(record.envelope.mower_id, id, &reason)
        }
    });
    let failed: Vec<&Told> = sent.told.iter().filter(|it| **it != Told::Queued).collect();
    let count = u64::try_from(failed.len()).unwrap_or(u64::MAX);
    fleet.control.counters.stops_failed.add_many(count);
    if !failed.is_empty() && failed.len() == sent.told.len() {
        return Err(none_stopped(&failed));
    }
    let answer = BulkAnswer::new(&head, items.collect()).recorded(sent.recorded);
    match degraded {
        true => answered(&answer.degraded(), bulk_id),
        false => answered(&answer, bulk_id),
    }
}

/// All of the container when the caller may see it, else those that it may see.
///
/// SAFETY-STOP: who cannot be asked in time does not hold a stop up; the gateway
/// has judged the container, and the members are of its account.
async fn judge(
    fleet: &Fleet,
    granted: &Granted,
    target: &Target,
    members: Vec<Arc<Member>>,
) -> Judged {
    let id = target.id();
    let whole = Question {
        action: OBSERVE,
        kind: "Scope",
        id: &id,
    };
    match visible(fleet, granted, &[whole]).await.as_deref() {
        Some([true]) => return Judged::Visible(members),
        Some(_) => {}
        None => return Judged::Degraded(members),
    }
    let ids: Vec<String> = members.iter().map(|it| it.mower_id.to_string()).collect();
    let each: Vec<Question<'_>> = ids
        .iter()
        .map(|id| Question {
            action: OBSERVE,
            kind: MOWER,
            id,
        })
        .collect();
    match visible(fleet, granted, &each).await {
        Some(seen) => {
            let pairs = members.into_iter().zip(seen);
            Judged::Visible(pairs.filter(|(_, seen)| *seen).map(|(it, _)| it).collect())
        }
        None => Judged::Degraded(members),
    }
}

async fn visible(
    fleet: &Fleet,
    granted: &Granted,
    questions: &[Question<'_>],
) -> Option<Vec<bool>> {
    let within = fleet.settings.judged_within;
    match timeout(within, fleet.gateway.judge(granted, questions)).await {
        Ok(Ok(verdicts)) => Some(verdicts.into_iter().map(|it| it.visible).collect()),
        Ok(Err(error)) => {
            tracing::error!("alarm: a stop is decided without the gateway: {error}");
            None
        }
        Err(_) => {
            tracing::error!("alarm: a stop is decided without the gateway: no answer in time");
            None
        }
    }
}

/// The answer when nobody has any: what may have happened says more.
fn none_stopped(failed: &[&Told]) -> Problem {
    let unclear = failed.iter().find(|told| matches!(told, Told::Unclear(_)));
    match unclear.or(failed.first()) {
        Some(told) => not_stopped(told),
        None => Problem::NotStopped {
            detail: "no stop was sent".to_owned(),
            effect: Effect::None,
        },
    }
}

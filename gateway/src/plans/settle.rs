//! Settles what nobody saw end: plans in doubt and keys in doubt.
//!
//! The service is asked about the operation; its word ends the doubt. An
//! operation that it never saw is tombstoned by the question, so that the
//! packet that was on its way is refused when it comes.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use interlock_surface::{Class, Row};
use jiff::Timestamp;
use tokio::time::MissedTickBehavior;
use tracing::{error, info, warn};
use uuid::Uuid;

use super::handlers::{kept, location};
use super::{Lease, Plan, PlanError, PlanView, SettleAnswer, State};
use crate::crash::CrashPoint;
use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::idempotency::{KeyId, KeyRecord, StoredAnswer};
use crate::problem::{Kind, Problem};
use crate::store::{StoreError, Swap};

mod word;

use word::{Word, ask, until};

/// How often the store is searched for what is in doubt.
const EVERY: Duration = Duration::from_secs(1);
/// How many are taken up in one round.
const BATCH: u32 = 32;
/// How many of them are asked about at once.
const AT_ONCE: usize = 8;

/// Settles for ever, plans and keys each at their own pace: one service that
/// hangs holds nobody else up.
pub(crate) async fn keep_settling(gateway: Arc<Gateway>) {
    tokio::join!(every(|| plans(&gateway)), every(|| keys(&gateway)),);
}

async fn every<F: Future<Output = Result<(), StoreError>>>(round: impl Fn() -> F) {
    let mut ticks = tokio::time::interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match round().await {
            // A store that is gone is told of elsewhere; the doubt waits.
            Ok(())
            | Err(StoreError::Unavailable { .. } | StoreError::TimedOut | StoreError::Busy) => {}
            Err(cause) => error!(%cause, "what is in doubt cannot be looked up"),
        }
    }
}

async fn plans(gateway: &Arc<Gateway>) -> Result<(), StoreError> {
    let now = gateway.clock.now();
    let doubtful = gateway.store.plans.unsettled(now, BATCH).await?;
    let settling = doubtful.into_iter().map(|doubtful| plan(gateway, doubtful));
    stream::iter(settling)
        .for_each_concurrent(AT_ONCE, |settled| settled)
        .await;
    Ok(())
}

async fn keys(gateway: &Arc<Gateway>) -> Result<(), StoreError> {
    let now = gateway.clock.now();
    let doubtful = gateway.store.keys.unsettled(now, BATCH).await?;
    let settling = doubtful.iter().map(|(id, record)| key(gateway, id, record));
    stream::iter(settling)
        .for_each_concurrent(AT_ONCE, |settled| settled)
        .await;
    Ok(())
}

/// Settles a plan, if no other settler is at it.
pub(crate) async fn plan(gateway: &Arc<Gateway>, plan: Plan) {
    if let Err(cause) = try_plan(gateway, plan).await {
        warn!(%cause, "a plan stays in doubt");
    }
}

async fn try_plan(gateway: &Arc<Gateway>, plan: Plan) -> Result<(), Problem> {
    let now = gateway.clock.now();
    let expected = plan.revision;
    let lease = Lease {
        owner: format!("{}/settler", gateway.instance),
        until: until(gateway, &plan.service, now),
    };
    let next = Lease {
        owner: lease.owner.clone(),
        until: now,
    };
    let taken = match plan.begin_settle(now, lease) {
        Ok(taken) => taken,
        Err(PlanError::Leased { .. } | PlanError::WrongState { .. }) => return Ok(()),
        Err(cause) => return Err(cause.into()),
    };
    if gateway.store.plans.replace(&taken, expected).await? == Swap::Lost {
        return Ok(());
    }
    let Some(operation) = taken.state.operation().map(|operation| operation.id) else {
        return Ok(());
    };
    gateway.crash.reached(CrashPoint::BeforeSettle);
    let word = ask(gateway, &taken.service, operation).await;
    gateway.crash.reached(CrashPoint::AfterSettle);
    // Nothing found out: whoever comes next may ask at once.
    let (word, failed) = match word {
        Ok(word) => (word, None),
        Err(cause) => (Word::Running, Some(cause)),
    };
    let answer = match word {
        Word::Done(answer) => SettleAnswer::Accepted {
            mission_id: operation.to_string(),
            answer,
        },
        Word::Refused { reason, effect } => SettleAnswer::Refused { reason, effect },
        Word::Tombstoned(effect) => SettleAnswer::Tombstoned { effect },
        Word::Running => SettleAnswer::Running { lease: next },
    };
    let revision = taken.revision;
    let settled = taken.settle(operation, answer, gateway.clock.now())?;
    let swapped = gateway.store.plans.replace(&settled, revision).await? == Swap::Swapped;
    if let Some(cause) = failed {
        return Err(cause);
    }
    if swapped && settled.settle_after().is_none() {
        gateway.memory.changed(&settled);
        info!(plan = %settled.id, status = %settled.status(), operation = %operation, "plan settled");
    }
    Ok(())
}

/// Settles a key, if no other settler is at it.
pub(crate) async fn key(gateway: &Arc<Gateway>, id: &KeyId, record: &KeyRecord) {
    if let Err(cause) = try_key(gateway, id, record).await {
        warn!(%cause, "an idempotency key stays in doubt");
    }
}

async fn try_key(gateway: &Arc<Gateway>, id: &KeyId, record: &KeyRecord) -> Result<(), Problem> {
    let now = gateway.clock.now();
    let claim = Uuid::new_v4();
    let Some(taken) =
        record
            .clone()
            .taken_up(claim, until(gateway, &record.subject.service, now), now)
    else {
        return Ok(());
    };
    let keys = &gateway.store.keys;
    if keys.replace(id, record.claim, &taken).await? == Swap::Lost {
        return Ok(());
    }
    let verdict = verdict(gateway, &taken).await;
    let swapped = match &verdict {
        Ok(Verdict::Answered(answer)) => {
            let answered = taken.answered(answer.clone());
            keys.replace(id, claim, &answered).await
        }
        Ok(Verdict::Nothing) => keys.release(id, claim).await,
        // Whoever comes next may ask at once.
        Ok(Verdict::Open) | Err(_) => {
            let open = taken.let_go(gateway.clock.now());
            keys.replace(id, claim, &open).await
        }
    };
    // A settler that was faster has its own word.
    let _lost = swapped?;
    verdict.map(drop)
}

/// What became of a keyed call.
enum Verdict {
    /// It ended like this.
    Answered(StoredAnswer),
    /// Nothing happened.
    Nothing,
    /// Still nobody knows.
    Open,
}

async fn verdict(gateway: &Arc<Gateway>, record: &KeyRecord) -> Result<Verdict, Problem> {
    let subject = &record.subject;
    let Some(row) = interlock_surface::row(&subject.row) else {
        return Ok(Verdict::Open);
    };
    let Some(plan) = subject.plan else {
        let word = ask(gateway, &subject.service, subject.operation).await?;
        return Ok(match word {
            Word::Done(answer) => Verdict::Answered(answer),
            Word::Refused {
                effect: Effect::None,
                ..
            }
            | Word::Tombstoned(Effect::None) => Verdict::Nothing,
            Word::Refused { .. } | Word::Tombstoned(_) => {
                Verdict::Answered(given_up(subject.operation))
            }
            Word::Running => Verdict::Open,
        });
    };
    let now = gateway.clock.now();
    let mut found = gateway.store.plans.get(plan).await?;
    if let Some(doubtful) = found
        .as_ref()
        .filter(|plan| in_doubt(plan, subject.operation))
    {
        self::plan(gateway, doubtful.clone()).await;
        found = gateway.store.plans.get(plan).await?;
    }
    Ok(from_plan(row, found, subject.operation, now))
}

fn in_doubt(plan: &Plan, operation: Uuid) -> bool {
    let doubtful = matches!(
        plan.state,
        State::Unknown { .. } | State::Dispatching { .. }
    );
    doubtful
        && plan
            .state
            .operation()
            .is_some_and(|under_way| under_way.id == operation)
}

/// The plan is finished before its key: what the key was about is read off it.
fn from_plan(row: &Row, plan: Option<Plan>, operation: Uuid, now: Timestamp) -> Verdict {
    let Some(plan) = plan else {
        return Verdict::Nothing;
    };
    match row.class {
        Class::Plan => Verdict::Answered(StoredAnswer {
            status: row.success,
            content_type: Some("application/json".to_owned()),
            location: location(row, plan.id),
            body: PlanView::of(&plan, now).as_json().to_string().into_bytes(),
            secret_stripped: false,
        }),
        // Decided by this call or not, the plan says so: a decision of somebody
        // else is no answer to it. A code is not shown again.
        Class::Approval if decided_by(&plan, operation) => Verdict::Answered(kept(row, &plan, now)),
        Class::GatedWrite if in_doubt(&plan, operation) => Verdict::Open,
        Class::GatedWrite => match &plan.state {
            State::Dispatched {
                operation: done,
                answer,
                ..
            } if done.id == operation => Verdict::Answered(answer.clone()),
            State::Refused {
                operation: done,
                refusal,
                ..
            } if done.id == operation && refusal.effect != Effect::None => {
                Verdict::Answered(given_up(operation))
            }
            _ => Verdict::Nothing,
        },
        _ => Verdict::Nothing,
    }
}

fn decided_by(plan: &Plan, operation: Uuid) -> bool {
    let decision = plan.state.decision();
    decision.is_some_and(|decision| decision.operation == operation)
}

/// The lasting answer for a call that may have acted and will never run again.
fn given_up(operation: Uuid) -> StoredAnswer {
    let problem = Problem::new(
        Kind::MayHaveActed,
        format!(
            "operation {operation} was given up after it may have moved a vehicle; it will not run again"
        ),
    )
    .effect(Effect::Maybe);
    StoredAnswer {
        status: problem.status(),
        content_type: Some("application/problem+json".to_owned()),
        location: None,
        body: problem.body().to_string().into_bytes(),
        secret_stripped: false,
    }
}

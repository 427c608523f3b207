//! Approve and reject: a person's decision, and the code that is shown once.

use std::sync::Arc;

use interlock_surface::{Row, Segment};
use jiff::Timestamp;

use super::ROUNDS;
use crate::audit;
use crate::crash::CrashPoint;
use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::idempotency::StoredAnswer;
use crate::pipeline::{Call, Ended, Fate, Names, outcome};
use crate::plans::{ApprovalCode, ApprovalView, Decision, Plan, PlanView};
use crate::problem::{Kind, Problem};
use crate::reply;
use crate::store::Swap;

pub(crate) async fn decide(
    gateway: &Arc<Gateway>,
    mut call: Call,
    names: Names,
) -> Result<Ended, Problem> {
    let row = call.permit.row();
    let intent = call.record(audit::Kind::Intent, gateway.clock.now());
    let Some(mut plan) = call.target.take_plan() else {
        return Err(Problem::not_found());
    };
    let _recorded = gateway.audit.require(intent.clone()).await?;
    for _ in 0..ROUNDS {
        let now = gateway.clock.now();
        let expected = plan.revision;
        let id = plan.id;
        let decision = Decision {
            by: (*call.permit.caller().identity).clone(),
            at: now,
            operation: names.operation,
        };
        let (decided, code) = transition(gateway, row, &call, plan, decision)?;
        gateway.crash.reached(CrashPoint::BeforeDecide);
        if swapped(gateway, &decided, expected).await? {
            gateway.crash.reached(CrashPoint::AfterDecide);
            gateway.memory.changed(&decided);
            let record = outcome(intent, gateway.clock.now(), row.success, Effect::None);
            let _recorded = gateway.audit.spool(record);
            return Ok(answer(row, &decided, code, now));
        }
        plan = gateway
            .store
            .plans
            .get(id)
            .await?
            .ok_or_else(Problem::not_found)?;
    }
    Err(busy())
}

/// Swaps the plan. An answer that got lost is looked up once: the plan may be
/// approved already, with a code that only this call can show.
async fn swapped(gateway: &Gateway, decided: &Plan, expected: u64) -> Result<bool, Problem> {
    let plans = &gateway.store.plans;
    match plans.replace(decided, expected).await {
        Ok(swap) => Ok(swap == Swap::Swapped),
        Err(cause) => match plans.get(decided.id).await {
            Ok(Some(stored)) if stored == *decided => Ok(true),
            _ => Err(cause.into()),
        },
    }
}

fn transition(
    gateway: &Gateway,
    row: &Row,
    call: &Call,
    plan: Plan,
    decision: Decision,
) -> Result<(Plan, Option<ApprovalCode>), Problem> {
    if !approves(row) {
        return Ok((plan.reject(decision)?, None));
    }
    let code = ApprovalCode::mint(&*gateway.random)?;
    let approved = plan.approve(decision, code.hash(), call.if_match.as_ref())?;
    Ok((approved, Some(code)))
}

/// Of the two approval rows of a service, the one that says yes.
pub(crate) fn approves(row: &Row) -> bool {
    matches!(row.segments.last(), Some(Segment::Literal("approve")))
}

fn answer(row: &Row, plan: &Plan, code: Option<ApprovalCode>, now: Timestamp) -> Ended {
    let shown = code.and_then(|code| ApprovalView::first(plan, code, now));
    let kept = kept(row, plan, now);
    let Some(shown) = shown else {
        return Ended::answered(kept);
    };
    Ended {
        reply: reply::private(reply::json(row.success, &shown)),
        fate: Fate::Answered(kept),
    }
}

/// A decision's answer as it is kept and repeated: never with the code.
pub(crate) fn kept(row: &Row, plan: &Plan, now: Timestamp) -> StoredAnswer {
    let approved = approves(row)
        .then(|| ApprovalView::stored(plan, now))
        .flatten();
    approved.unwrap_or_else(|| StoredAnswer {
        status: row.success,
        content_type: Some("application/json".to_owned()),
        location: None,
        body: PlanView::of(plan, now).as_json().to_string().into_bytes(),
        secret_stripped: false,
    })
}

pub(super) fn busy() -> Problem {
    Problem::new(
        Kind::PlanState,
        "the plan is being changed by others; read it and try again",
    )
    .retry_after(1)
}

//! Approve and reject: a person's decision, and the code that is shown once.

use std::sync::Arc;

use http::header::{CACHE_CONTROL, HeaderValue};
use interlock_surface::{Row, Segment};
use serde_json::json;

use super::ROUNDS;
use crate::audit;
use crate::crash::CrashPoint;
use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::idempotency::StoredAnswer;
use crate::pipeline::{Call, Ended, Fate, outcome};
use crate::plans::{ApprovalCode, Plan, PlanView};
use crate::problem::{Kind, Problem};
use crate::reply;
use crate::store::Swap;

/// What a repeat of an approval says instead of the code.
const ALREADY_SHOWN: &str = "already shown";

pub(crate) async fn decide(gateway: &Arc<Gateway>, mut call: Call) -> Result<Ended, Problem> {
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
        let (decided, code) = transition(gateway, row, &call, plan)?;
        gateway.crash.reached(CrashPoint::BeforeDecide);
        if gateway.store.plans.replace(&decided, expected).await? == Swap::Swapped {
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

fn transition(
    gateway: &Gateway,
    row: &Row,
    call: &Call,
    plan: Plan,
) -> Result<(Plan, Option<ApprovalCode>), Problem> {
    let now = gateway.clock.now();
    let by = &call.permit.caller().identity;
    if !approves(row) {
        return Ok((plan.reject(by, now)?, None));
    }
    let code = ApprovalCode::mint(&*gateway.random)?;
    let approved = plan.approve(by, now, code.hash(), call.if_match.as_ref())?;
    Ok((approved, Some(code)))
}

/// Of the two approval rows of a service, the one that says yes.
pub(crate) fn approves(row: &Row) -> bool {
    matches!(row.segments.last(), Some(Segment::Literal("approve")))
}

fn answer(row: &Row, plan: &Plan, code: Option<ApprovalCode>, now: jiff::Timestamp) -> Ended {
    let view = PlanView::of(plan, now).into_json();
    let expires = plan.state.approval().map(|approval| approval.expires_at);
    let Some(code) = code else {
        let answer = StoredAnswer {
            status: row.success,
            content_type: Some("application/json".to_owned()),
            location: None,
            body: view.to_string().into_bytes(),
            secret_stripped: false,
        };
        return Ended::answered(answer);
    };
    let kept = shown(row, plan, now);
    let shown = json!({ "plan": view, "approvalCode": code.reveal(), "expiresAtUtc": expires });
    let mut reply = reply::json(row.success, &shown);
    reply
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ended {
        reply,
        fate: Fate::Answered(kept),
    }
}

/// The approval's answer as it is kept and repeated: without the code.
pub(crate) fn shown(row: &Row, plan: &Plan, now: jiff::Timestamp) -> StoredAnswer {
    let expires = plan.state.approval().map(|approval| approval.expires_at);
    let body = json!({
        "plan": PlanView::of(plan, now).as_json(),
        "approvalCode": null,
        "note": ALREADY_SHOWN,
        "expiresAtUtc": expires,
    });
    StoredAnswer {
        status: row.success,
        content_type: Some("application/json".to_owned()),
        location: None,
        body: body.to_string().into_bytes(),
        secret_stripped: true,
    }
}

pub(super) fn busy() -> Problem {
    Problem::new(
        Kind::PlanState,
        "the plan is being changed by others; read it and try again",
    )
    .retry_after(1)
}

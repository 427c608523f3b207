//! Dispatch: state, then code, then one swap, then the write it becomes.

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use http::header::LOCATION;
use interlock_surface::{Params, ResourceFrom, Row};
use serde_json::Value;
use tracing::error;

use super::ROUNDS;
use super::decide::busy;
use crate::audit::{self, Record};
use crate::canonical::canonical;
use crate::crash::CrashPoint;
use crate::edge::fields;
use crate::edge::query::Query;
use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::grant::ApprovalFacts;
use crate::pipeline::{
    Call, Ended, Fate, Forward, Judged, Names, Spoken, Whole, doubtful, lease, outcome, send,
};
use crate::plans::{ApprovalCode, DispatchEnd, Lease, Plan, Status, settle};
use crate::problem::{Kind, Problem};
use crate::reply;
use crate::store::Swap;

/// How much of a service's reason is kept in the plan.
const REASON_CHARS: usize = 500;

pub(crate) async fn dispatch(
    gateway: &Arc<Gateway>,
    mut call: Call,
    names: Names,
) -> Result<Ended, Problem> {
    let row = call.permit.row();
    let Some(becomes) = row.becomes.and_then(interlock_surface::row) else {
        return Err(Problem::new(Kind::Internal, "the row becomes no write"));
    };
    gateway.heard_of(row.service, gateway.clock.now())?;
    let Some(plan) = call.target.take_plan() else {
        return Err(Problem::not_found());
    };
    // A vehicle that is gone cannot be sent anywhere; the approval stands until
    // it lapses.
    if !registered(gateway, &plan) {
        let text = "the plan's vehicle is not registered any more; nothing was sent";
        return Err(Problem::new(Kind::PlanState, text));
    }
    let (params, body) = write(becomes, &plan)?;
    let mut intent = call.record(audit::Kind::Intent, gateway.clock.now());
    intent.operation = Some(names.operation);
    intent.body_digest = Some(crate::grant::body_digest(&body));
    // 7. State, then code, then consume.
    let plan = consume(gateway, &call, becomes, names, plan).await?;
    // 8. Unrecorded, nothing is sent, and the code stays good.
    if let Err(cause) = gateway.audit.require(intent.clone()).await {
        end(gateway, plan, DispatchEnd::NotSent, names).await;
        return Err(cause.into());
    }
    // 9. The write that the dispatch becomes, under the approval.
    gateway.crash.reached(CrashPoint::BeforeSend);
    let write = Write {
        row: becomes,
        params,
        body,
    };
    let (whole, intent) = carry_out(gateway, call, write, &plan, intent, names).await;
    gateway.crash.reached(CrashPoint::AfterSend);
    let (ended, finish) = conclude(whole, names);
    let status = ended.reply.status().as_u16();
    let effect = ended.effect();
    // 10. The plan first, then the key.
    end(gateway, plan, finish, names).await;
    gateway.crash.reached(CrashPoint::AfterFinish);
    record(gateway, intent, status, effect);
    Ok(ended)
}

async fn consume(
    gateway: &Arc<Gateway>,
    call: &Call,
    becomes: &Row,
    names: Names,
    mut plan: Plan,
) -> Result<Plan, Problem> {
    let code = presented(call);
    for _ in 0..ROUNDS {
        let id = plan.id;
        if matches!(plan.status(), Status::Unknown | Status::Dispatching) {
            settle::plan(gateway, plan.clone()).await;
            plan = reread(gateway, id).await?;
        }
        // Settling may have taken its time: deadlines are judged by now.
        let now = gateway.clock.now();
        let revision = plan.revision;
        let lease = Lease {
            owner: gateway.instance.clone(),
            until: lease(gateway, becomes, now),
        };
        let begun = plan.begin_dispatch(code.as_ref(), now, names.operation, lease)?;
        gateway.crash.reached(CrashPoint::BeforeConsume);
        if gateway.store.plans.replace(&begun, revision).await? == Swap::Swapped {
            gateway.crash.reached(CrashPoint::AfterConsume);
            gateway.memory.changed(&begun);
            return Ok(begun);
        }
        plan = reread(gateway, id).await?;
    }
    Err(busy())
}

async fn reread(gateway: &Gateway, id: uuid::Uuid) -> Result<Plan, Problem> {
    gateway
        .store
        .plans
        .get(id)
        .await?
        .ok_or_else(Problem::not_found)
}

/// The code in the body; any other shape is no code.
fn presented(call: &Call) -> Option<ApprovalCode> {
    let body = call.asked.body()?;
    ApprovalCode::parse(body.get("approvalCode")?.as_str()?)
}

fn registered(gateway: &Gateway, plan: &Plan) -> bool {
    let known = gateway.registry.known(&plan.object.kind, &plan.object.id);
    known.is_some_and(|object| !object.deleted)
}

/// The write that a dispatch becomes, on the plan's own vehicle.
struct Write {
    row: &'static Row,
    params: Params,
    body: Bytes,
}

/// Path parameters and body of that write. The fields are those that were
/// previewed and approved, where the write takes them.
fn write(becomes: &'static Row, plan: &Plan) -> Result<(Params, Bytes), Problem> {
    let unbuilt = |cause: &dyn std::fmt::Display| {
        error!(%cause, plan = %plan.id, row = becomes.name, "a plan does not fit its write");
        Problem::new(Kind::Internal, "the plan does not fit the write it becomes")
    };
    let object = match becomes.resource_from {
        ResourceFrom::Path(param) => vec![(param, plan.object.id.as_str())],
        ResourceFrom::Service | ResourceFrom::Account => Vec::new(),
    };
    let params = Params::of(becomes, &object).map_err(|cause| unbuilt(&cause))?;
    let mission = plan.mission.as_object().cloned().unwrap_or_default();
    let body = fields::becomes(becomes, &mission).map_err(|cause| unbuilt(&cause))?;
    Ok((params, Bytes::from(canonical(&Value::Object(body))?)))
}

async fn carry_out(
    gateway: &Arc<Gateway>,
    call: Call,
    write: Write,
    plan: &Plan,
    intent: Record,
    names: Names,
) -> (Whole, Record) {
    let now = gateway.clock.now();
    let approval = plan.state.approval().zip(plan.state.operation());
    let Some((approval, operation)) = approval else {
        let problem = Problem::new(Kind::Internal, "the plan has no approval");
        return (Whole::NotSent(problem), intent);
    };
    let facts = ApprovalFacts {
        plan: plan.id,
        digest: plan.digest.as_str(),
        approver: &approval.decision.by,
        proposer: &plan.proposer,
        attempt: operation.attempt,
        fence: &plan.fence,
    };
    let judged = Judged {
        permit: call.permit,
        resource: call.resource,
        context: call.context,
        object: plan.object.clone(),
        intent: intent.clone(),
    };
    let sent = send(
        gateway,
        judged,
        Forward {
            row: write.row,
            params: &write.params,
            query: &Query::default(),
            headers: HeaderMap::new(),
            body: write.body,
            operation: Some(names.operation),
            approval: Some(facts),
            peer: call.peer,
            now,
        },
    )
    .await;
    match sent {
        Ok(sent) => (sent.whole, sent.intent),
        Err(problem) => (Whole::NotSent(problem), intent),
    }
}

/// What the caller is told, and what becomes of the plan.
fn conclude(whole: Whole, names: Names) -> (Ended, DispatchEnd) {
    match whole {
        Whole::NotSent(problem) => (Ended::refused(&problem), DispatchEnd::NotSent),
        Whole::Unknown(problem) => (doubtful(&problem, names.operation), DispatchEnd::Unclear),
        Whole::Answered(spoken) => answered(&spoken, names),
    }
}

fn answered(spoken: &Spoken, names: Names) -> (Ended, DispatchEnd) {
    let reply = spoken.reply();
    if spoken.acted {
        let answer = reply::keep(spoken.status, &spoken.headers, &spoken.body);
        let end = DispatchEnd::Accepted {
            mission_id: mission_id(spoken, names),
            answer: answer.clone(),
        };
        let fate = Fate::Answered(answer);
        return (Ended { reply, fate }, end);
    }
    let end = match is_transient(spoken.status.as_u16()) {
        // The service was not able to; the approval stands.
        true => DispatchEnd::NotSent,
        // The service would not; the approval is spent.
        false => DispatchEnd::Refused {
            reason: reason(spoken),
        },
    };
    let fate = Fate::Released;
    (Ended { reply, fate }, end)
}

/// Whether a service that did nothing may be asked again under the same
/// approval: it was not able to, rather than not willing.
pub(crate) fn is_transient(status: u16) -> bool {
    matches!(status, 429 | 503)
}

fn reason(spoken: &Spoken) -> String {
    let problem: Option<serde_json::Value> = serde_json::from_slice(&spoken.body).ok();
    let text = |name: &str| Some(problem.as_ref()?.get(name)?.as_str()?.to_owned());
    let told = match (text("title"), text("detail")) {
        (Some(title), Some(detail)) => format!("{title}: {detail}"),
        (Some(text), None) | (None, Some(text)) => text,
        (None, None) => format!("the service answered {}", spoken.status.as_u16()),
    };
    told.chars().take(REASON_CHARS).collect()
}

/// What the service calls the result: the last segment of its `Location`, or
/// the operation, which is the mission's id on the link.
fn mission_id(spoken: &Spoken, names: Names) -> String {
    spoken
        .headers
        .get(LOCATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|location| location.rsplit('/').next())
        .filter(|id| !id.is_empty())
        .map_or_else(|| names.operation.to_string(), str::to_owned)
}

/// Writes how the dispatch ended, also when a settler was faster to doubt it.
/// A store that fails here leaves the lease to run out: the plan is then
/// settled with the service.
async fn end(gateway: &Gateway, mut plan: Plan, end: DispatchEnd, names: Names) {
    for _ in 0..ROUNDS {
        let (id, expected) = (plan.id, plan.revision);
        let ended = match plan.finish(names.operation, end.clone(), gateway.clock.now()) {
            Ok(ended) => ended,
            Err(cause) => return error!(%cause, plan = %id, "a dispatch is ended already"),
        };
        let swapped = gateway.store.plans.replace(&ended, expected).await;
        if let Ok(Swap::Swapped) = swapped {
            return gateway.memory.changed(&ended);
        }
        plan = match swapped.and(gateway.store.plans.get(id).await) {
            Ok(Some(plan)) => plan,
            Ok(None) => return error!(plan = %id, "a plan under way is gone"),
            Err(cause) => {
                return error!(%cause, plan = %id, "a dispatch was left to be settled");
            }
        };
    }
    error!(plan = %plan.id, "a dispatch was left to be settled by whoever keeps changing it");
}

fn record(gateway: &Gateway, intent: Record, status: u16, effect: Effect) {
    let _recorded = gateway
        .audit
        .spool(outcome(intent, gateway.clock.now(), status, effect));
}

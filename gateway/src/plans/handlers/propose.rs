//! Propose: the service previews, nothing moves, the plan waits for a person.

use std::sync::Arc;

use http::HeaderMap;
use interlock_surface::Row;
use serde::Deserialize;
use serde_json::Value;

use super::show::location;
use crate::audit;
use crate::crash::CrashPoint;
use crate::edge::query::Query;
use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::idempotency::StoredAnswer;
use crate::pipeline::{Call, Ended, Forward, Judged, Names, Whole, outcome, send};
use crate::plans::{Evidence, Plan, PlanView, Proposal};
use crate::problem::{Kind, Problem};
use crate::store::Swap;

/// What a service answers to a preview.
#[derive(Deserialize)]
struct Preview {
    preview: Value,
    fence: Value,
    conflicted: bool,
}

pub(crate) async fn propose(
    gateway: &Arc<Gateway>,
    call: Call,
    names: Names,
) -> Result<Ended, Problem> {
    let row = call.permit.row();
    let (Some(id), Some(asks)) = (names.plan, previews(row)) else {
        return Err(Problem::new(Kind::Internal, "the row names no preview"));
    };
    let now = gateway.clock.now();
    gateway.heard_of(row.service, now)?;
    let caller = Arc::clone(call.permit.caller());
    let proposer = caller.identity.digest();
    let quota = gateway.limits.plans_per_caller;
    if gateway
        .store
        .plans
        .open_plans(&proposer, now, quota)
        .await?
        >= quota
    {
        let detail = format!("you have {quota} plans open already");
        return Err(Problem::new(Kind::QuotaExceeded, detail).retry_after(60));
    }
    let object = call.object();
    let mut intent = call.record(audit::Kind::Intent, now);
    intent.body_digest = Some(crate::grant::body_digest(call.asked.bytes()));
    let _recorded = gateway.audit.require(intent.clone()).await?;
    let sent = send(
        gateway,
        Judged {
            permit: call.permit,
            resource: call.resource,
            context: call.context,
            object: object.clone(),
            intent,
        },
        Forward {
            row: asks,
            params: &call.params,
            query: &Query::default(),
            headers: HeaderMap::new(),
            body: call.asked.bytes().clone(),
            operation: Some(names.operation),
            approval: None,
            peer: call.peer,
            now,
        },
    )
    .await?;
    let spoken = match sent.whole {
        Whole::Answered(spoken) => spoken,
        Whole::NotSent(problem) => return Err(problem),
        // A preview moves nothing, whatever became of it.
        Whole::Unknown(_) => {
            return Err(Problem::new(
                Kind::NoAnswer,
                "the preview got no answer in time",
            ));
        }
    };
    if !spoken.status.is_success() {
        return Ok(Ended {
            reply: spoken.reply(),
            fate: crate::pipeline::Fate::Released,
        });
    }
    let preview: Preview = serde_json::from_slice(&spoken.body).map_err(|cause| {
        tracing::error!(%cause, service = row.service, "a preview does not parse");
        Problem::new(Kind::BadAnswer, "the service's preview cannot be read")
    })?;
    let plan = Plan::propose(
        Proposal {
            id,
            service: row.service.to_owned(),
            object,
            scopes: sent.resource.scopes.clone(),
            proposer: (*caller.identity).clone(),
            mission: call.asked.body().cloned().unwrap_or_default(),
            preview: preview.preview,
            fence: preview.fence,
            conflicted: preview.conflicted,
            evidence: Evidence {
                bundle: sent.evidence.bundle.to_string(),
                registry: sent.evidence.registry,
            },
        },
        now,
    )?;
    gateway.crash.reached(CrashPoint::BeforeInsert);
    if gateway.store.plans.insert(&plan).await? == Swap::Lost {
        return Err(Problem::new(Kind::Internal, "the plan's id is taken"));
    }
    gateway.crash.reached(CrashPoint::AfterInsert);
    gateway.memory.changed(&plan);
    let answer = StoredAnswer {
        status: row.success,
        content_type: Some("application/json".to_owned()),
        location: location(row, id),
        body: PlanView::of(&plan, now).as_json().to_string().into_bytes(),
        secret_stripped: false,
    };
    let record = outcome(sent.intent, gateway.clock.now(), row.success, Effect::None);
    let _recorded = gateway.audit.spool(record);
    Ok(Ended::answered(answer))
}

fn previews(row: &Row) -> Option<&'static Row> {
    row.preview.and_then(interlock_surface::row)
}

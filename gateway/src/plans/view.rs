//! What callers see of a plan. Built field by field, so that nothing of the
//! record, a code's digest least of all, can slip out by being added to it.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::idempotency::StoredAnswer;
use crate::plans::code::ApprovalCode;
use crate::plans::plan::{Plan, State};

/// The JSON of a plan as every endpoint shows it: the proposal's own fields
/// beside `id`, `status`, `preview`, `digest`, who and when.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct PlanView(Value);

impl PlanView {
    /// The view of `plan` at `now`.
    pub fn of(plan: &Plan, now: Timestamp) -> Self {
        let plan = plan.clone().at(now);
        let state = &plan.state;
        let decision = state.decision();
        let refusal = state.refusal();
        let ours = json!({
            "id": plan.id,
            "status": plan.status(),
            "service": plan.service,
            "object": plan.object,
            "preview": plan.preview,
            "digest": plan.digest,
            "digestShort": plan.digest.short(),
            "createdAtUtc": plan.created_at,
            "createdBy": plan.proposer.subject,
            "createdByActor": plan.proposer.actor,
            "decideByUtc": plan.decide_by,
            "decidedAtUtc": decision.map(|decision| decision.at),
            "decidedBy": decision.map(|decision| &decision.by.subject),
            "approvalExpiresAtUtc": state.approval().map(|approval| approval.expires_at),
            "missionId": state.mission_id(),
            "operation": state.operation().map(|operation| json!({
                "id": operation.id,
                "attempt": operation.attempt,
                "askedAtUtc": operation.asked_at,
            })),
            "refusal": refusal.map(|refusal| json!({
                "reason": refusal.reason,
                "effect": refusal.effect,
                "atUtc": refusal.at,
            })),
        });
        // Our own fields win: a proposal cannot dress itself as approved.
        let mut fields = match &plan.mission {
            Value::Object(mission) => mission.clone(),
            _ => Map::new(),
        };
        if let Value::Object(ours) = ours {
            fields.extend(ours);
        }
        Self(Value::Object(fields))
    }

    /// The JSON.
    pub fn as_json(&self) -> &Value {
        &self.0
    }

    /// The JSON, by value.
    pub fn into_json(self) -> Value {
        self.0
    }
}

/// The answer to an approval: with the code once, and ever after without.
pub struct ApprovalView;

impl ApprovalView {
    /// The first answer, which shows the code. None unless `plan` is approved.
    pub fn first(plan: &Plan, code: ApprovalCode, now: Timestamp) -> Option<Value> {
        let expires_at = Self::expires_at(plan)?;
        Some(json!({
            "plan": PlanView::of(plan, now).into_json(),
            "approvalCode": code.reveal(),
            "expiresAtUtc": expires_at,
        }))
    }

    /// What a repeat is told, and all of the answer that is stored.
    pub fn stored(plan: &Plan, now: Timestamp) -> Option<StoredAnswer> {
        let expires_at = Self::expires_at(plan)?;
        let body = json!({
            "plan": PlanView::of(plan, now).into_json(),
            "approvalCode": null,
            "codeAlreadyShown": true,
            "expiresAtUtc": expires_at,
        });
        Some(StoredAnswer {
            status: 200,
            content_type: Some("application/json".to_owned()),
            location: None,
            body: body.to_string().into_bytes(),
            secret_stripped: true,
        })
    }

    fn expires_at(plan: &Plan) -> Option<Timestamp> {
        match &plan.state {
            State::Approved { approval, .. } => Some(approval.expires_at),
            _ => None,
        }
    }
}

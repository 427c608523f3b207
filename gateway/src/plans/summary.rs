//! A plan without what makes it big, for lists: a preview may be megabytes, and
//! a list looks through hundreds of plans.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::plans::plan::{Plan, State};
use crate::plans::view::PlanView;

/// What tells plans apart and decides who may see them. Stores keep it beside
/// the record, and read it alone for lists.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanSummary(Plan);

impl PlanSummary {
    /// The summary of `plan`: all but its preview, its fence and the body of
    /// the answer that ended it.
    pub fn of(plan: &Plan) -> Self {
        let mut state = plan.state.clone();
        if let State::Dispatched { answer, .. } = &mut state {
            answer.body.clear();
        }
        Self(Plan {
            id: plan.id,
            service: plan.service.clone(),
            object: plan.object.clone(),
            scopes: plan.scopes.clone(),
            proposer: plan.proposer.clone(),
            mission: plan.mission.clone(),
            preview: Value::Null,
            fence: Value::Null,
            digest: plan.digest.clone(),
            evidence: plan.evidence.clone(),
            created_at: plan.created_at,
            decide_by: plan.decide_by,
            revision: plan.revision,
            state,
        })
    }

    /// The id of the plan.
    pub fn id(&self) -> Uuid {
        self.0.id
    }

    /// Whether the plan counts against its proposer's quota at `now`.
    pub fn is_open(&self, now: Timestamp) -> bool {
        self.0.is_open(now)
    }

    /// What a list shows of it: everything that the plan itself shows, but no
    /// `preview`.
    pub fn view(&self, now: Timestamp) -> Value {
        let mut view = PlanView::of(&self.0, now).into_json();
        if let Value::Object(fields) = &mut view {
            fields.remove("preview");
        }
        view
    }

    /// The plan to be judged for visibility: without preview and fence, which
    /// no policy reads.
    pub(crate) fn into_judged(self) -> Plan {
        self.0
    }
}

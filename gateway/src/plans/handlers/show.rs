//! Reading plans: one, or those of a service that the caller may see.

use std::sync::Arc;

use interlock_surface::{Params, ROWS, ResourceFrom, ResourceType, Row};
use serde_json::Value;
use uuid::Uuid;

use crate::authorize::Question;
use crate::edge::query::Query;
use crate::gateway::Gateway;
use crate::pipeline::{Call, Target};
use crate::plans::PlanView;
use crate::problem::Problem;
use crate::reply::{self, Reply};

/// How many plans a list shows unless asked.
const DEFAULT_LIMIT: u32 = 20;
/// How many plans are looked through for those the caller may see.
const LOOKED_THROUGH: u32 = 500;
/// How many it shows at most.
const MAX_LIMIT: u32 = 100;

/// `GET` on one plan, as read when it was judged.
pub(crate) fn get(gateway: &Gateway, mut call: Call) -> Result<Reply, Problem> {
    let Some(plan) = call.target.take_plan() else {
        return Err(Problem::not_found());
    };
    let now = gateway.clock.now();
    Ok(reply::json(200, PlanView::of(&plan, now).as_json()))
}

/// `GET` on the plans of a service, newest first, without their previews. What
/// the caller may not see is omitted.
pub(crate) async fn list(gateway: &Arc<Gateway>, call: Call) -> Result<Reply, Problem> {
    let row = call.permit.row();
    let now = gateway.clock.now();
    let limit = limit(&call.query)?;
    let plans = match gateway.store.plans.list(row.service, LOOKED_THROUGH).await {
        Ok(plans) => plans,
        Err(cause) => {
            tracing::warn!(%cause, "plans are listed from memory");
            gateway.memory.list(row.service, LOOKED_THROUGH as usize)
        }
    };
    let Some(single) = reads_one(row) else {
        return Err(Problem::not_found());
    };
    // Where the list is of an account, plans of others are not in it.
    let account = match row.resource_from {
        ResourceFrom::Account => Some(&call.resource.id),
        ResourceFrom::Service | ResourceFrom::Path(_) => None,
    };
    let visible = plans.into_iter().filter_map(|plan| {
        let view = plan.view(now);
        let target = Target::plan(gateway, plan.into_judged(), now);
        if account.is_some_and(|account| !target.facts().scopes.contains(account)) {
            return None;
        }
        let question = Question {
            caller: call.permit.caller(),
            row: single,
            resource: target.facts(),
            context: &call.context,
            registry: call.permit.evidence().registry,
            revision: target.revision(),
            now,
        };
        gateway.authorizer.allows(&question).then_some(view)
    });
    // The limit is on what the caller sees: hidden plans take no place.
    let shown = visible.take(limit as usize).collect();
    Ok(reply::json(200, &Value::Array(shown)))
}

/// The row that reads one plan of the same service.
fn reads_one(any: &Row) -> Option<&'static Row> {
    ROWS.iter().find(|row| {
        row.service == any.service
            && row.class.is_read()
            && row.resource == ResourceType::Plan
            && matches!(row.resource_from, ResourceFrom::Path(_))
    })
}

/// Where a plan of this row's service is read.
pub(crate) fn location(any: &Row, plan: Uuid) -> Option<String> {
    let row = reads_one(any)?;
    let ResourceFrom::Path(param) = row.resource_from else {
        return None;
    };
    let id = plan.to_string();
    let params = Params::of(row, &[(param, id.as_str())]).ok()?;
    params.render(row).ok()
}

fn limit(query: &Query) -> Result<u32, Problem> {
    let Some(text) = query.get("limit") else {
        return Ok(DEFAULT_LIMIT);
    };
    match text.parse::<u32>() {
        Ok(limit) => Ok(limit.clamp(1, MAX_LIMIT)),
        Err(_) => Err(Problem::invalid_request(vec![
            "`limit` must be a whole number from 1 to 100".to_owned(),
        ])),
    }
}

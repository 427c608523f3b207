//! Plans seen lately, so that reads go on while the store is gone.

use std::sync::Arc;

use quick_cache::sync::Cache;
use uuid::Uuid;

use super::{Plan, PlanSummary};
use crate::telemetry::names;

/// Plans kept; the least used are forgotten first.
const KEPT: usize = 1024;

/// A bounded memory of plans as last read or written. Never decides anything
/// that moves a vehicle.
pub struct PlanMemory {
    plans: Cache<Uuid, Arc<Plan>>,
}

impl Default for PlanMemory {
    fn default() -> Self {
        PlanMemory {
            plans: Cache::new(KEPT),
        }
    }
}

impl PlanMemory {
    /// Keeps `plan`, unless a later revision is known.
    pub fn remember(&self, plan: &Plan) {
        let known = self.plans.peek(&plan.id);
        if known.is_some_and(|known| known.revision > plan.revision) {
            return;
        }
        self.plans.insert(plan.id, Arc::new(plan.clone()));
    }

    /// Keeps a plan that this instance has just changed, and counts its state.
    pub fn changed(&self, plan: &Plan) {
        let state = plan.status().as_str();
        metrics::counter!(names::PLANS, "state" => state).increment(1);
        self.remember(plan);
    }

    /// The plan as last seen.
    pub fn get(&self, id: Uuid) -> Option<Plan> {
        self.plans.get(&id).map(Arc::unwrap_or_clone)
    }

    /// The newest `limit` plans of a service, newest first.
    pub fn list(&self, service: &str, limit: usize) -> Vec<PlanSummary> {
        let known = self.plans.iter().map(|(_, plan)| plan);
        let mut plans: Vec<Arc<Plan>> = known.filter(|plan| plan.service == service).collect();
        plans.sort_by_key(|plan| std::cmp::Reverse((plan.created_at, plan.id)));
        plans.truncate(limit);
        plans.iter().map(|plan| PlanSummary::of(plan)).collect()
    }
}

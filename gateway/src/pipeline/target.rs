//! What a request is about, as the PDP judges it.

use std::sync::Arc;

use interlock_policies::{INSTALLATION, PrincipalKind, Proposer, ResourceFacts};
use interlock_surface::{Class, Params, ResourceFrom, ResourceType, Row};
use jiff::Timestamp;
use uuid::Uuid;

use crate::authn::Caller;
use crate::gateway::Gateway;
use crate::plans::Plan;
use crate::problem::Problem;
use crate::store::StoreError;

/// The resource of a request, and the plan behind it where it is one.
///
/// A missing object is a placeholder of its type that lies in no scope, so
/// that nobody holds anything on it: it is refused like a hidden one.
#[derive(Debug)]
pub(crate) struct Target {
    facts: Arc<ResourceFacts>,
    plan: Option<Box<Plan>>,
    /// Why the plan is told from memory, where it is.
    remembered: Option<StoreError>,
}

impl Target {
    /// Finds the resource that `row` names. Only a plan is looked up outside
    /// this process's memory, once, and never for nobody.
    ///
    /// # Errors
    /// 503 when the store does not answer and memory does not know the plan.
    pub(super) async fn find(
        gateway: &Gateway,
        row: &'static Row,
        params: &Params,
        caller: &Caller,
        now: Timestamp,
    ) -> Result<Self, Problem> {
        let id = match row.resource_from {
            ResourceFrom::Service => gateway
                .services
                .get(row.service)
                .map_or(row.service, |service| service.object.as_str()),
            ResourceFrom::Path(name) => params.get(name).unwrap_or_default(),
        };
        match row.resource {
            ResourceType::Plan => {}
            // The gateway is there without being registered.
            ResourceType::Gateway => {
                return Ok(Target::object(
                    row.resource,
                    id,
                    vec![INSTALLATION.to_owned()],
                ));
            }
            kind => {
                let scopes = gateway.registry.scopes_of(kind.as_str(), id);
                return Ok(Target::object(kind, id, scopes.unwrap_or_default()));
            }
        }
        let nobody = caller.kind == PrincipalKind::Anonymous;
        let plan = match Uuid::try_parse(id) {
            Ok(id) if !nobody => find_plan(gateway, row, id, now).await?,
            _ => None,
        };
        Ok(match plan {
            Some((plan, remembered)) => Target {
                remembered,
                ..Target::plan(gateway, plan)
            },
            None => Target::object(row.resource, id, Vec::new()),
        })
    }

    /// The facts that are judged.
    pub(crate) fn facts(&self) -> &Arc<ResourceFacts> {
        &self.facts
    }

    /// The plan, where the request is about one that exists.
    pub(crate) fn take_plan(&mut self) -> Option<Plan> {
        self.plan.take().map(|plan| *plan)
    }

    /// What a caller is told who may not see it. While the store is gone that
    /// must be what is told of a plan that nobody remembers.
    pub(crate) fn hidden(&self) -> Problem {
        match &self.remembered {
            Some(cause) => cause.clone().into(),
            None => Problem::not_found(),
        }
    }

    /// The plan's id.
    pub(crate) fn plan_id(&self) -> Option<Uuid> {
        self.plan.as_ref().map(|plan| plan.id)
    }

    /// The facts of a plan: it hangs where its vehicle hangs now, or, once the
    /// vehicle is gone, where it hung when the plan was proposed.
    pub(crate) fn plan(gateway: &Gateway, plan: Plan) -> Self {
        let scopes = gateway
            .registry
            .scopes_of(&plan.object.kind, &plan.object.id)
            .unwrap_or_else(|| plan.scopes.clone());
        let facts = ResourceFacts {
            kind: ResourceType::Plan,
            id: plan.id.to_string(),
            scopes,
            proposer: Some(Proposer {
                issuer: plan.proposer.issuer.clone(),
                subject: plan.proposer.subject.clone(),
                actor: plan.proposer.actor.clone(),
            }),
        };
        Target {
            facts: Arc::new(facts),
            plan: Some(Box::new(plan)),
            remembered: None,
        }
    }

    fn object(kind: ResourceType, id: &str, scopes: Vec<String>) -> Self {
        Target {
            facts: Arc::new(ResourceFacts {
                kind,
                id: id.to_owned(),
                scopes,
                proposer: None,
            }),
            plan: None,
            remembered: None,
        }
    }
}

async fn find_plan(
    gateway: &Gateway,
    row: &'static Row,
    id: Uuid,
    now: Timestamp,
) -> Result<Option<(Plan, Option<StoreError>)>, Problem> {
    let (found, remembered) = match gateway.store.plans.get(id).await {
        Ok(found) => (found, None),
        // A read may be answered from memory; a decision about motion may not.
        Err(cause) if row.class == Class::Read => match gateway.memory.get(id) {
            Some(plan) => (Some(plan), Some(cause)),
            None => return Err(cause.into()),
        },
        Err(cause) => return Err(cause.into()),
    };
    // A plan of another service is no plan on this path.
    let Some(plan) = found.filter(|plan| plan.service == row.service) else {
        return Ok(None);
    };
    gateway.memory.remember(&plan);
    Ok(Some((plan.at(now), remembered)))
}

//! What a request is about, as the PDP judges it.

use std::sync::Arc;

use interlock_policies::{INSTALLATION, PrincipalKind, Proposer, ResourceFacts};
use interlock_surface::{Params, ResourceFrom, ResourceType, Row};
use jiff::Timestamp;
use uuid::Uuid;

use super::account::ACCOUNT;
use crate::authn::Caller;
use crate::edge::query::Query;
use crate::gateway::Gateway;
use crate::plans::{ObjectRef, Plan};
use crate::problem::Problem;
use crate::registry::Resolved;
use crate::store::StoreError;

/// The resource of a request, and the plan behind it where it is one.
///
/// A missing object is a placeholder of its type that lies in no scope, so
/// that nobody holds anything on it: it is refused like a hidden one.
#[derive(Debug)]
pub(crate) struct Target {
    facts: Arc<ResourceFacts>,
    revision: Option<u64>,
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
        (params, query): (&Params, &Query),
        caller: &Caller,
        now: Timestamp,
    ) -> Result<Self, Problem> {
        let id = match row.resource_from {
            ResourceFrom::Account => query.get(ACCOUNT).unwrap_or_default(),
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
                let mut facts = judged(row.resource, id, None);
                facts.scopes.push(INSTALLATION.to_owned());
                return Ok(Target::of(facts, None));
            }
            kind => {
                // A site or a group is a scope too, and names no account: what
                // is done to an account would be done past it.
                let of_account = row.resource_from == ResourceFrom::Account;
                let resolved = gateway.registry.resolve(kind.as_str(), id, now);
                let resolved = resolved.filter(|object| !of_account || object.is_account(id));
                return Ok(Target::of(
                    judged(kind, id, resolved.as_ref()),
                    resolved.as_ref(),
                ));
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
                ..Target::plan(gateway, plan, now)
            },
            None => Target::of(judged(row.resource, id, None), None),
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

    /// The registered object that this is about: of a plan its vehicle.
    pub(crate) fn object(&self) -> ObjectRef {
        match &self.plan {
            Some(plan) => plan.object.clone(),
            None => ObjectRef {
                kind: self.facts.kind.as_str().to_owned(),
                id: self.facts.id.clone(),
            },
        }
    }

    /// The plan's id.
    pub(crate) fn plan_id(&self) -> Option<Uuid> {
        self.plan.as_ref().map(|plan| plan.id)
    }

    /// The state of the object that was judged, as its service counts them; of a
    /// plan that of its vehicle.
    pub(crate) fn revision(&self) -> Option<u64> {
        self.revision
    }

    /// The facts of a plan: it hangs where its vehicle hangs now, or, once the
    /// vehicle is gone, where it hung when the plan was proposed.
    pub(crate) fn plan(gateway: &Gateway, plan: Plan, now: Timestamp) -> Self {
        let resolved = gateway
            .registry
            .resolve(&plan.object.kind, &plan.object.id, now);
        let mut facts = judged(ResourceType::Plan, &plan.id.to_string(), resolved.as_ref());
        if resolved.is_none() {
            facts.scopes.clone_from(&plan.scopes);
        }
        facts.proposer = Some(Proposer {
            issuer: plan.proposer.issuer.clone(),
            subject: plan.proposer.subject.clone(),
            actor: plan.proposer.actor.clone(),
        });
        Target {
            plan: Some(Box::new(plan)),
            ..Target::of(facts, resolved.as_ref())
        }
    }

    fn of(facts: ResourceFacts, resolved: Option<&Resolved>) -> Self {
        Target {
            facts: Arc::new(facts),
            revision: resolved.map(|object| object.revision),
            plan: None,
            remembered: None,
        }
    }
}

/// What the PDP is told of an object. One that is not registered lies in no
/// scope, so that nobody holds anything on it.
pub(crate) fn judged(kind: ResourceType, id: &str, resolved: Option<&Resolved>) -> ResourceFacts {
    ResourceFacts {
        kind,
        id: id.to_owned(),
        scopes: resolved
            .map(|object| object.scopes.clone())
            .unwrap_or_default(),
        proposer: None,
        state: resolved
            .map(|object| object.state.clone())
            .unwrap_or_default(),
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
        Err(cause) if row.class.is_read() => match gateway.memory.get(id) {
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

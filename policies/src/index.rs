//! Which policies can matter to a request, so that a decision costs the same
//! whether twenty policies are loaded or fifteen hundred.
//!
//! Policies are filed by request environment (principal type, action, resource
//! type) and inside it by the entity their resource scope names. Both are
//! exact: a policy outside the environment is typed to be always false there,
//! and a resource scope that does not hold is false before anything can fail.
//! So decision, reasons and errors are those of the whole set.

use std::collections::HashMap;

use cedar_policy::{
    Authorizer, Entities, Policy, PolicySet, PolicySetError, Request, ResourceConstraint, Schema,
};
use cedar_policy_core::ast::{Entity, EntityUID};

use crate::decision::Verdict;

/// Principal type, action and resource type, by their Cedar names.
type Environment = (String, String, String);

#[derive(Debug, Default)]
pub(crate) struct Index {
    // principal type -> action -> resource type; nested so that a look-up
    // needs no owned key.
    candidates: HashMap<String, HashMap<String, HashMap<String, Candidates>>>,
}

/// The policies of one environment.
#[derive(Debug, Default)]
pub(crate) struct Candidates {
    always: PolicySet,
    by_scope: HashMap<EntityUID, PolicySet>,
}

impl Index {
    pub(crate) fn build<'a>(
        policies: impl Iterator<Item = &'a Policy>,
        schema: &Schema,
    ) -> Result<Self, Box<PolicySetError>> {
        let mut index = Self::default();
        for policy in policies {
            for environment in policy.get_valid_request_envs(schema) {
                let environment = (
                    environment.principal().to_string(),
                    environment.action().id().unescaped().to_owned(),
                    environment.resource().to_string(),
                );
                index.file(environment, policy)?;
            }
        }
        Ok(index)
    }

    /// The policies that can matter; `None` when none can.
    pub(crate) fn candidates(
        &self,
        principal: &str,
        action: &str,
        resource: &str,
    ) -> Option<&Candidates> {
        self.candidates.get(principal)?.get(action)?.get(resource)
    }

    fn file(
        &mut self,
        environment: Environment,
        policy: &Policy,
    ) -> Result<(), Box<PolicySetError>> {
        let (principal, action, resource) = environment;
        let actions = self.candidates.entry(principal).or_default();
        let resources = actions.entry(action).or_default();
        let candidates = resources.entry(resource).or_default();
        candidates.file(policy)
    }
}

impl Candidates {
    fn file(&mut self, policy: &Policy) -> Result<(), Box<PolicySetError>> {
        let set = match policy.resource_constraint() {
            ResourceConstraint::Any | ResourceConstraint::Is(_) => &mut self.always,
            ResourceConstraint::Eq(scope)
            | ResourceConstraint::In(scope)
            | ResourceConstraint::IsIn(_, scope) => self.by_scope.entry(scope.into()).or_default(),
        };
        set.add(policy.clone()).map_err(Box::new)
    }

    /// Evaluates what can matter for this resource.
    pub(crate) fn judge(
        &self,
        authorizer: &Authorizer,
        request: &Request,
        slice: &Entities,
        resource: &Entity,
    ) -> Verdict {
        let mut verdict = Verdict::default();
        for set in self.sets(resource) {
            verdict.add(&authorizer.is_authorized(request, set, slice));
        }
        verdict
    }

    /// How many policies [`Candidates::judge`] evaluates for this resource.
    pub(crate) fn count(&self, resource: &Entity) -> usize {
        self.sets(resource).map(PolicySet::num_of_policies).sum()
    }

    fn sets<'a>(&'a self, resource: &'a Entity) -> impl Iterator<Item = &'a PolicySet> {
        let scopes = std::iter::once(resource.uid()).chain(resource.ancestors());
        // Most environments file nothing by scope: skip hashing every ancestor.
        let scopes = scopes.take_while(|_| !self.by_scope.is_empty());
        let narrow = scopes.filter_map(|scope| self.by_scope.get(scope));
        std::iter::once(&self.always).chain(narrow)
    }
}

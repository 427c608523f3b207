//! What bounds a caller: nobody holds more through an agent than the person it
//! acts for.
//!
//! Rights are held on scopes, and which scopes an object lies in changes while
//! tokens live. So the bound is not worked out when a caller is made ready, but
//! on the object that is judged: a right that the caller has there and a bound
//! has not is left out of the principal that policies see. They cannot forget
//! it, and since they see a principal like any other, whoever may look may stop.

use std::collections::{HashMap, HashSet};

use interlock_surface::{Relation, ResourceType};

use crate::facts::ResourceFacts;
use crate::roles::{Role, Roles};

/// What a caller may hold at most, by the word of the grants file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bound {
    /// Accounts. `None` bounds nothing, an empty list leaves nothing.
    pub tenants: Option<Vec<String>>,
    /// Roles by scope. `None` bounds nothing, an empty list leaves nothing.
    pub grants: Option<Vec<(Role, String)>>,
}

/// What is held on scopes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Right {
    /// Belonging to the account.
    Tenant,
    /// A relation, from whichever role.
    Relation(Relation),
}

/// The scopes of each right. One that is not listed is not spoken of.
#[derive(Debug, Clone)]
pub(crate) struct Reach(HashMap<Right, HashSet<String>>);

impl Reach {
    /// Expands roles into relations. The scopes of a role that the bundle does
    /// not have are in none.
    pub(crate) fn of(
        tenants: Option<&[String]>,
        grants: Option<&[(Role, String)]>,
        roles: &Roles,
    ) -> Self {
        let tenants = tenants.map(|ids| (Right::Tenant, ids.iter().cloned().collect()));
        let relations = grants.into_iter().flat_map(|grants| {
            Relation::ALL.iter().map(move |relation| {
                let gives = |role: &Role| roles.relations(role).contains(relation);
                let held = grants.iter().filter(|(role, _)| gives(role));
                let scopes = held.map(|(_, scope)| scope.clone()).collect();
                (Right::Relation(*relation), scopes)
            })
        });
        Self(tenants.into_iter().chain(relations).collect())
    }

    /// The scopes of a right.
    pub(crate) fn scopes(&self, right: Right) -> impl Iterator<Item = &String> {
        self.0.get(&right).into_iter().flatten()
    }

    /// What is left of this on an object within the bounds; `None` when that is
    /// everything.
    pub(crate) fn within(&self, bounds: &[Self], resource: &ResourceFacts) -> Option<Self> {
        let beyond = |right: Right, scopes: &HashSet<String>| {
            let withheld =
                |bound: &Self| bound.0.get(&right).is_some_and(|s| !reaches(s, resource));
            reaches(scopes, resource) && bounds.iter().any(withheld)
        };
        if !self.0.iter().any(|(right, scopes)| beyond(*right, scopes)) {
            return None;
        }
        let left = self.0.iter().filter(|(right, s)| !beyond(**right, s));
        Some(Self(left.map(|(right, s)| (*right, s.clone())).collect()))
    }
}

/// Whether an object lies in one of the scopes, or is one: Cedar's `in`.
fn reaches(scopes: &HashSet<String>, resource: &ResourceFacts) -> bool {
    let is = resource.kind == ResourceType::Scope && scopes.contains(&resource.id);
    is || resource.scopes.iter().any(|id| scopes.contains(id))
}

#[cfg(test)]
mod tests;

//! What a caller's token says of its rights, as a grant carries it.

use interlock_policies::{PrincipalFacts, Role};
use serde::{Deserialize, Serialize};

/// The token's own word. What the policy bundle's grants file adds is looked up
/// anew whenever it is judged by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Standing {
    pub(super) tenants: Vec<String>,
    /// Role and scope.
    pub(super) roles: Vec<(String, String)>,
    pub(super) suspended: bool,
}

impl Standing {
    pub(super) fn of(facts: &PrincipalFacts) -> Self {
        let roles = facts.grants.iter();
        Self {
            tenants: facts.tenants.clone(),
            roles: roles
                .map(|(role, scope)| (role.as_str().to_owned(), scope.clone()))
                .collect(),
            suspended: facts.suspended,
        }
    }

    /// The role grants. A text that can name no role gives nothing, as in a
    /// token.
    pub(super) fn grants(&self) -> Vec<(Role, String)> {
        let roles = self.roles.iter();
        roles
            .filter_map(|(role, scope)| Some((Role::named(role)?, scope.clone())))
            .collect()
    }
}

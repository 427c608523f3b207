//! Roles are data: names for sets of relations.
//!
//! Policies know relations only. What a role gives is looked up here when a
//! principal is made, so that a new role is a line in the grants file and no
//! change to a policy.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;

use interlock_surface::Relation;
use serde::Deserialize;

/// The longest name of a role, in bytes.
const LONGEST: usize = 64;

/// The name of a role, as tokens and the grants file write it: 1 to 64 of
/// `a-z 0-9 -`, first a letter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Role(Cow<'static, str>);

impl Role {
    /// Looks and stops.
    pub const VIEWER: Self = Self::built_in("viewer");
    /// Commands, proposes, dispatches.
    pub const OPERATOR: Self = Self::built_in("operator");
    /// An operator who also drives by hand.
    pub const DRIVER: Self = Self::built_in("driver");
    /// An operator who also commands all of a group or site at once.
    pub const DISPATCHER: Self = Self::built_in("dispatcher");
    /// Decides on plans.
    pub const APPROVER: Self = Self::built_in("approver");
    /// Registers, moves and removes.
    pub const MANAGER: Self = Self::built_in("manager");
    /// Holds every relation.
    pub const ADMIN: Self = Self::built_in("admin");
    /// Holds every relation.
    pub const OWNER: Self = Self::built_in("owner");

    /// The roles that every bundle has, in the order of the access matrix.
    pub const BUILT_IN: [Self; 8] = [
        Self::VIEWER,
        Self::OPERATOR,
        Self::DRIVER,
        Self::DISPATCHER,
        Self::APPROVER,
        Self::MANAGER,
        Self::ADMIN,
        Self::OWNER,
    ];

    const fn built_in(name: &'static str) -> Self {
        Self(Cow::Borrowed(name))
    }

    /// A role by its name; `None` for a text that can name none. Whether the
    /// bundle has a role of this name is another question: one that it does not
    /// have gives nothing.
    pub fn named(name: &str) -> Option<Self> {
        let word = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
        let good = name.len() <= LONGEST
            && name.bytes().next().is_some_and(|b| b.is_ascii_lowercase())
            && name.bytes().all(word);
        good.then(|| Self(Cow::Owned(name.to_owned())))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Role {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let refusal = || format!("`{name}` is no role: 1 to 64 of a-z 0-9 -, first a letter");
        Self::named(&name).ok_or_else(refusal)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What each role gives: the built-in ones, and those of the grants file.
#[derive(Debug, Clone)]
pub struct Roles(HashMap<Role, Vec<Relation>>);

impl Default for Roles {
    fn default() -> Self {
        let built_in = Role::BUILT_IN.map(|role| {
            let relations = built_in(&role).to_vec();
            (role, relations)
        });
        Self(built_in.into())
    }
}

impl Roles {
    /// What a role gives; nothing when the bundle does not have it.
    pub fn relations(&self, role: &Role) -> &[Relation] {
        self.0.get(role).map_or(&[], Vec::as_slice)
    }

    /// Adds a role; `false` when one of this name is there.
    pub(crate) fn add(&mut self, role: Role, relations: Vec<Relation>) -> bool {
        let free = !self.0.contains_key(&role);
        if free {
            self.0.insert(role, relations);
        }
        free
    }

    /// The names of all roles, in order.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.0.keys().map(Role::as_str).collect();
        names.sort_unstable();
        names
    }
}

/// The table of the built-in roles. Each gives sight, and with it the stop; a
/// role of the grants file gives what it lists and nothing else.
fn built_in(role: &Role) -> &'static [Relation] {
    use Relation::{Approve, Bulk, Control, Drive, Manage, View};
    match role.as_str() {
        "viewer" => &[View],
        "operator" => &[View, Control],
        "driver" => &[View, Control, Drive],
        "dispatcher" => &[View, Control, Bulk],
        "approver" => &[View, Approve],
        "manager" => &[View, Manage],
        "admin" | "owner" => Relation::ALL,
        _ => &[],
    }
}

#[cfg(test)]
mod tests;

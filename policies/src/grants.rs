//! The grants file: who is whom, and who holds what where.
//!
//! Its form is documented in `policies/README.md`; `policies/examples/grants.json`
//! is an example that a test reads. Rights are looked up by the exact identity;
//! persons, bounds and suspensions by the canonical one, so that another spelling
//! gains nothing and escapes nothing.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use interlock_surface::Relation;
use interlock_surface::ids::is_id;
use serde::Deserialize;
use thiserror::Error;

use crate::bounds::Bound;
use crate::facts::{self, PrincipalFacts, Proposer};
use crate::identity;
use crate::roles::{Role, Roles};

/// The id of a person in the grants file.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PersonId(String);

impl PersonId {
    /// The id as written in the file.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PersonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What the grants file says about one identity.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Entry {
    /// The person it belongs to.
    pub person: Option<PersonId>,
    /// The person it acts for, being an identity of its own.
    pub acts_for: Option<PersonId>,
    /// The accounts it belongs to.
    pub tenants: Vec<String>,
    /// Its roles by scope.
    pub grants: Vec<(Role, String)>,
    /// Whether it, or the person it belongs to, is suspended.
    pub suspended: bool,
}

/// The grants file, looked up by identity.
#[derive(Debug, Default)]
pub struct Directory {
    // Rights by exact identity.
    rights: HashMap<String, Rights>,
    // Who an identity belongs to or acts for, by canonical identity.
    owners: HashMap<String, Owner>,
    // What holds back whoever acts for a person, by the person's id.
    people: HashMap<String, Limit>,
    roles: Roles,
}

#[derive(Debug, Default, Clone)]
struct Rights {
    tenants: Vec<String>,
    grants: Vec<(Role, String)>,
}

#[derive(Debug, Clone)]
struct Owner {
    person: Option<PersonId>,
    acts_for: Option<PersonId>,
    limit: Limit,
}

/// What holds back whoever acts for, or through, somebody.
#[derive(Debug, Clone)]
struct Limit {
    bound: Bound,
    suspended: bool,
}

/// What is wrong with a grants file.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum GrantsError {
    #[error("{message}")]
    Json {
        message: String,
        line: usize,
        column: usize,
    },
    /// A value that is not what its field takes; `value` is as written.
    #[error("{what}")]
    Value { what: String, value: String },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    #[serde(default)]
    roles: BTreeMap<Role, Vec<String>>,
    people: Vec<Person>,
    identities: Vec<Identity>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Person {
    id: String,
    identities: Vec<Key>,
    tenants: Option<Vec<String>>,
    grants: Option<Vec<Grant>>,
    #[serde(default)]
    suspended: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    issuer: String,
    subject: String,
    #[serde(rename = "actsFor")]
    acts_for: Option<String>,
    tenants: Option<Vec<String>>,
    grants: Option<Vec<Grant>>,
    #[serde(default)]
    suspended: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    issuer: String,
    subject: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Grant {
    role: Role,
    scope: String,
}

impl Directory {
    /// Reads a grants file.
    pub(crate) fn parse(text: &str) -> Result<Self, GrantsError> {
        let file: File = serde_json::from_str(text).map_err(|error| GrantsError::Json {
            message: error.to_string(),
            line: error.line(),
            column: error.column(),
        })?;
        if file.format != 1 {
            let what = format!("`format` is {}, and only 1 is known", file.format);
            return Err(value(what, "format"));
        }
        let mut directory = Self {
            roles: roles(file.roles)?,
            ..Self::default()
        };
        for person in &file.people {
            check_id("person id", &person.id)?;
            directory.add_person(person)?;
        }
        for identity in &file.identities {
            if let Some(person) = &identity.acts_for {
                directory.check_owner(person)?;
            }
            directory.add_identity(identity)?;
        }
        Ok(directory)
    }

    /// What each role gives: the built-in ones and those of the file.
    pub fn roles(&self) -> &Roles {
        &self.roles
    }

    /// What the file says about an identity; nothing when it is not listed.
    pub fn entry(&self, issuer: &str, subject: &str) -> Entry {
        let rights = self.rights.get(&identity::exact(issuer, subject));
        let rights = rights.cloned().unwrap_or_default();
        let owner = self.owner(issuer, subject);
        Entry {
            person: owner.and_then(|owner| owner.person.clone()),
            acts_for: owner.and_then(|owner| owner.acts_for.clone()),
            tenants: rights.tenants,
            grants: rights.grants,
            suspended: owner.is_some_and(|owner| owner.limit.suspended),
        }
    }

    /// All that is known of a caller: what its token says, what this file adds,
    /// and what bounds it. Whoever acts for a person, with an identity of its
    /// own, holds nothing that this file does not give the person; a delegate
    /// holds what the token's subject holds and, where the file gives the
    /// delegate something, nothing beyond that.
    pub fn completed(&self, token: &PrincipalFacts) -> PrincipalFacts {
        let mut facts = token.clone();
        let entry = self.entry(&facts.issuer, &facts.subject);
        facts.person = entry.person;
        facts.tenants.extend(entry.tenants);
        facts.grants.extend(entry.grants);
        facts.suspended |= entry.suspended;
        let delegate = facts.actor.as_deref();
        let delegate = delegate.and_then(|actor| self.owner(&facts.issuer, actor));
        let delegate = delegate.map(|owner| &owner.limit);
        let person = entry.acts_for;
        let person = person.and_then(|person| self.people.get(person.as_str()));
        for limit in delegate.into_iter().chain(person) {
            facts.suspended |= limit.suspended;
            if limit.bound != Bound::default() {
                facts.bounds.push(limit.bound.clone());
            }
        }
        facts
    }

    /// The canonical identities a proposal counts as coming from, and those of
    /// the persons its proposer acts for.
    pub(crate) fn proposer(&self, proposer: &Proposer) -> (HashSet<String>, HashSet<String>) {
        let Proposer {
            issuer,
            subject,
            actor,
        } = proposer;
        let mut identities = HashSet::new();
        let mut acts_for = HashSet::new();
        for subject in std::iter::once(subject).chain(actor) {
            let owner = self.owner(issuer, subject);
            let person = owner.and_then(|owner| owner.person.as_ref());
            identities.extend(facts::identities(issuer, subject, None, person));
            let person = owner.and_then(|owner| owner.acts_for.as_ref());
            acts_for.extend(person.map(|person| identity::alias(person.as_str())));
        }
        (identities, acts_for)
    }

    fn owner(&self, issuer: &str, subject: &str) -> Option<&Owner> {
        self.owners.get(&identity::canonical(issuer, subject))
    }

    fn add_person(&mut self, person: &Person) -> Result<(), GrantsError> {
        let limit = Limit {
            bound: self.check_rights(person.tenants.as_deref(), person.grants.as_deref())?,
            suspended: person.suspended,
        };
        if self
            .people
            .insert(person.id.clone(), limit.clone())
            .is_some()
        {
            let what = format!("person `{}` is listed twice", person.id);
            return Err(value(what, &person.id));
        }
        let owner = Owner {
            person: Some(PersonId(person.id.clone())),
            acts_for: None,
            limit,
        };
        for key in &person.identities {
            self.add(&key.issuer, &key.subject, owner.clone())?;
        }
        Ok(())
    }

    fn add_identity(&mut self, identity: &Identity) -> Result<(), GrantsError> {
        let (tenants, grants) = (identity.tenants.as_deref(), identity.grants.as_deref());
        let owner = Owner {
            person: None,
            acts_for: identity.acts_for.clone().map(PersonId),
            limit: Limit {
                bound: self.check_rights(tenants, grants)?,
                suspended: identity.suspended,
            },
        };
        self.add(&identity.issuer, &identity.subject, owner)
    }

    /// A person whom somebody acts for is listed with what they hold, since
    /// that bounds the other; holding nothing is said with an empty list.
    fn check_owner(&self, person: &str) -> Result<(), GrantsError> {
        let Some(Limit { bound, .. }) = self.people.get(person) else {
            let what = format!("`actsFor` names `{person}`, who is not in `people`");
            return Err(value(what, person));
        };
        let missing = match bound {
            Bound { tenants: None, .. } => "tenants",
            Bound { grants: None, .. } => "grants",
            Bound { .. } => return Ok(()),
        };
        let what = format!(
            "`actsFor` names `{person}`, for whom no `{missing}` are listed: who acts for a \
             person holds no more than this file gives the person, so list them, or `[]`"
        );
        Err(value(what, person))
    }

    fn check_rights(
        &self,
        tenants: Option<&[String]>,
        grants: Option<&[Grant]>,
    ) -> Result<Bound, GrantsError> {
        let granted = || grants.into_iter().flatten();
        let scopes = granted().map(|grant| &grant.scope);
        for scope in tenants.into_iter().flatten().chain(scopes) {
            check_id("scope id", scope)?;
        }
        for Grant { role, .. } in granted() {
            if self.roles.relations(role).is_empty() {
                let known = self.roles.names().join(", ");
                let what = format!("there is no role `{role}`; there are {known}");
                return Err(value(what, role.as_str()));
            }
        }
        let pair = |grant: &Grant| (grant.role.clone(), grant.scope.clone());
        Ok(Bound {
            tenants: tenants.map(<[String]>::to_vec),
            grants: grants.map(|grants| grants.iter().map(pair).collect()),
        })
    }

    fn add(&mut self, issuer: &str, subject: &str, owner: Owner) -> Result<(), GrantsError> {
        facts::check_issuer(issuer).map_err(|error| value(error.to_string(), issuer))?;
        facts::check_subject(subject).map_err(|error| value(error.to_string(), subject))?;
        let canonical = identity::canonical(issuer, subject);
        let Bound { tenants, grants } = owner.limit.bound.clone();
        let rights = Rights {
            tenants: tenants.unwrap_or_default(),
            grants: grants.unwrap_or_default(),
        };
        if self.owners.insert(canonical, owner).is_some() {
            let what = format!("identity `{subject}` of `{issuer}` is listed twice");
            return Err(value(what, subject));
        }
        self.rights.insert(identity::exact(issuer, subject), rights);
        Ok(())
    }
}

/// The built-in roles with those of the file.
fn roles(named: BTreeMap<Role, Vec<String>>) -> Result<Roles, GrantsError> {
    let mut roles = Roles::default();
    for (role, words) in named {
        let mut relations = Vec::new();
        for word in &words {
            let Some(relation) = Relation::parse(word) else {
                let known: Vec<&str> = Relation::ALL.iter().map(|r| r.as_str()).collect();
                let known = known.join(", ");
                let what = format!("role `{role}`: `{word}` is no relation; write one of {known}");
                return Err(value(what, word));
            };
            relations.push(relation);
        }
        if relations.is_empty() {
            let what = format!("role `{role}` gives nothing; list its relations");
            return Err(value(what, role.as_str()));
        }
        let name = role.as_str().to_owned();
        if !roles.add(role, relations) {
            let what = format!("role `{name}` is built in, and its relations are fixed");
            return Err(value(what, &name));
        }
    }
    Ok(roles)
}

fn check_id(what: &str, id: &str) -> Result<(), GrantsError> {
    if is_id(id) {
        return Ok(());
    }
    let rule = "1 to 64 of A-Z a-z 0-9 . _ : -, first a letter or digit";
    Err(value(format!("{what} `{id}` is not {rule}"), id))
}

fn value(what: String, value: &str) -> GrantsError {
    GrantsError::Value {
        what,
        value: value.to_owned(),
    }
}

#[cfg(test)]
mod tests;

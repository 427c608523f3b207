//! What a decision is made from: typed facts, checked when they are made.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use cedar_policy_core::ast::{Entity, EntityUID, EntityUIDEntry};
use interlock_surface::ResourceType;
use thiserror::Error;

use crate::bounds::{Bound, Reach};
use crate::grants::PersonId;
use crate::roles::{Role, Roles};
use crate::{identity, slice};

/// The scope that every existing object lies in, besides its own.
pub const INSTALLATION: &str = "installation";

/// What kind of caller a principal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PrincipalKind {
    /// A human being.
    Person,
    /// A software agent acting with an identity or a delegation.
    Agent,
    /// A machine client with rights of its own.
    Service,
    /// A caller without a token.
    Anonymous,
}

impl PrincipalKind {
    /// Every kind, in the order of the access matrix.
    pub const ALL: [Self; 4] = [Self::Person, Self::Agent, Self::Service, Self::Anonymous];

    /// The name of the kind, which is also its Cedar entity type.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Person => "Person",
            Self::Agent => "Agent",
            Self::Service => "Service",
            Self::Anonymous => "Anonymous",
        }
    }
}

/// How the gateway is deployed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// No identity provider; loopback only; everyone is the local operator.
    Open,
    /// Every token is verified.
    Enforced,
}

impl Mode {
    /// The name of the mode, as in the schema.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Enforced => "enforced",
        }
    }
}

/// What is known about a caller once its token is verified.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrincipalFacts {
    /// What kind of caller.
    pub kind: PrincipalKind,
    /// `iss` of the token; no white space.
    pub issuer: String,
    /// `sub` of the token.
    pub subject: String,
    /// Who acts for the subject: `act.sub` of the token (RFC 8693), of the same
    /// issuer.
    pub actor: Option<String>,
    /// The person this identity belongs to, from [`crate::Directory`].
    pub person: Option<PersonId>,
    /// The scopes of the accounts the caller belongs to.
    pub tenants: Vec<String>,
    /// Roles by scope, from the token and the grants file together. One that
    /// the bundle does not have gives nothing.
    pub grants: Vec<(Role, String)>,
    /// What it holds at most, by the word on those it acts for or through.
    /// Within each of them.
    pub bounds: Vec<Bound>,
    /// A suspended principal keeps sight, calming and stop, and nothing else.
    pub suspended: bool,
}

/// Who proposed a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proposer {
    /// `iss` of the token that proposed.
    pub issuer: String,
    /// `sub` of the token that proposed.
    pub subject: String,
    /// `act.sub` of the token that proposed.
    pub actor: Option<String>,
}

/// What is known about the object a request is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceFacts {
    /// Its type, which the row must name too.
    pub kind: ResourceType,
    /// Its id.
    pub id: String,
    /// Every scope it lies in, ancestors and [`INSTALLATION`] included. A
    /// missing object lies in none.
    pub scopes: Vec<String>,
    /// For a plan: who proposed it.
    pub proposer: Option<Proposer>,
    /// How the vehicle stands that it is, or that a plan is for.
    pub state: VehicleState,
}

/// What the registry says of a vehicle and of the scopes it lies in, as far as
/// guards ask. The default stands in nobody's way.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VehicleState {
    /// It is to be left alone but for looking, calming and stopping.
    pub quarantined: bool,
    /// Its site has quiet hours now, by the clock of the site.
    pub quiet: bool,
    /// Its account is suspended.
    pub suspended: bool,
    /// What the plan of its account includes. `None`, an account without such a
    /// list, includes everything: where no plans are sold there is nothing to
    /// withhold, and a fact that is missing by mistake must not strand a fleet.
    pub features: Option<BTreeSet<String>>,
}

/// Facts of the request that belong to neither principal nor resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextFacts {
    /// How the gateway is deployed.
    pub mode: Mode,
    /// Whether the connection comes from this machine.
    pub loopback: bool,
    /// The command kind, where one path carries several.
    pub kind: Option<String>,
    /// How long the command is to live, in milliseconds; 0 when it says nothing.
    pub ttl_ms: i64,
    /// Whether the request carries a valid Idempotency-Key.
    pub idempotency_key: bool,
}

/// Why facts are no principal.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FactsError {
    /// The issuer is empty or has characters no issuer can have.
    #[error("issuer `{0}` is empty or contains white space or control characters")]
    Issuer(String),
    /// The subject or the actor is empty or has control characters.
    #[error("subject `{0}` is empty or contains control characters")]
    Subject(String),
    /// A caller without a token cannot hold anything.
    #[error("an anonymous caller can hold no tenants, grants, person or actor")]
    Anonymous,
    /// A type name of ours is none of Cedar's: a fault of this program.
    #[error("no such entity type: {0}")]
    Name(String),
}

/// A principal made ready for decisions: its entity, built once per token.
///
/// Cloning is cheap.
#[derive(Debug, Clone)]
pub struct Principal(Arc<Prepared>);

#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) kind: PrincipalKind,
    pub(crate) entry: EntityUIDEntry,
    entity: Arc<Entity>,
    bounded: Option<Bounded>,
}

/// A caller who holds nothing beyond some bounds.
#[derive(Debug)]
struct Bounded {
    facts: PrincipalFacts,
    reach: Reach,
    bounds: Vec<Reach>,
}

impl Principal {
    /// Checks the facts, expands the roles and builds the entity.
    ///
    /// # Errors
    /// The facts are none that a verified token can give.
    pub fn prepare(facts: &PrincipalFacts, roles: &Roles) -> Result<Self, FactsError> {
        check_issuer(&facts.issuer)?;
        check_subject(&facts.subject)?;
        if let Some(actor) = &facts.actor {
            check_subject(actor)?;
        }
        let holds = !(facts.tenants.is_empty() && facts.grants.is_empty())
            || facts.person.is_some()
            || !facts.bounds.is_empty()
            || facts.actor.is_some();
        if facts.kind == PrincipalKind::Anonymous && holds {
            return Err(FactsError::Anonymous);
        }
        let reach = Reach::of(Some(&facts.tenants), Some(&facts.grants), roles);
        let entity = entity(facts, &reach)?;
        let bound =
            |bound: &Bound| Reach::of(bound.tenants.as_deref(), bound.grants.as_deref(), roles);
        let bounded = (!facts.bounds.is_empty()).then(|| Bounded {
            facts: facts.clone(),
            bounds: facts.bounds.iter().map(bound).collect(),
            reach,
        });
        Ok(Self(Arc::new(Prepared {
            kind: facts.kind,
            entry: entry(entity.uid().clone()),
            entity: Arc::new(entity),
            bounded,
        })))
    }

    /// What kind of caller this is.
    pub fn kind(&self) -> PrincipalKind {
        self.0.kind
    }

    pub(crate) fn prepared(&self) -> &Prepared {
        &self.0
    }
}

impl Prepared {
    /// The entity with all that the caller holds, whatever bounds it.
    pub(crate) fn anywhere(&self) -> &Entity {
        &self.entity
    }

    /// The entity to judge a call on this object by: the one that was prepared,
    /// unless the caller would hold more there than its bounds.
    pub(crate) fn entity(&self, resource: &ResourceFacts) -> Result<Arc<Entity>, FactsError> {
        let less = self.bounded.as_ref().and_then(|bounded| {
            let left = bounded.reach.within(&bounded.bounds, resource)?;
            Some(entity(&bounded.facts, &left))
        });
        match less {
            Some(entity) => Ok(Arc::new(entity?)),
            None => Ok(Arc::clone(&self.entity)),
        }
    }
}

fn entity(facts: &PrincipalFacts, reach: &Reach) -> Result<Entity, FactsError> {
    slice::principal(facts, reach).map_err(|error| FactsError::Name(error.to_string()))
}

impl PrincipalFacts {
    /// The canonical forms this caller counts as: itself, whoever acts in its
    /// name, and the person it belongs to.
    pub(crate) fn identities(&self) -> HashSet<String> {
        identities(
            &self.issuer,
            &self.subject,
            self.actor.as_deref(),
            self.person.as_ref(),
        )
    }
}

/// The canonical forms of one caller.
pub(crate) fn identities(
    issuer: &str,
    subject: &str,
    actor: Option<&str>,
    person: Option<&PersonId>,
) -> HashSet<String> {
    let mut set = HashSet::from([identity::canonical(issuer, subject)]);
    set.extend(actor.map(|actor| identity::canonical(issuer, actor)));
    set.extend(person.map(|person| identity::alias(person.as_str())));
    set
}

pub(crate) fn entry(uid: EntityUID) -> EntityUIDEntry {
    EntityUIDEntry::known(uid, None)
}

/// An issuer is a URL, or the name of a built-in issuer: one word.
pub(crate) fn check_issuer(issuer: &str) -> Result<(), FactsError> {
    let bad = |c: char| c.is_whitespace() || c.is_control();
    if issuer.is_empty() || issuer.contains(bad) {
        return Err(FactsError::Issuer(issuer.to_owned()));
    }
    Ok(())
}

pub(crate) fn check_subject(subject: &str) -> Result<(), FactsError> {
    if subject.trim().is_empty() || subject.contains(char::is_control) {
        return Err(FactsError::Subject(subject.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests;

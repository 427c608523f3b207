//! From facts to Cedar entities, and the three-entity slice of one decision.
//!
//! This is the one module that builds entities, and the only one that calls
//! Cedar's core for it: the public constructors compute an ancestor closure
//! that is already known here, at ten times the cost.
//!
//! INVARIANT: a slice holds principal, action and resource. Without the action
//! entity `action in Action::"group"` is false without an error, which would
//! silently switch guards off. Policies are validated at level 1, so no policy
//! can look further than these three.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cedar_policy::{Entities, Schema};
use cedar_policy_core::ast::{
    Context, Eid, Entity, EntityType, EntityUID, EntityUIDEntry, PartialValue, Value,
};
use cedar_policy_core::entities::err::EntitiesError;
use cedar_policy_core::entities::{Entities as CoreEntities, NoEntitiesSchema, TCComputation};
use cedar_policy_core::extensions::Extensions;
use cedar_policy_core::parser::err::ParseErrors;
use interlock_surface::{Relation, ResourceType};
use thiserror::Error;

use crate::bounds::{Reach, Right};
use crate::facts::{ContextFacts, Mode, PrincipalFacts, ResourceFacts, VehicleState};

/// The Cedar action that asks whether a caller may know of an object.
pub(crate) const OBSERVE: &str = "observe";

/// An action of the schema, ready to be put into requests and slices.
#[derive(Debug, Clone)]
pub(crate) struct Action {
    pub(crate) entry: EntityUIDEntry,
    pub(crate) entity: Arc<Entity>,
}

/// A resource, ready to be put into requests and slices.
#[derive(Debug)]
pub(crate) struct Resource {
    pub(crate) entry: EntityUIDEntry,
    pub(crate) entity: Arc<Entity>,
}

/// Names and constant values, parsed once per bundle.
#[derive(Debug)]
pub(crate) struct Vocabulary {
    scope: EntityType,
    types: HashMap<String, EntityType>,
    open: Value,
    enforced: Value,
}

/// A type that facts speak of and the schema does not declare.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("the schema declares no entity type `{0}`")]
pub(crate) struct UnknownType(pub(crate) String);

impl Vocabulary {
    pub(crate) fn of(schema: &Schema) -> Result<Self, UnknownType> {
        let declared = schema.entity_types().map(|name| {
            let name: &EntityType = name.as_ref();
            (name.to_string(), name.clone())
        });
        let types: HashMap<String, EntityType> = declared.collect();
        let named = |name: &str| {
            let found = types.get(name).cloned();
            found.ok_or_else(|| UnknownType(name.to_owned()))
        };
        let scope = named("Scope")?;
        let mode = named("Mode")?;
        Ok(Self {
            scope,
            types,
            open: Value::from(uid(&mode, Mode::Open.as_str())),
            enforced: Value::from(uid(&mode, Mode::Enforced.as_str())),
        })
    }

    /// The entity of an object. `proposer` holds the canonical identities of
    /// whoever proposed a plan and of the persons they act for.
    pub(crate) fn resource(
        &self,
        facts: &ResourceFacts,
        proposer: Option<(HashSet<String>, HashSet<String>)>,
    ) -> Result<Resource, UnknownType> {
        let name = facts.kind.as_str();
        let kind = self.types.get(name);
        let kind = kind.ok_or_else(|| UnknownType(name.to_owned()))?;
        let uid = uid(kind, &facts.id);
        // A scope lies in itself without being its own ancestor.
        let parents = facts.scopes.iter().map(|id| self::uid(&self.scope, id));
        let parents = parents.filter(|parent| *parent != uid);
        let proposer = proposer.map(|(identities, acts_for)| {
            let value = Value::record(
                [
                    ("identities", strings(identities)),
                    ("acts_for", strings(acts_for)),
                ],
                None,
            );
            ("proposer".into(), PartialValue::from(value))
        });
        let stands = matches!(facts.kind, ResourceType::Mower | ResourceType::Plan);
        let state = stands.then(|| ("state".into(), PartialValue::from(state(&facts.state))));
        let attributes = proposer.into_iter().chain(state);
        let entity = Entity::new_with_attr_partial_value(
            uid.clone(),
            attributes,
            HashSet::new(),
            parents.collect(),
            [],
        );
        Ok(Resource {
            entry: EntityUIDEntry::known(uid, None),
            entity: Arc::new(entity),
        })
    }

    pub(crate) fn context(&self, facts: &ContextFacts) -> Context {
        let mode = match facts.mode {
            Mode::Open => &self.open,
            Mode::Enforced => &self.enforced,
        };
        let required = [
            ("mode", mode.clone()),
            ("loopback", Value::from(facts.loopback)),
            ("ttl_ms", Value::from(facts.ttl_ms)),
            ("idempotency_key", Value::from(facts.idempotency_key)),
        ];
        let kind = facts.kind.as_deref().map(|kind| ("kind", kind.into()));
        let pairs = required.into_iter().chain(kind);
        Context::Value(Arc::new(pairs.map(|(key, v)| (key.into(), v)).collect()))
    }
}

/// The entity of a caller: what it holds as the scopes of each relation.
pub(crate) fn principal(facts: &PrincipalFacts, reach: &Reach) -> Result<Entity, Box<ParseErrors>> {
    let scope: EntityType = "Scope".parse().map_err(Box::new)?;
    let kind: EntityType = facts.kind.as_str().parse().map_err(Box::new)?;
    let scopes = |right: Right| {
        let uids = reach.scopes(right).map(|id| Value::from(uid(&scope, id)));
        Value::set(uids, None)
    };
    let relation = |relation: &Relation| (relation.as_str(), scopes(Right::Relation(*relation)));
    let attributes = [
        ("identities", strings(facts.identities())),
        ("tenants", scopes(Right::Tenant)),
        (
            "grants",
            Value::record(Relation::ALL.iter().map(relation), None),
        ),
        ("suspended", Value::from(facts.suspended)),
    ];
    let id = crate::identity::exact(&facts.issuer, &facts.subject);
    Ok(Entity::new_with_attr_partial_value(
        uid(&kind, &id),
        attributes.map(|(key, value)| (key.into(), PartialValue::from(value))),
        HashSet::new(),
        HashSet::new(),
        [],
    ))
}

/// Every action of the schema by name, with its groups as ancestors.
pub(crate) fn actions(schema: &Schema) -> Result<HashMap<String, Action>, Box<EntitiesError>> {
    let named = |entity: &cedar_policy::Entity| {
        let entity: &Entity = entity.as_ref();
        let uid = entity.uid().clone();
        let action = Action {
            entry: EntityUIDEntry::known(uid.clone(), None),
            entity: Arc::new(entity.clone()),
        };
        (uid.eid().as_ref().to_owned(), action)
    };
    let entities = schema.action_entities().map_err(Box::new)?;
    Ok(entities.iter().map(named).collect())
}

/// The slice of one decision: all that a level 1 policy can read.
pub(crate) fn slice(
    principal: &Arc<Entity>,
    action: &Action,
    resource: &Resource,
) -> Result<Entities, Box<EntitiesError>> {
    let entities = [
        Arc::clone(principal),
        Arc::clone(&action.entity),
        Arc::clone(&resource.entity),
    ];
    let core = CoreEntities::new().add_entities(
        entities,
        None::<&NoEntitiesSchema>,
        TCComputation::AssumeAlreadyComputed,
        Extensions::none(),
    );
    Ok(Entities::from(core.map_err(Box::new)?))
}

fn state(state: &VehicleState) -> Value {
    let flags = [
        ("quarantined", Value::from(state.quarantined)),
        ("quiet", Value::from(state.quiet)),
        ("suspended", Value::from(state.suspended)),
    ];
    let features = state.features.as_ref();
    let features = features.map(|set| ("features", strings(set.iter().cloned())));
    Value::record(flags.into_iter().chain(features), None)
}

fn strings(set: impl IntoIterator<Item = String>) -> Value {
    Value::set(set.into_iter().map(Value::from), None)
}

fn uid(kind: &EntityType, id: &str) -> EntityUID {
    EntityUID::from_components(kind.clone(), Eid::new(id), None)
}

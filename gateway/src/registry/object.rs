//! One registered object as memory keeps it.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::attributes::Attributes;
use crate::plans::ObjectRef;
use crate::store::{Change, RegistryObject};

/// An object with its tombstone flag: the form of the snapshot on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Object {
    /// Resource type, such as `Swarm`, or `Scope`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Unique within its type.
    pub id: String,
    /// The service that may change it; on a tombstone the last one known.
    pub owner: String,
    /// Grows with every change; an older one changes nothing.
    pub revision: u64,
    /// The scopes it hangs in. An account has none.
    #[serde(default)]
    pub parents: Vec<String>,
    /// Facts for policies.
    #[serde(default)]
    pub attributes: Map<String, Value>,
    /// A tombstone keeps its revision, so that a late put cannot revive it.
    #[serde(default)]
    pub deleted: bool,
}

impl From<&RegistryObject> for Object {
    fn from(object: &RegistryObject) -> Self {
        Object {
            kind: object.kind.clone(),
            id: object.id.clone(),
            owner: object.owner.clone(),
            revision: object.revision,
            parents: object.parents.clone(),
            attributes: object.attributes.clone(),
            deleted: false,
        }
    }
}

impl From<&Change> for Object {
    fn from(change: &Change) -> Self {
        match &change.object {
            Some(object) => object.into(),
            None => Object {
                kind: change.key.kind.clone(),
                id: change.key.id.clone(),
                owner: String::new(),
                revision: change.revision,
                parents: Vec::new(),
                attributes: Map::new(),
                deleted: true,
            },
        }
    }
}

impl Object {
    /// Its name.
    pub fn key(&self) -> ObjectRef {
        ObjectRef {
            kind: self.kind.clone(),
            id: self.id.clone(),
        }
    }

    /// The form of the store; `None` for a tombstone.
    pub fn registered(&self) -> Option<RegistryObject> {
        (!self.deleted).then(|| RegistryObject {
            kind: self.kind.clone(),
            id: self.id.clone(),
            owner: self.owner.clone(),
            revision: self.revision,
            parents: self.parents.clone(),
            attributes: self.attributes.clone(),
        })
    }
}

/// What many objects have in common, kept once for all of them.
#[derive(Clone, Debug)]
pub struct Place {
    /// Resource type.
    pub kind: String,
    /// The service that may change the object.
    pub owner: String,
    /// The scopes it hangs in.
    pub parents: Vec<String>,
    /// Facts for policies.
    pub attributes: Map<String, Value>,
    /// Those attributes, read.
    pub(super) facts: Attributes,
}

impl Place {
    /// The place of `object`, its attributes read.
    pub(super) fn of(object: &Object) -> Self {
        Place {
            kind: object.kind.clone(),
            owner: object.owner.clone(),
            parents: object.parents.clone(),
            facts: Attributes::or_still(&object.kind, &object.id, &object.attributes),
            attributes: object.attributes.clone(),
        }
    }

    /// Everything that the rest follows from.
    fn given(&self) -> (&str, &str, &[String], &Map<String, Value>) {
        (&self.kind, &self.owner, &self.parents, &self.attributes)
    }
}

impl PartialEq for Place {
    fn eq(&self, other: &Self) -> bool {
        self.given() == other.given()
    }
}

impl Eq for Place {}

impl Hash for Place {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.given().hash(state);
    }
}

/// What memory keeps of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// Its type, owner and parents.
    pub place: Arc<Place>,
    /// The revision last taken over.
    pub revision: u64,
    /// Whether this is a tombstone.
    pub deleted: bool,
}

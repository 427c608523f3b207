//! Where an object lies and what that makes of it, found by walking up from it:
//! a handful of lookups, and a change of a scope costs no more than itself.

use std::collections::BTreeSet;
use std::sync::Arc;

use interlock_policies::{INSTALLATION, VehicleState};
use interlock_surface::ids::is_uuid;
use jiff::Timestamp;

use super::object::Place;
use super::{Registry, SCOPE_TYPE};

/// What the registry knows of one object at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Every scope it lies in: itself where it is one, ancestors and
    /// [`INSTALLATION`] included.
    pub scopes: Vec<String>,
    /// What guards ask of it: quarantined by itself, quiet as the nearest scope
    /// with quiet hours has them now, suspended as any scope above, features as
    /// every account above that lists them has booked.
    pub state: VehicleState,
    /// Which state of the object this is.
    pub revision: u64,
}

impl Resolved {
    /// Whether it is a scope with nothing above it but the installation: an
    /// account.
    pub fn is_account(&self, id: &str) -> bool {
        let mut scopes = self.scopes.iter();
        scopes.all(|scope| scope == id || scope == INSTALLATION)
    }
}

/// One step of the walk.
struct Found {
    id: String,
    /// None for a scope that nobody registered: an account without attributes.
    place: Option<Arc<Place>>,
    /// Steps from the object.
    distance: usize,
}

impl Registry {
    /// Resolves an object at `now`; `None` for one that nobody registered.
    ///
    /// An object whose id is a UUID is a scope of itself, so that a role can be
    /// given on it alone. Other ids could be those of a scope.
    pub fn resolve(&self, kind: &str, id: &str, now: Timestamp) -> Option<Resolved> {
        let known = self.objects.get(kind, id)?;
        if known.deleted {
            return None;
        }
        let own = &known.place.facts;
        let found = self.above(kind, id, &known.place);
        let places = || {
            found
                .iter()
                .filter_map(|step| Some((step, step.place.as_ref()?)))
        };
        let nearest = places()
            .filter(|(_, place)| place.facts.quiet_hours.is_some())
            .map(|(step, _)| step.distance)
            .min();
        let quiet = places().any(|(step, place)| {
            let hours = &place.facts.quiet_hours;
            Some(step.distance) == nearest && hours.as_ref().is_some_and(|hours| hours.hold(now))
        });
        Some(Resolved {
            state: VehicleState {
                quarantined: own.quarantined,
                quiet,
                suspended: places().any(|(_, place)| place.facts.suspended),
                features: features(&found),
            },
            revision: known.revision,
            scopes: scopes(kind, id, found),
        })
    }

    /// The scopes above an object, itself where it is a scope, nearest first
    /// and each once: a cycle ends where it closes.
    fn above(&self, kind: &str, id: &str, place: &Arc<Place>) -> Vec<Found> {
        let mut found: Vec<Found> = Vec::with_capacity(place.parents.len() + 2);
        if kind == SCOPE_TYPE {
            found.push(Found {
                id: id.to_owned(),
                place: Some(Arc::clone(place)),
                distance: 0,
            });
        }
        let mut open = vec![Arc::clone(place)];
        let mut distance = 0;
        while !open.is_empty() {
            distance += 1;
            let mut next = Vec::new();
            for parent in open.iter().flat_map(|place| &place.parents) {
                // A handful, so that a set would cost more than it saves.
                if found.iter().any(|step| step.id == *parent) {
                    continue;
                }
                let scope = self.objects.get(SCOPE_TYPE, parent);
                let place = scope
                    .filter(|scope| !scope.deleted)
                    .map(|scope| scope.place);
                next.extend(place.clone());
                found.push(Found {
                    id: parent.clone(),
                    place,
                    distance,
                });
            }
            open = next;
        }
        found
    }
}

/// What every account above that lists features has booked; none where no list
/// stands, and everything is included.
fn features(found: &[Found]) -> Option<BTreeSet<String>> {
    let accounts = found.iter().filter_map(|step| step.place.as_ref());
    let accounts = accounts.filter(|place| place.parents.is_empty());
    let listed = accounts.filter_map(|place| place.facts.features.clone());
    listed.reduce(|common, booked| &common & &booked)
}

fn scopes(kind: &str, id: &str, found: Vec<Found>) -> Vec<String> {
    let mut scopes: Vec<String> = Vec::with_capacity(found.len() + 2);
    if kind != SCOPE_TYPE && is_uuid(id) {
        scopes.push(id.to_owned());
    }
    for step in found {
        if !scopes.contains(&step.id) {
            scopes.push(step.id);
        }
    }
    if !scopes.iter().any(|scope| scope == INSTALLATION) {
        scopes.push(INSTALLATION.to_owned());
    }
    scopes
}

use proptest::prelude::{ProptestConfig, any, prop, proptest};

use interlock_policies::INSTALLATION;

use super::{Object, Registry, load, save};

fn object(kind: &str, id: &str, revision: u64, parents: &[&str]) -> Object {
    Object {
        kind: kind.into(),
        id: id.into(),
        owner: "drones".into(),
        revision,
        parents: parents.iter().map(|parent| (*parent).into()).collect(),
        attributes: serde_json::Map::new(),
        deleted: false,
    }
}

fn check(registry: &Registry, kind: &str, id: &str, expected: Option<&[&str]>) {
    let mut found = registry.scopes_of(kind, id);
    if let Some(scopes) = &mut found {
        scopes.sort();
    }
    let expected = expected.map(|scopes| {
        let mut scopes: Vec<String> = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        scopes.push(INSTALLATION.to_owned());
        scopes.sort();
        scopes
    });
    assert_eq!(found, expected, "{kind} {id}");
}

#[test]
fn an_object_lies_in_its_parents_and_all_their_ancestors() {
    let registry = Registry::default();
    registry.apply(&object("Scope", "north", 1, &["acme"]));
    registry.apply(&object("Scope", "lawns", 1, &["north", "south"]));
    registry.apply(&object("Swarm", "swarm-1", 1, &["lawns"]));
    check(
        &registry,
        "Swarm",
        "swarm-1",
        Some(&["lawns", "north", "south", "acme"]),
    );
    check(&registry, "Scope", "north", Some(&["north", "acme"]));
    check(&registry, "Swarm", "swarm-2", None);
    check(&registry, "Plan", "swarm-1", None);
}

#[test]
fn a_moved_site_moves_what_hangs_in_it() {
    let registry = Registry::default();
    registry.apply(&object("Scope", "north", 1, &["acme"]));
    registry.apply(&object("Swarm", "swarm-1", 1, &["north"]));
    registry.apply(&object("Scope", "north", 2, &["other"]));
    check(&registry, "Swarm", "swarm-1", Some(&["north", "other"]));
}

#[test]
fn a_cycle_of_scopes_ends() {
    let registry = Registry::default();
    registry.apply(&object("Scope", "a", 1, &["b"]));
    registry.apply(&object("Scope", "b", 1, &["a"]));
    registry.apply(&object("Swarm", "swarm-1", 1, &["a"]));
    check(&registry, "Swarm", "swarm-1", Some(&["a", "b"]));
}

#[test]
fn an_older_revision_changes_nothing() {
    let registry = Registry::default();
    assert!(registry.apply(&object("Swarm", "swarm-1", 2, &["acme"])));
    assert!(!registry.apply(&object("Swarm", "swarm-1", 2, &["other"])));
    assert!(!registry.apply(&object("Swarm", "swarm-1", 1, &["other"])));
    check(&registry, "Swarm", "swarm-1", Some(&["acme"]));
}

#[test]
fn a_tombstone_outlives_a_late_put() {
    let registry = Registry::default();
    registry.apply(&object("Swarm", "swarm-1", 1, &["acme"]));
    let mut tombstone = object("Swarm", "swarm-1", 3, &["acme"]);
    tombstone.deleted = true;
    assert!(registry.apply(&tombstone));
    check(&registry, "Swarm", "swarm-1", None);
    assert!(!registry.apply(&object("Swarm", "swarm-1", 2, &["acme"])));
    check(&registry, "Swarm", "swarm-1", None);
}

#[test]
fn a_snapshot_brings_everything_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.json");
    let before = Registry::default();
    before.apply(&object("Scope", "north", 1, &["acme"]));
    before.apply(&object("Swarm", "swarm-1", 7, &["north"]));
    save(&before, &path).unwrap();
    let after = Registry::default();
    assert_eq!(load(&after, &path).unwrap(), 2);
    check(&after, "Swarm", "swarm-1", Some(&["north", "acme"]));
    assert_eq!(after.known("Swarm", "swarm-1").unwrap().revision, 7);
}

#[test]
fn a_cut_snapshot_is_an_error_and_a_missing_one_is_empty() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("registry.json");
    let registry = Registry::default();
    assert_eq!(load(&registry, &path).unwrap(), 0);
    std::fs::write(&path, "{\"objects\":[{\"type\":").unwrap();
    let error = load(&registry, &path).unwrap_err().to_string();
    assert!(
        error.contains("registry.json") && error.contains("does not parse"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the order of arrival, the highest revision stands.
    #[test]
    fn order_does_not_matter(changes in prop::collection::vec((0_u8..8, 1_u64..20, any::<bool>()), 1..60)) {
        let registry = Registry::default();
        let mut best = std::collections::HashMap::new();
        for (id, revision, deleted) in changes {
            let mut change = object("Swarm", &format!("s{id}"), revision, &["acme"]);
            change.deleted = deleted;
            registry.apply(&change);
            let known = best.entry(id).or_insert((revision, deleted));
            if known.0 < revision {
                *known = (revision, deleted);
            }
        }
        for (id, (revision, deleted)) in best {
            let known = registry.known("Swarm", &format!("s{id}")).unwrap();
            assert_eq!((known.revision, known.deleted), (revision, deleted));
        }
    }
}

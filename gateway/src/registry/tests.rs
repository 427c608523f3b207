use proptest::prelude::{ProptestConfig, any, prop, proptest};

use interlock_policies::INSTALLATION;
use jiff::Timestamp;
use serde_json::{Value, json};

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
    let found = registry.resolve(kind, id, Timestamp::UNIX_EPOCH);
    let mut found = found.map(|object| object.scopes);
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

fn with(object: Object, attributes: Value) -> Object {
    match attributes {
        Value::Object(attributes) => Object {
            attributes,
            ..object
        },
        other => panic!("{other} is no object"),
    }
}

#[test]
fn only_an_object_named_by_a_uuid_is_a_scope_of_itself() {
    let id = "0197b1f0-0000-7000-8000-000000000001";
    let registry = Registry::default();
    registry.apply(&object("Swarm", id, 1, &["acme"]));
    // A text could be the name of a scope, and would open the object to it.
    registry.apply(&object("Swarm", "beta", 1, &["acme"]));
    check(&registry, "Swarm", id, Some(&[id, "acme"]));
    check(&registry, "Swarm", "beta", Some(&["acme"]));
}

#[test]
fn an_account_is_a_scope_with_nothing_above_it() {
    let registry = Registry::default();
    registry.apply(&object("Scope", "acme", 1, &[]));
    registry.apply(&object("Scope", "beta", 1, &["installation"]));
    registry.apply(&object("Scope", "north", 1, &["acme"]));
    for (id, expected) in [("acme", true), ("beta", true), ("north", false)] {
        let found = registry.resolve("Scope", id, Timestamp::UNIX_EPOCH);
        assert_eq!(found.expect("registered").is_account(id), expected, "{id}");
    }
}

#[test]
fn facts_come_from_where_the_object_lies() {
    let night = json!([{ "from": "22:00", "to": "06:00" }]);
    let registry = Registry::default();
    registry.apply(&with(
        object("Scope", "acme", 1, &[]),
        json!({ "features": ["control", "bulk"], "time_zone": "UTC", "quiet_hours": night }),
    ));
    registry.apply(&object("Scope", "north", 1, &["acme"]));
    registry.apply(&with(
        object("Scope", "south", 1, &["acme"]),
        json!({ "time_zone": "UTC", "quiet_hours": [] }),
    ));
    registry.apply(&object("Swarm", "n", 4, &["north"]));
    registry.apply(&with(
        object("Swarm", "s", 1, &["south"]),
        json!({ "quarantined": true }),
    ));
    let at = |id: &str, now: &str| {
        let now = now.parse().expect("a time");
        let found = registry.resolve("Swarm", id, now).expect("registered");
        (
            found.state.quiet,
            found.state.quarantined,
            found.state.suspended,
            found.state.features.map(|features| features.len()),
        )
    };
    let (noon, midnight) = ("2026-01-15T12:00:00Z", "2026-01-15T23:00:00Z");
    assert_eq!(at("n", noon), (false, false, false, Some(2)));
    assert_eq!(at("n", midnight), (true, false, false, Some(2)));
    // The nearest scope that says anything counts, and this one says never.
    assert_eq!(at("s", midnight), (false, true, false, Some(2)));
    assert_eq!(
        registry
            .resolve("Swarm", "n", Timestamp::UNIX_EPOCH)
            .unwrap()
            .revision,
        4
    );

    registry.apply(&with(
        object("Scope", "acme", 2, &[]),
        json!({ "suspended": true }),
    ));
    assert_eq!(at("n", midnight), (false, false, true, None));
}

#[test]
fn features_are_what_every_account_has_booked() {
    let registry = Registry::default();
    let booked = |id: &str, revision, names: Value| {
        let account = with(
            object("Scope", id, revision, &[]),
            json!({ "features": names }),
        );
        registry.apply(&account)
    };
    booked("acme", 1, json!(["control", "bulk"]));
    registry.apply(&object("Swarm", "s", 1, &["acme", "beta"]));
    let features = || {
        let found = registry.resolve("Swarm", "s", Timestamp::UNIX_EPOCH);
        found.and_then(|object| object.state.features)
    };
    let names = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
    // An account that lists nothing has everything.
    assert_eq!(features(), names(&["bulk", "control"]));
    booked("beta", 1, json!(["control"]));
    assert_eq!(features(), names(&["control"]));
    booked("acme", 2, json!([]));
    assert_eq!(features(), names(&[]));
}

#[test]
fn a_scope_takes_part_in_its_own_quiet_hours() {
    let registry = Registry::default();
    registry.apply(&with(
        object("Scope", "north", 1, &["acme"]),
        json!({ "time_zone": "UTC", "quiet_hours": [{ "from": "00:00", "to": "24:00" }] }),
    ));
    assert!(
        registry
            .resolve("Scope", "north", Timestamp::UNIX_EPOCH)
            .unwrap()
            .state
            .quiet
    );
}

#[test]
fn places_that_nobody_is_at_are_forgotten() {
    let registry = Registry::default();
    for revision in 1..10_000 {
        let parent = format!("site-{revision}");
        registry.apply(&object("Swarm", "s", revision, &[&parent]));
    }
    assert!(
        registry.places() < 100,
        "{} places are kept",
        registry.places()
    );
}

#[tokio::test]
async fn a_revision_is_waited_for() {
    let registry = std::sync::Arc::new(Registry::default());
    registry.apply(&object("Swarm", "s", 2, &["acme"]));
    registry.reaches("Swarm", "s", 2).await;
    let shared = std::sync::Arc::clone(&registry);
    let mut waiting = tokio::spawn(async move { shared.reaches("Swarm", "s", 4).await });
    tokio::task::yield_now().await;
    registry.apply(&object("Swarm", "s", 3, &["acme"]));
    tokio::task::yield_now().await;
    assert!(!waiting.is_finished());
    registry.apply(&Object {
        deleted: true,
        ..object("Swarm", "s", 4, &[])
    });
    (&mut waiting).await.expect("woken");
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

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::{Check, Pair, at, race};
use crate::plans::ObjectRef;
use crate::store::object::MAX_REVISION;
use crate::store::{Change, Heartbeat, Instance, Put, RegistryObject, StoreError};

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("only a newer revision is applied", |pair| {
        Box::pin(newer(pair))
    }),
    ("a tombstone holds its revision", |pair| {
        Box::pin(tombstone(pair))
    }),
    ("an object belongs to one service", |pair| {
        Box::pin(foreign(pair))
    }),
    ("racing puts end with the newest", |pair| {
        Box::pin(race_of_puts(pair))
    }),
    ("changes are the latest of each object, in order", |pair| {
        Box::pin(changes(pair))
    }),
    ("revisions that cannot be compared are refused", |pair| {
        Box::pin(bounds(pair))
    }),
    ("names that could be taken for others are refused", |pair| {
        Box::pin(names(pair))
    }),
    ("signs of life are the last of each", |pair| {
        Box::pin(alive(pair))
    }),
    ("the store answers for its health", |pair| {
        Box::pin(health(pair))
    }),
];

pub(super) fn swarm(id: &str, revision: u64, parent: &str) -> RegistryObject {
    RegistryObject {
        kind: "Swarm".to_owned(),
        id: id.to_owned(),
        owner: "drones".to_owned(),
        revision,
        parents: vec![parent.to_owned()],
        attributes: match json!({ "a/b": [1, 2.5, null], "ü\"": { "x": "" } }) {
            Value::Object(attributes) => attributes,
            _ => serde_json::Map::new(),
        },
    }
}

fn applied(put: &Result<Put, StoreError>) -> u64 {
    match put {
        Ok(Put::Applied { seq }) => *seq,
        other => panic!("not applied: {other:?}"),
    }
}

async fn newer(pair: Pair) {
    let registry = &pair.one.registry;
    let first = applied(&registry.put(&swarm("s", 5, "acme")).await);
    let repeat = pair.two.registry.put(&swarm("s", 5, "acme")).await;
    assert_eq!(repeat, Ok(Put::Unchanged { seq: first }));
    let stale = Ok(Put::Stale { current: 5 });
    assert_eq!(registry.put(&swarm("s", 5, "other")).await, stale);
    assert_eq!(registry.put(&swarm("s", 4, "acme")).await, stale);
    let next = applied(&pair.two.registry.put(&swarm("s", 6, "other")).await);
    assert!(next > first);
    assert_eq!(registry.head().await.expect("a head").seq, next);
    let changes = registry.changes(0, 10).await.expect("changes");
    assert_eq!(
        changes,
        [Change {
            seq: next,
            key: swarm("s", 6, "").key(),
            revision: 6,
            object: Some(swarm("s", 6, "other")),
        }]
    );
}

async fn tombstone(pair: Pair) {
    let registry = &pair.one.registry;
    let key = swarm("s", 0, "acme").key();
    applied(&registry.put(&swarm("s", 1, "acme")).await);
    assert_eq!(
        registry.delete(&key, "drones", 1).await,
        Ok(Put::Stale { current: 1 })
    );
    let gone = applied(&pair.two.registry.delete(&key, "drones", 3).await);
    assert_eq!(
        registry.delete(&key, "drones", 3).await,
        Ok(Put::Unchanged { seq: gone })
    );
    // An undo or a reconcile that was overtaken cannot bring it back.
    assert_eq!(
        registry.put(&swarm("s", 2, "acme")).await,
        Ok(Put::Stale { current: 3 })
    );
    assert_eq!(
        registry.put(&swarm("s", 3, "acme")).await,
        Ok(Put::Stale { current: 3 })
    );
    let change = Change {
        seq: gone,
        key: key.clone(),
        revision: 3,
        object: None,
    };
    assert_eq!(registry.changes(0, 10).await, Ok(vec![change]));
    applied(&registry.put(&swarm("s", 4, "acme")).await);

    // Deleted before it was ever put: the put that comes late is too old.
    let early = swarm("early", 7, "acme");
    applied(&registry.delete(&early.key(), "drones", 8).await);
    assert_eq!(registry.put(&early).await, Ok(Put::Stale { current: 8 }));
}

async fn foreign(pair: Pair) {
    let registry = &pair.one.registry;
    applied(&registry.put(&swarm("s", 1, "acme")).await);
    let mut theirs = swarm("s", 9, "acme");
    theirs.owner = "mowers".to_owned();
    let refused = Ok(Put::Foreign {
        owner: "drones".to_owned(),
    });
    assert_eq!(registry.put(&theirs).await, refused);
    assert_eq!(registry.delete(&theirs.key(), "mowers", 9).await, refused);
    let changes = registry.changes(0, 10).await.expect("changes");
    assert_eq!(changes[0].object, Some(swarm("s", 1, "acme")));
}

async fn race_of_puts(pair: Pair) {
    let puts = race(&pair, 50, |store, number| async move {
        let revision = number as u64 + 1;
        match revision % 5 {
            0 => {
                let key = swarm("s", 0, "").key();
                store.registry.delete(&key, "drones", revision).await
            }
            _ => store.registry.put(&swarm("s", revision, "acme")).await,
        }
    })
    .await;
    let highest = puts
        .iter()
        .filter_map(|put| match put.as_ref().expect("a step") {
            Put::Applied { seq } => Some(*seq),
            _ => None,
        })
        .max();
    let changes = pair.two.registry.changes(0, 10).await.expect("changes");
    let [last] = &changes[..] else {
        panic!("{} objects", changes.len());
    };
    assert_eq!((last.revision, &last.object), (50, &None));
    assert_eq!(Some(last.seq), highest);
}

async fn changes(pair: Pair) {
    let registry = &pair.one.registry;
    let begin = registry.head().await.expect("a head");
    assert_eq!(begin.seq, 0);
    let mut seqs = Vec::new();
    for id in ["a", "b/c", "d"] {
        seqs.push(applied(&registry.put(&swarm(id, 1, "acme")).await));
    }
    seqs.push(applied(&registry.put(&swarm("a", 2, "acme")).await));
    assert!(seqs.is_sorted_by(|one, two| one < two), "{seqs:?}");

    let listed = async |after, limit| {
        let changes = pair.two.registry.changes(after, limit).await;
        let changes = changes.expect("changes");
        changes
            .into_iter()
            .map(|change| (change.seq, change.key.id))
            .collect::<Vec<_>>()
    };
    let all = [
        (seqs[1], "b/c".to_owned()),
        (seqs[2], "d".to_owned()),
        (seqs[3], "a".to_owned()),
    ];
    assert_eq!(listed(0, 10).await, all);
    assert_eq!(listed(0, 2).await, all[..2]);
    assert_eq!(listed(seqs[2], 10).await, all[2..]);
    assert_eq!(listed(seqs[3], 10).await, []);
    let head = pair.two.registry.head().await.expect("a head");
    assert_eq!((head.seq, head.epoch), (seqs[3], begin.epoch));
}

async fn bounds(pair: Pair) {
    let registry = &pair.one.registry;
    applied(&registry.put(&swarm("s", MAX_REVISION - 1, "acme")).await);
    applied(&registry.put(&swarm("s", MAX_REVISION, "acme")).await);
    let above = registry.put(&swarm("s", MAX_REVISION + 1, "acme")).await;
    assert!(
        matches!(above, Err(StoreError::Refused { .. })),
        "{above:?}"
    );
    let key = ObjectRef {
        kind: "Swarm".to_owned(),
        id: "s".to_owned(),
    };
    let above = registry.delete(&key, "drones", u64::MAX).await;
    assert!(
        matches!(above, Err(StoreError::Refused { .. })),
        "{above:?}"
    );
    let changes = registry.changes(0, 10).await.expect("changes");
    assert_eq!(changes[0].revision, MAX_REVISION);
}

async fn names(pair: Pair) {
    let registry = &pair.one.registry;
    for (kind, id) in [("", "s"), ("a/b", "s"), ("Swarm", "")] {
        let mut object = swarm(id, 1, "acme");
        object.kind = kind.to_owned();
        let put = registry.put(&object).await;
        assert!(matches!(put, Err(StoreError::Refused { .. })), "{put:?}");
        let delete = registry.delete(&object.key(), "drones", 1).await;
        assert!(
            matches!(delete, Err(StoreError::Refused { .. })),
            "{delete:?}"
        );
    }
    assert_eq!(registry.changes(0, 10).await, Ok(vec![]));
}

async fn alive(pair: Pair) {
    let registry = &pair.one.registry;
    assert_eq!(registry.heartbeats().await, Ok(vec![]));
    let checks = json!({ "swarm_bridge": { "status": "Healthy", "data": { "age": 0.1 } } });
    for (owner, seconds) in [("mowers", 1), ("drones", 2), ("drones", 3)] {
        let beat = registry.heartbeat(owner, &checks, at(seconds)).await;
        assert_eq!(beat, Ok(()));
    }
    let expected = [("drones", 3), ("mowers", 1)].map(|(owner, seconds)| Heartbeat {
        owner: owner.to_owned(),
        checks: checks.clone(),
        at: at(seconds),
    });
    assert_eq!(pair.two.registry.heartbeats().await, Ok(expected.to_vec()));

    for (name, bundle, seconds) in [("g1", "old", 1), ("g2", "new", 5), ("g1", "new", 6)] {
        let told = registry.announce(name, bundle, at(seconds)).await;
        assert_eq!(told, Ok(()));
    }
    let instance = |name: &str, seconds| Instance {
        name: name.to_owned(),
        bundle: "new".to_owned(),
        at: at(seconds),
    };
    let (one, two) = (instance("g1", 6), instance("g2", 5));
    assert_eq!(
        pair.two.registry.instances(at(5)).await,
        Ok(vec![one.clone(), two])
    );
    assert_eq!(registry.instances(at(6)).await, Ok(vec![one]));
    let days = at(0) + SignedDuration::from_hours(72);
    assert_eq!(registry.instances(days).await, Ok(vec![]));
}

async fn health(pair: Pair) {
    assert_eq!(pair.one.health.ping().await, Ok(()));
    assert_eq!(pair.two.health.ping().await, Ok(()));
}

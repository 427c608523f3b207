use serde_json::{Map, Value};
use uuid::Uuid;

use super::{Check, Pair, at, lost, race, swapped};
use crate::idempotency::{Fingerprint, IdempotencyKey, KeyId, KeyRecord, Subject, Verdict, judge};
use crate::plans::fixtures::{answer, somebody};
use crate::store::Claim;

pub(super) const CHECKS: &[(&str, Check)] = &[
    ("a key is claimed once, then found as it is", |pair| {
        Box::pin(claim(pair))
    }),
    ("of fifty claims one is fresh", |pair| {
        Box::pin(one_claim(pair))
    }),
    ("the first answer stands", |pair| {
        Box::pin(first_answer(pair))
    }),
    (
        "a released key is free, and only its holder can end it",
        |pair| Box::pin(release(pair)),
    ),
    (
        "an answer lapses after 24 hours, an open key never",
        |pair| Box::pin(lapse(pair)),
    ),
    ("the quota counts kept keys and evicts none", |pair| {
        Box::pin(quota(pair))
    }),
    ("callers do not meet", |pair| Box::pin(callers(pair))),
    ("a key is unsettled once its lease has passed", |pair| {
        Box::pin(unsettled(pair))
    }),
    ("a settler's claim fences the one before", |pair| {
        Box::pin(taken_up(pair))
    }),
];

const DAY: i64 = 24 * 3600;
const QUOTA: u32 = 1000;

pub(super) fn id(caller: &str, key: &str) -> KeyId {
    let key = IdempotencyKey::parse(key.as_bytes()).expect("a key");
    KeyId::new(&somebody(caller), "POST", "/api/missions", &key)
}

pub(super) fn record(seconds: i64) -> KeyRecord {
    let fingerprint = Fingerprint::of(None, &[], &[]).expect("a fingerprint");
    let subject = Subject {
        row: "drones.mission.start".to_owned(),
        service: "drones".to_owned(),
        operation: Uuid::new_v4(),
        plan: None,
    };
    let lease_until = at(seconds + 30);
    KeyRecord::reserve(
        Uuid::new_v4(),
        fingerprint,
        subject,
        "gateway-1".to_owned(),
        lease_until,
        at(seconds),
    )
}

fn existing(record: &KeyRecord) -> Claim {
    Claim::Existing(Box::new(record.clone()))
}

async fn claim(pair: Pair) {
    let (id, first, second) = (id("alice", "k"), record(0), record(1));
    assert_eq!(pair.one.keys.get(&id).await, Ok(None));
    let claimed = pair.one.keys.claim(&id, &first, at(0), QUOTA).await;
    assert_eq!(claimed, Ok(Claim::Fresh));
    let again = pair.two.keys.claim(&id, &second, at(1), QUOTA).await;
    assert_eq!(again, Ok(existing(&first)));
    assert_eq!(pair.two.keys.get(&id).await, Ok(Some(first)));
}

async fn one_claim(pair: Pair) {
    for key in ["a", "b", "c", "d", "e"] {
        let claims = race(&pair, 50, |store, _| async move {
            let record = record(0);
            let claim = store
                .keys
                .claim(&id("alice", key), &record, at(0), QUOTA)
                .await;
            (record.claim, claim.expect("a step"))
        })
        .await;
        let fresh: Vec<Uuid> = claims
            .iter()
            .filter(|(_, claim)| *claim == Claim::Fresh)
            .map(|(claim, _)| *claim)
            .collect();
        let [winner] = fresh[..] else {
            panic!("{} claims are fresh", fresh.len());
        };
        for (_, claim) in claims {
            if let Claim::Existing(record) = claim {
                assert_eq!(record.claim, winner);
            }
        }
    }
}

async fn first_answer(pair: Pair) {
    let (id, record) = (id("alice", "k"), record(0));
    let keys = &pair.one.keys;
    assert_eq!(
        keys.claim(&id, &record, at(0), QUOTA).await,
        Ok(Claim::Fresh)
    );
    let answered = record.clone().answered(answer("first"));
    swapped(keys.replace(&id, record.claim, &answered).await);
    let other = record.clone().answered(answer("second"));
    lost(pair.two.keys.replace(&id, record.claim, &other).await);
    lost(pair.two.keys.release(&id, record.claim).await);
    let again = pair.two.keys.claim(&id, &record, at(5), QUOTA).await;
    assert_eq!(again, Ok(existing(&answered)));
}

async fn release(pair: Pair) {
    let (id, first, second) = (id("alice", "k"), record(0), record(1));
    let keys = &pair.one.keys;
    lost(keys.release(&id, first.claim).await);
    assert_eq!(
        keys.claim(&id, &first, at(0), QUOTA).await,
        Ok(Claim::Fresh)
    );
    lost(keys.release(&id, second.claim).await);
    swapped(pair.two.keys.release(&id, first.claim).await);
    assert_eq!(keys.get(&id).await, Ok(None));
    assert_eq!(
        keys.claim(&id, &second, at(1), QUOTA).await,
        Ok(Claim::Fresh)
    );

    // The first holder is late: it can neither answer nor free the second's.
    let late = first.clone().answered(answer("late"));
    lost(keys.replace(&id, first.claim, &late).await);
    lost(keys.release(&id, first.claim).await);
    assert_eq!(keys.get(&id).await, Ok(Some(second)));
}

async fn lapse(pair: Pair) {
    let keys = &pair.one.keys;
    let (answered, open) = (id("alice", "answered"), id("alice", "open"));
    let (first, other) = (record(0), record(0));
    assert_eq!(
        keys.claim(&answered, &first, at(0), QUOTA).await,
        Ok(Claim::Fresh)
    );
    assert_eq!(
        keys.claim(&open, &other, at(0), QUOTA).await,
        Ok(Claim::Fresh)
    );
    let first = first.clone().answered(answer("{}"));
    swapped(keys.replace(&answered, first.claim, &first).await);

    let last = keys.claim(&answered, &record(DAY), at(DAY), QUOTA).await;
    assert_eq!(last, Ok(existing(&first)));
    let next = record(DAY + 1);
    let claimed = keys.claim(&answered, &next, at(DAY + 1), QUOTA).await;
    assert_eq!(claimed, Ok(Claim::Fresh));
    assert_eq!(keys.get(&answered).await, Ok(Some(next.clone())));
    lost(keys.replace(&answered, first.claim, &first).await);

    let years = at(1000 * DAY);
    let found = keys.claim(&open, &record(0), years, QUOTA).await;
    assert_eq!(found, Ok(existing(&other)));
    assert!(matches!(
        judge(Some(&other), &other.fingerprint, years),
        Verdict::Unknown { .. }
    ));
}

async fn quota(pair: Pair) {
    let keys = &pair.one.keys;
    let (open, answered) = (record(0), record(0));
    assert_eq!(
        keys.claim(&id("alice", "open"), &open, at(0), 2).await,
        Ok(Claim::Fresh)
    );
    let second = id("alice", "answered");
    assert_eq!(
        keys.claim(&second, &answered, at(0), 2).await,
        Ok(Claim::Fresh)
    );
    let answered = answered.clone().answered(answer("{}"));
    swapped(keys.replace(&second, answered.claim, &answered).await);

    let third = id("alice", "third");
    assert_eq!(
        keys.claim(&third, &record(1), at(1), 2).await,
        Ok(Claim::OverQuota)
    );
    assert_eq!(keys.get(&third).await, Ok(None));
    // A repeat needs no place of its own, and others have theirs.
    assert_eq!(
        keys.claim(&second, &record(1), at(1), 2).await,
        Ok(existing(&answered))
    );
    assert_eq!(
        keys.claim(&id("bob", "third"), &record(1), at(1), 2).await,
        Ok(Claim::Fresh)
    );

    // The lapsed answer makes room; the open key has kept its place.
    let later = at(DAY + 1);
    assert_eq!(
        keys.claim(&third, &record(DAY + 1), later, 2).await,
        Ok(Claim::Fresh)
    );
    assert_eq!(
        keys.claim(&id("alice", "fourth"), &record(DAY + 1), later, 2)
            .await,
        Ok(Claim::OverQuota)
    );
    assert_eq!(keys.get(&id("alice", "open")).await, Ok(Some(open)));
}

async fn callers(pair: Pair) {
    let keys = &pair.one.keys;
    let record = record(0);
    assert_eq!(
        keys.claim(&id("alice", "k"), &record, at(0), QUOTA).await,
        Ok(Claim::Fresh)
    );
    let answered = record.clone().answered(answer("for alice"));
    swapped(
        keys.replace(&id("alice", "k"), record.claim, &answered)
            .await,
    );
    let bobs = super::keys::record(0);
    assert_eq!(
        keys.claim(&id("bob", "k"), &bobs, at(0), QUOTA).await,
        Ok(Claim::Fresh)
    );
    assert_eq!(keys.get(&id("alice", "k")).await, Ok(Some(answered)));
}

async fn unsettled(pair: Pair) {
    let keys = &pair.one.keys;
    let name = id("alice", "k");
    let record = record(0);
    assert_eq!(
        keys.claim(&name, &record, at(0), QUOTA).await,
        Ok(Claim::Fresh)
    );
    assert_eq!(keys.unsettled(at(30), 10).await, Ok(vec![]));
    let due = Ok(vec![(name.clone(), record.clone())]);
    assert_eq!(pair.two.keys.unsettled(at(31), 10).await, due);
    assert_eq!(keys.unsettled(at(31), 0).await, Ok(vec![]));

    let doubted = record.clone().unknown("look".to_owned(), at(2));
    swapped(keys.replace(&name, record.claim, &doubted).await);
    assert_eq!(
        pair.two.keys.unsettled(at(3), 10).await,
        Ok(vec![(name.clone(), doubted.clone())])
    );
    let answered = doubted.answered(answer("{}"));
    swapped(keys.replace(&name, record.claim, &answered).await);
    assert_eq!(keys.unsettled(at(DAY), 10).await, Ok(vec![]));

    let released = super::keys::record(0);
    let other = id("alice", "other");
    assert_eq!(
        keys.claim(&other, &released, at(0), QUOTA).await,
        Ok(Claim::Fresh)
    );
    swapped(keys.release(&other, released.claim).await);
    assert_eq!(keys.unsettled(at(DAY), 10).await, Ok(vec![]));
    // Found again under its next claim.
    let next = super::keys::record(100);
    assert_eq!(
        keys.claim(&other, &next, at(100), QUOTA).await,
        Ok(Claim::Fresh)
    );
    assert_eq!(keys.unsettled(at(200), 10).await, Ok(vec![(other, next)]));
}

async fn taken_up(pair: Pair) {
    let keys = &pair.one.keys;
    let name = id("alice", "k");
    let record = record(0);
    assert_eq!(
        keys.claim(&name, &record, at(0), QUOTA).await,
        Ok(Claim::Fresh)
    );
    assert_eq!(
        record.clone().taken_up(Uuid::new_v4(), at(90), at(30)),
        None
    );
    let settlers = race(&pair, 20, |store, _| {
        let (name, record) = (name.clone(), record.clone());
        async move {
            let taken = record
                .clone()
                .taken_up(Uuid::new_v4(), at(90), at(31))
                .expect("the lease has passed");
            let swap = store.keys.replace(&name, record.claim, &taken).await;
            (swap.expect("a step"), taken)
        }
    })
    .await;
    let mut won = settlers
        .into_iter()
        .filter(|(swap, _)| *swap == crate::store::Swap::Swapped)
        .map(|(_, taken)| taken);
    let settler = won.next().expect("one settler");
    assert_eq!(won.next(), None);
    assert_eq!(keys.unsettled(at(31), 10).await, Ok(vec![]));
    assert_eq!(
        keys.unsettled(at(91), 10).await,
        Ok(vec![(name.clone(), settler.clone())])
    );
    lost(
        keys.replace(
            &name,
            record.claim,
            &record.clone().answered(answer("late")),
        )
        .await,
    );
    let settled = settler.clone().answered(answer("settled"));
    swapped(keys.replace(&name, settler.claim, &settled).await);
    let fingerprint = Fingerprint::of(Some(&Map::<String, Value>::new()), &[], &[]);
    let stored = keys.get(&name).await.expect("read");
    assert_eq!(
        judge(stored.as_ref(), &fingerprint.expect("one"), at(100)),
        Verdict::Replay(&answer("settled"))
    );
}

use std::collections::BTreeSet;
use std::time::Duration;

use uuid::Uuid;

use super::keys::{id, record};
use super::redis_server::RedisServer;
use super::registry::swarm;
use super::{Pair, at, suite, swapped};
use crate::plans::fixtures::{answer, approved, code, decision, dispatching, lease, pending};
use crate::plans::{DispatchEnd, PlanSummary};
use crate::store::{Claim, Put, RedisConfig, Store, StoreError};

const OPERATION: Uuid = Uuid::from_u128(7);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    let server = RedisServer::up();
    for (name, check) in suite() {
        println!("{name}");
        let config = RedisConfig {
            prefix: Uuid::new_v4().to_string(),
            ..server.config()
        };
        let pair = Pair {
            one: Store::redis(config.clone()).await.expect("a store"),
            two: Store::redis(config).await.expect("a store"),
        };
        check(pair).await;
    }
}

/// Steps of every trait, for what they come to while the server is in trouble.
async fn try_everything(store: &Store) -> [Result<(), StoreError>; 6] {
    let (id, record, plan) = (id("alice", "k"), record(0), pending(Uuid::new_v4(), at(0)));
    let object = swarm("s", 1, "acme");
    // At once: a hung server then costs one wait.
    let (ping, get, insert, claim, put, changes) = tokio::join!(
        store.health.ping(),
        store.plans.get(plan.id),
        store.plans.insert(&plan),
        store.keys.claim(&id, &record, at(0), 10),
        store.registry.put(&object),
        store.registry.changes(0, 10),
    );
    [
        ping,
        get.map(drop),
        insert.map(|_| ()),
        claim.map(drop),
        put.map(drop),
        changes.map(drop),
    ]
}

async fn works(store: &Store) {
    for result in try_everything(store).await {
        assert_eq!(result, Ok(()));
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_no_error_and_found_later() {
    let mut server = RedisServer::down();
    let store = server.store().await;
    for result in try_everything(&store).await {
        assert!(
            matches!(result, Err(StoreError::Unavailable { .. })),
            "{result:?}"
        );
    }
    server.start(&[]);
    works(&store).await;
}

#[tokio::test]
async fn a_hung_server_is_an_error_in_time_and_used_again() {
    let server = RedisServer::up();
    let store = Store::redis(RedisConfig {
        timeout: Duration::from_secs(1),
        ..server.config()
    })
    .await
    .expect("a store");
    works(&store).await;
    server.hang();
    for result in try_everything(&store).await {
        assert_eq!(result, Err(StoreError::TimedOut));
    }
    server.resume();
    works(&store).await;
}

#[tokio::test]
async fn a_hung_server_takes_no_more_than_its_places() {
    let server = RedisServer::up();
    let store = Store::redis(RedisConfig {
        timeout: Duration::from_millis(100),
        in_flight: 1,
        ..server.config()
    })
    .await
    .expect("a store");
    server.hang();
    let (first, second) = tokio::join!(store.plans.list("drones", 1), store.registry.head());
    assert_eq!(first, Err(StoreError::TimedOut));
    assert_eq!(second, Err(StoreError::Busy));
}

#[tokio::test]
async fn a_killed_server_loses_nothing_that_was_answered() {
    let mut server = RedisServer::up();
    let store = server.store().await;
    let plan = approved(Uuid::new_v4(), at(0));
    swapped(store.plans.insert(&plan).await);
    let key = record(0);
    let claimed = store.keys.claim(&id("alice", "k"), &key, at(0), 10).await;
    assert_eq!(claimed, Ok(Claim::Fresh));
    server.kill();
    for result in try_everything(&store).await {
        assert!(
            matches!(result, Err(StoreError::Unavailable { .. })),
            "{result:?}"
        );
    }
    server.start(&[]);
    assert_eq!(store.plans.get(plan.id).await, Ok(Some(plan)));
    assert_eq!(store.keys.get(&id("alice", "k")).await, Ok(Some(key)));
}

#[tokio::test]
async fn a_reset_connection_costs_one_call_at_most() {
    let server = RedisServer::up();
    let store = server.store().await;
    works(&store).await;
    server.command(&["CLIENT", "KILL", "TYPE", "normal"]).await;
    // Whether the reset is seen before or during the next call is a race.
    if let Err(error) = store.health.ping().await {
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    }
    works(&store).await;
}

#[tokio::test]
async fn an_evicting_server_is_refused_at_start_and_reported_later() {
    let mut evicting = RedisServer::down();
    evicting.start(&["--maxmemory-policy", "volatile-lru"]);
    let refused = Store::redis(evicting.config()).await;
    let Err(StoreError::Refused { detail }) = refused else {
        panic!("opened");
    };
    assert!(detail.contains("`volatile-lru`"), "{detail}");
    assert!(detail.contains("`noeviction`"), "{detail}");

    let server = RedisServer::up();
    let store = server.store().await;
    let set = async |policy| {
        server
            .command(&["CONFIG", "SET", "maxmemory-policy", policy])
            .await
    };
    set("allkeys-lfu").await;
    let ping = store.health.ping().await;
    assert!(matches!(ping, Err(StoreError::Refused { .. })), "{ping:?}");
    set("noeviction").await;
    assert_eq!(store.health.ping().await, Ok(()));
}

#[tokio::test]
async fn a_full_server_refuses_and_can_still_let_go() {
    let server = RedisServer::up();
    let store = server.store().await;
    let (name, key) = (id("alice", "before"), record(0));
    let claimed = store.keys.claim(&name, &key, at(0), 10).await;
    assert_eq!(claimed, Ok(Claim::Fresh));
    let (ready, flying) = (
        approved(Uuid::new_v4(), at(0)),
        dispatching(Uuid::new_v4(), OPERATION, at(0)),
    );
    swapped(store.plans.insert(&ready).await);
    swapped(store.plans.insert(&flying).await);
    server.command(&["CONFIG", "SET", "maxmemory", "1"]).await;
    let begun = ready
        .begin_dispatch(Some(&code()), at(1), OPERATION, lease("g", at(30)))
        .expect("dispatching");
    let refused = [
        store
            .plans
            .insert(&pending(Uuid::new_v4(), at(0)))
            .await
            .map(|_| ()),
        store
            .keys
            .claim(&id("alice", "k"), &record(0), at(0), 10)
            .await
            .map(drop),
        store.registry.put(&swarm("s", 1, "acme")).await.map(drop),
        store.plans.replace(&begun, 2).await.map(|_| ()),
    ];
    for result in refused {
        let Err(StoreError::Refused { detail }) = &result else {
            panic!("{result:?}");
        };
        assert!(detail.contains("OOM"), "{detail}");
    }
    assert_eq!(
        store
            .plans
            .list("drones", 10)
            .await
            .map(|plans| plans.len()),
        Ok(2)
    );
    assert_eq!(store.registry.changes(0, 10).await, Ok(vec![]));
    assert_eq!(store.registry.head().await.map(|head| head.seq), Ok(0));
    // What is under way can still be ended.
    swapped(store.keys.release(&name, key.claim).await);
    let end = DispatchEnd::Refused {
        reason: "moved".to_owned(),
    };
    let ended = flying.finish(OPERATION, end, at(2)).expect("finished");
    swapped(store.plans.replace(&ended, 3).await);
    server.command(&["CONFIG", "SET", "maxmemory", "0"]).await;
    works(&store).await;
}

#[tokio::test]
async fn a_demoted_server_is_left_and_its_successor_used() {
    let server = RedisServer::up();
    let store = server.store().await;
    works(&store).await;
    // Port 1 answers nobody: a replica without its primary.
    server.command(&["REPLICAOF", "127.0.0.1", "1"]).await;
    let ping = store.health.ping().await;
    assert!(
        matches!(ping, Err(StoreError::Unavailable { .. })),
        "{ping:?}"
    );
    let plan = pending(Uuid::new_v4(), at(0));
    let insert = store.plans.insert(&plan).await;
    assert!(
        matches!(insert, Err(StoreError::Unavailable { .. })),
        "{insert:?}"
    );
    server.command(&["REPLICAOF", "NO", "ONE"]).await;
    works(&store).await;
    assert_eq!(store.plans.get(plan.id).await, Ok(None));
}

#[tokio::test]
async fn after_a_failover_the_demoted_server_is_not_held_on_to() {
    let (demoted, successor) = (RedisServer::up(), RedisServer::up());
    let store = demoted.store().await;
    works(&store).await;
    demoted.command(&["REPLICAOF", "127.0.0.1", "1"]).await;
    demoted.give_place_to(&successor);
    let plan = pending(Uuid::new_v4(), at(0));
    let insert = store.plans.insert(&plan).await;
    assert!(
        matches!(insert, Err(StoreError::Unavailable { .. })),
        "{insert:?}"
    );
    swapped(store.plans.insert(&plan).await);
    works(&store).await;
}

/// The slot tag of a caller's keys.
fn tag(caller: &str) -> String {
    let sum: u32 = caller.bytes().map(u32::from).sum();
    format!("{{keys:{}}}", sum % 16)
}

#[tokio::test]
async fn what_is_unsettled_is_found_in_every_slot_and_strays_are_cleared() {
    let server = RedisServer::up();
    let store = server.store().await;
    let mut open = Vec::new();
    for (number, caller) in ["alice", "bob", "carol", "dave", "erin", "frank"]
        .into_iter()
        .enumerate()
    {
        let (name, key) = (id(caller, "k"), record(number as i64));
        let claimed = store.keys.claim(&name, &key, at(0), 10).await;
        assert_eq!(claimed, Ok(Claim::Fresh));
        open.push((name, key));
    }
    let slots: BTreeSet<String> = open.iter().map(|(name, _)| tag(&name.caller)).collect();
    assert!(slots.len() > 3, "{slots:?}");
    // Entries whose record is gone, and one that is none.
    let index = format!("interlock:{}:unsettled", tag(&open[0].0.caller));
    let gone = id("alice", "gone");
    let gone = format!("{}/{}", gone.caller, gone.request);
    for member in [gone.as_str(), "nonsense"] {
        server.command(&["ZADD", &index, "1", member]).await;
    }
    let due = store.keys.unsettled(at(60), 10).await;
    assert_eq!(due, Ok(open.clone()), "the oldest lease first");
    let left = server.command(&["ZSCORE", &index, "nonsense"]).await;
    assert_eq!(left, redis::Value::Nil);
    let left = server.command(&["ZSCORE", &index, &gone]).await;
    assert_eq!(left, redis::Value::Nil);
    let due = store.keys.unsettled(at(60), 2).await;
    assert_eq!(due, Ok(open[..2].to_vec()));
}

/// How often the server has found something to read, this question included:
/// one more for each question, one more for each round trip of a store.
async fn reads(connection: &mut redis::aio::MultiplexedConnection) -> u64 {
    let mut info = redis::cmd("INFO");
    let text: String = info
        .arg("stats")
        .query_async(connection)
        .await
        .expect("INFO");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("total_reads_processed:"));
    line.expect("a count").parse().expect("a number")
}

#[tokio::test]
async fn a_keyed_write_takes_two_round_trips() {
    let server = RedisServer::up();
    let store = server.store().await;
    let mut asking = server.connection().await;
    // The first time the server does not know the scripts yet.
    for (time, expected) in [("unknown", None), ("known", Some([1, 1, 1]))] {
        let mut seen = reads(&mut asking).await;
        let mut round_trips = async || {
            let before = seen;
            seen = reads(&mut asking).await;
            seen - before - 1
        };
        assert_eq!(round_trips().await, 0, "nobody else asks the server");
        let claim = async |name: String| {
            let (name, key) = (id("alice", &name), record(0));
            let claimed = store.keys.claim(&name, &key, at(0), 10).await;
            assert_eq!(claimed, Ok(Claim::Fresh));
            (name, key)
        };
        let (name, key) = claim(format!("{time}-answered")).await;
        let claimed = round_trips().await;
        let answered = key.clone().answered(answer("{}"));
        swapped(store.keys.replace(&name, key.claim, &answered).await);
        let answered = round_trips().await;
        let (name, key) = claim(format!("{time}-released")).await;
        round_trips().await;
        swapped(store.keys.release(&name, key.claim).await);
        let released = round_trips().await;
        if let Some(expected) = expected {
            assert_eq!([claimed, answered, released], expected);
        }
    }
    let due = store.keys.unsettled(at(60), 10).await;
    assert_eq!(due, Ok(vec![]), "nothing is left to be settled");
}

#[tokio::test]
async fn a_flushed_server_shows_it() {
    let server = RedisServer::up();
    let store = server.store().await;
    for revision in 1..=3 {
        let put = store.registry.put(&swarm("s", revision, "acme")).await;
        assert!(matches!(put, Ok(Put::Applied { .. })), "{put:?}");
    }
    let before = store.registry.head().await.expect("a head");
    server.command(&["FLUSHALL"]).await;
    let after = store.registry.head().await.expect("a head");
    assert_eq!((before.seq, after.seq), (3, 0));
    assert_ne!(before.epoch, after.epoch);
    // Even when the numbers have caught up.
    for revision in 1..=4 {
        let put = store.registry.put(&swarm("s", revision, "acme")).await;
        assert!(matches!(put, Ok(Put::Applied { .. })), "{put:?}");
    }
    let later = store.registry.head().await.expect("a head");
    assert_eq!(later.epoch, after.epoch);
    assert_eq!(later.seq, 4);
}

#[tokio::test]
async fn forgotten_scripts_are_sent_again() {
    let server = RedisServer::up();
    let store = server.store().await;
    works(&store).await;
    server.command(&["SCRIPT", "FLUSH"]).await;
    works(&store).await;
}

#[tokio::test]
async fn garbage_lives_longer_than_the_record_and_open_keys_for_ever() {
    let server = RedisServer::up();
    let store = server.store().await;
    let (name, key) = (id("alice", "k"), record(0));
    let claimed = store.keys.claim(&name, &key, at(0), 10).await;
    assert_eq!(claimed, Ok(Claim::Fresh));
    let lifetime = async || {
        let slot = tag(&name.caller);
        let key = format!("interlock:{slot}:{}:key:{}", name.caller, name.request);
        match server.command(&["PTTL", &key]).await {
            redis::Value::Int(milliseconds) => milliseconds,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(lifetime().await, -1);
    let answered = key.clone().answered(answer("{}"));
    swapped(store.keys.replace(&name, key.claim, &answered).await);
    let day = 24 * 3600 * 1000;
    let left = lifetime().await;
    assert!(left > day && left <= 2 * day, "{left}");
}

#[tokio::test]
async fn a_bad_url_is_refused_without_repeating_it() {
    let refused = Store::redis(RedisConfig::at("http://user:secret@host")).await;
    let Err(StoreError::Refused { detail }) = refused else {
        panic!("opened");
    };
    assert!(!detail.contains("secret"), "{detail}");
    let shown = format!("{:?}", RedisConfig::at("redis://user:secret@host"));
    assert!(!shown.contains("secret"), "{shown}");
}

#[tokio::test]
async fn plans_are_listed_without_reading_them_and_older_ones_all_the_same() {
    let server = RedisServer::up();
    let store = server.store().await;
    let plan = pending(Uuid::new_v4(), at(0));
    swapped(store.plans.insert(&plan).await);
    let mut keys = redis::cmd("KEYS");
    let keys = keys.arg(format!("*plan:{}*", plan.id));
    let found = keys.query_async(&mut server.connection().await).await;
    let [key]: [String; 1] = found.expect("one record");
    let listed = async || store.plans.list("drones", 10).await;
    server.command(&["HDEL", &key, "summary"]).await;
    let ids = listed().await.expect("a list");
    assert_eq!(
        ids.iter().map(PlanSummary::id).collect::<Vec<_>>(),
        [plan.id]
    );
    let next = plan.reject(decision("bob", at(1))).expect("rejected");
    swapped(store.plans.replace(&next, 1).await);
    server.command(&["HSET", &key, "json", "no plan"]).await;
    assert_eq!(listed().await, Ok(vec![PlanSummary::of(&next)]));
    assert!(store.plans.get(next.id).await.is_err());
}

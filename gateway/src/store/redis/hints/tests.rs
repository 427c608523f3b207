use jiff::Timestamp;
use uuid::Uuid;

use crate::plans::fixtures::{at, decision, dispatching, pending, somebody};
use crate::store::redis::RedisStore;
use crate::store::tests::redis_server::RedisServer;
use crate::store::{PlanStore, Swap};

async fn store(server: &RedisServer) -> RedisStore {
    RedisStore::open(server.config()).await.expect("a store")
}

#[tokio::test]
async fn a_hint_renewed_since_it_was_read_is_not_forgotten() {
    let server = RedisServer::up();
    let store = store(&server).await;
    for member in ["stays", "goes"] {
        store.hint("index", member, 10).await.expect("noted");
    }
    let read = store
        .hints(&["index".to_owned()], 11, 10)
        .await
        .expect("hints");
    assert_eq!(read.len(), 2);
    store.hint("index", "stays", 20).await.expect("renewed");
    store.forget(&read).await.expect("forgotten");
    let left = store
        .hints(&["index".to_owned()], 100, 10)
        .await
        .expect("hints");
    let left: Vec<(&str, &str)> = left
        .iter()
        .map(|hint| (hint.member.as_str(), hint.score.as_str()))
        .collect();
    assert_eq!(left, [("stays", "20")]);
}

#[tokio::test]
async fn hints_that_lead_nowhere_are_not_counted_and_cleared() {
    let server = RedisServer::up();
    let store = store(&server).await;
    let alice = somebody("alice").digest();
    let open = pending(Uuid::new_v4(), at(0));
    let rejected = pending(Uuid::new_v4(), at(0))
        .reject(decision("bob", at(1)))
        .expect("rejected");
    for plan in [&open, &rejected] {
        assert_eq!(store.insert(plan).await, Ok(Swap::Swapped));
    }
    // As a crash between two steps leaves them: an index that has missed the
    // rejection, and one that names a plan which was never written.
    let index = format!("interlock:{{proposer:{alice}}}:open");
    let nobody = Uuid::new_v4();
    for id in [rejected.id, nobody] {
        let noted = store
            .hint(&index, &id.to_string(), 9_000_000_000_000_000)
            .await;
        assert_eq!(noted, Ok(()));
    }
    assert_eq!(store.open_plans(&alice, at(2), 10).await, Ok(1));

    let index = "interlock:{plans}:unsettled";
    for id in [rejected.id, nobody] {
        let noted = store.hint(index, &id.to_string(), 5).await;
        assert_eq!(noted, Ok(()));
    }
    let doubted = dispatching(Uuid::new_v4(), Uuid::new_v4(), at(0));
    assert_eq!(store.insert(&doubted).await, Ok(Swap::Swapped));
    let found = store.unsettled(at(60), 10).await;
    assert_eq!(found, Ok(vec![doubted.clone()]));
    let left = store
        .hints(&[index.to_owned()], Timestamp::MAX.as_microsecond(), 10)
        .await
        .expect("hints");
    let left: Vec<&str> = left.iter().map(|hint| hint.member.as_str()).collect();
    assert_eq!(left, [doubted.id.to_string()]);
}

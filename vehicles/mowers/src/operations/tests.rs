use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use super::{Answer, Begun, Effect, Operation, Standing, begin, find, finish, forget, settle};
use crate::records::Records;
use crate::records::testkit::on_both;

fn noon() -> Timestamp {
    "2026-05-01T10:00:00Z".parse().unwrap()
}

fn answer() -> Answer {
    Answer {
        status: 202,
        body: "{\"a\":1}".to_owned(),
        location: Some("/here".to_owned()),
    }
}

async fn begun(records: &Records, id: Uuid) -> Begun {
    let mut change = records.begin().await.unwrap();
    let begun = begin(&mut change, id, "row", noon()).await.unwrap();
    change.commit().await.unwrap();
    begun
}

fn existing(standing: Standing) -> Begun {
    Begun::Existing(Operation {
        kind: "row".to_owned(),
        standing,
    })
}

#[tokio::test]
async fn an_operation_is_begun_once_and_keeps_its_first_answer() {
    on_both(async |store| {
        let (records, id) = (&store.records, Uuid::now_v7());
        assert_eq!(begun(records, id).await, Begun::Fresh);
        assert_eq!(begun(records, id).await, existing(Standing::Started));
        let settled = settle(records, id, noon()).await.unwrap();
        assert_eq!(settled.standing, Standing::Started);
        for (effect, answer) in [(Effect::Done, answer()), (Effect::None, Answer::empty())] {
            finish(records.pool(), id, effect, &answer, noon())
                .await
                .unwrap();
        }
        let done = Standing::Done(Effect::Done, answer());
        assert_eq!(begun(records, id).await, existing(done.clone()));
        assert_eq!(settle(records, id, noon()).await.unwrap().standing, done);
    })
    .await;
}

#[tokio::test]
async fn one_never_seen_is_refused_for_ever() {
    on_both(async |store| {
        let (records, id) = (&store.records, Uuid::now_v7());
        let settled = settle(records, id, noon()).await.unwrap();
        assert_eq!(settled.standing, Standing::Tombstoned);
        let Begun::Existing(found) = begun(records, id).await else {
            panic!("a tombstoned operation began");
        };
        assert_eq!(found.standing, Standing::Tombstoned);
        finish(records.pool(), id, Effect::Done, &answer(), noon())
            .await
            .unwrap();
        let found = find(records.pool(), id).await.unwrap().unwrap();
        assert_eq!(found.standing, Standing::Tombstoned);
    })
    .await;
}

#[tokio::test]
async fn one_whose_transaction_was_rolled_back_never_began() {
    on_both(async |store| {
        let (records, id) = (&store.records, Uuid::now_v7());
        let mut change = records.begin().await.unwrap();
        begin(&mut change, id, "row", noon()).await.unwrap();
        change.rollback().await.unwrap();
        assert_eq!(find(records.pool(), id).await.unwrap(), None);
        assert_eq!(begun(records, id).await, Begun::Fresh);
    })
    .await;
}

#[tokio::test]
async fn what_ended_long_ago_is_forgotten() {
    on_both(async |store| {
        let records = &store.records;
        let (ended, open) = (Uuid::now_v7(), Uuid::now_v7());
        begun(records, ended).await;
        begun(records, open).await;
        finish(records.pool(), ended, Effect::Done, &answer(), noon())
            .await
            .unwrap();
        assert_eq!(forget(records, noon()).await.unwrap(), 0);
        let later = noon() + SignedDuration::from_millis(1);
        assert_eq!(forget(records, later).await.unwrap(), 1);
        assert_eq!(find(records.pool(), ended).await.unwrap(), None);
        assert!(find(records.pool(), open).await.unwrap().is_some());
    })
    .await;
}

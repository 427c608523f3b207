use std::path::Path;

use jiff::Timestamp;
use tempfile::TempDir;
use uuid::Uuid;

use super::{
    Answer, Beginning, Begun, Effect, Legacy, Operations, Record, Running, Standing, StopAnswered,
};
use crate::contract::{Formation, Mission, MissionStatus, MissionType};
use crate::database::{Database, DatabaseError};
use crate::epoch::Stops;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn id(n: u128) -> Uuid {
    Uuid::from_u128(n)
}

fn mission(n: u128) -> Mission {
    Mission {
        id: id(n),
        name: "field".to_owned(),
        kind: MissionType::Waypoint,
        formation: Formation::Line,
        waypoints: Vec::new(),
        drone_count: 1,
        spacing_meters: 2.0,
        created_at_utc: at(i64::try_from(n).unwrap()),
        status: MissionStatus::Active,
        ended_at_utc: None,
    }
}

fn answer(n: u128) -> Answer {
    Answer {
        status: 201,
        body: serde_json::to_string(&mission(n)).unwrap(),
        location: Some(format!("/api/missions/{}", id(n))),
    }
}

fn beginning() -> Beginning {
    Beginning {
        now: at(100),
        writer: Uuid::new_v4(),
    }
}

async fn open(directory: &Path) -> (Operations, Legacy) {
    let database = Database::open(&directory.join("drones.db")).await.unwrap();
    Operations::open(database, "swarm-1", beginning())
        .await
        .unwrap()
}

async fn begin(operations: &Operations, n: u128) -> Running {
    let begun = operations
        .begin(id(n), "digest", &answer(n), at(1))
        .await
        .unwrap();
    match begun {
        Begun::Fresh(running) => running,
        Begun::Existing(record) => panic!("{record:?}"),
    }
}

/// What a second attempt to begin finds.
async fn found(operations: &Operations, n: u128) -> Standing {
    let begun = operations
        .begin(id(n), "digest", &answer(n), at(2))
        .await
        .unwrap();
    match begun {
        Begun::Existing(Record { standing, .. }) => standing,
        Begun::Fresh(_) => panic!("begun twice"),
    }
}

#[tokio::test]
async fn an_operation_begins_once() {
    let directory = TempDir::new().unwrap();
    let (operations, _) = open(directory.path()).await;
    let running = begin(&operations, 1).await;
    assert_eq!(found(&operations, 1).await, Standing::Running);
    assert_eq!(
        found(&operations, 1).await,
        Standing::Running,
        "asking ends nothing"
    );
    drop(running);
    assert_eq!(found(&operations, 1).await, Standing::Unsettled);
    operations.finish_done(&mission(1), at(3)).await.unwrap();
    assert_eq!(
        found(&operations, 1).await,
        Standing::Done(Effect::Done, answer(1))
    );
}

#[tokio::test]
async fn of_many_that_begin_at_once_one_passes() {
    let directory = TempDir::new().unwrap();
    let (operations, _) = open(directory.path()).await;
    let all = answer(1);
    let attempts = (0..20).map(|_| operations.begin(id(1), "digest", &all, at(1)));
    let begun = futures_util::future::join_all(attempts).await;
    let fresh = begun
        .iter()
        .filter(|begun| matches!(begun, Ok(Begun::Fresh(_))));
    assert_eq!(fresh.count(), 1);
    assert!(begun.iter().all(Result::is_ok));
}

#[tokio::test]
async fn an_operation_never_seen_is_tombstoned_for_ever() {
    let directory = TempDir::new().unwrap();
    let (operations, _) = open(directory.path()).await;
    assert_eq!(
        operations.settle(id(1), at(1)).await.unwrap(),
        Standing::Tombstoned(None)
    );
    assert_eq!(found(&operations, 1).await, Standing::Tombstoned(None));
    operations.close(true).await.unwrap();
    drop(operations);
    let (operations, legacy) = open(directory.path()).await;
    assert!(legacy.unsettled.is_empty());
    assert_eq!(found(&operations, 1).await, Standing::Tombstoned(None));
}

#[tokio::test]
async fn settling_says_where_an_operation_stands() {
    let directory = TempDir::new().unwrap();
    let (operations, _) = open(directory.path()).await;
    let running = begin(&operations, 1).await;
    let settle = async |n| operations.settle(id(n), at(5)).await.unwrap();
    assert_eq!(settle(1).await, Standing::Running);
    drop(running);
    assert_eq!(settle(1).await, Standing::Unsettled);
    operations.finish_done(&mission(1), at(3)).await.unwrap();
    assert_eq!(settle(1).await, Standing::Done(Effect::Done, answer(1)));
    drop(begin(&operations, 2).await);
    operations
        .finish_refused(id(2), Some(&answer(9)), at(3))
        .await
        .unwrap();
    let refused = Answer {
        location: None,
        ..answer(9)
    };
    assert_eq!(settle(2).await, Standing::Tombstoned(Some(refused)));
}

#[tokio::test]
async fn an_outcome_is_never_changed() {
    let directory = TempDir::new().unwrap();
    let (operations, _) = open(directory.path()).await;
    drop(begin(&operations, 1).await);
    operations.finish_done(&mission(1), at(3)).await.unwrap();
    operations.finish_refused(id(1), None, at(4)).await.unwrap();
    assert_eq!(
        found(&operations, 1).await,
        Standing::Done(Effect::Done, answer(1))
    );
    operations.settle(id(2), at(1)).await.unwrap();
    operations.finish_done(&mission(2), at(3)).await.unwrap();
    assert_eq!(found(&operations, 2).await, Standing::Tombstoned(None));
}

#[tokio::test]
async fn the_next_life_finds_what_the_last_left() {
    let directory = TempDir::new().unwrap();
    let (operations, legacy) = open(directory.path()).await;
    assert!(legacy.clean, "the first life follows none");
    assert_eq!(legacy.starts, 1);
    let writer = legacy.writer;
    drop(begin(&operations, 1).await);
    operations.finish_done(&mission(1), at(3)).await.unwrap();
    drop(begin(&operations, 2).await);
    let stops = Stops {
        epoch: 7,
        last: Some(at(9)),
    };
    let ended = Mission {
        status: MissionStatus::Aborted,
        ended_at_utc: Some(at(9)),
        ..mission(1)
    };
    operations
        .record(stops, std::slice::from_ref(&ended), &[])
        .await
        .unwrap();
    drop(operations);
    let (operations, legacy) = open(directory.path()).await;
    assert!(!legacy.clean, "it did not close");
    assert_eq!((legacy.starts, legacy.stops), (2, stops.leap(at(100))));
    assert_eq!(legacy.writer, writer, "one id over all lives");
    assert_eq!(legacy.missions, [ended]);
    assert_eq!(legacy.unsettled, [mission(2)]);
    drop(operations);
    let (operations, legacy) = open(directory.path()).await;
    let twice = stops.leap(at(100)).leap(at(100));
    assert_eq!(
        legacy.stops, twice,
        "a leap is durable before the life begins"
    );
    operations.close(true).await.unwrap();
    drop(operations);
    let (_, legacy) = open(directory.path()).await;
    assert!(legacy.clean);
    assert_eq!(legacy.stops, twice, "no leap after an end in order");
}

#[tokio::test]
async fn missions_are_kept_up_to_a_bound() {
    let directory = TempDir::new().unwrap();
    let (operations, _) = open(directory.path()).await;
    // The bound itself is 1000; what is deleted is what is beyond it, the oldest first.
    let mut transaction = operations.database.pool().begin().await.unwrap();
    for n in 1..=1000 {
        sqlx::query("INSERT INTO missions (id, mission, created_ms) VALUES (?, ?, ?)")
            .bind(id(n).to_string())
            .bind(serde_json::to_string(&mission(n)).unwrap())
            .bind(at(i64::try_from(n).unwrap()).as_millisecond())
            .execute(&mut *transaction)
            .await
            .unwrap();
    }
    transaction.commit().await.unwrap();
    drop(begin(&operations, 1001).await);
    operations
        .finish_done(&mission(1001), at(1001))
        .await
        .unwrap();
    drop(operations);
    let (_, legacy) = open(directory.path()).await;
    let ids: Vec<Uuid> = legacy.missions.iter().map(|mission| mission.id).collect();
    assert_eq!(ids, (2..=1001).map(id).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_file_of_another_swarm_is_refused() {
    let directory = TempDir::new().unwrap();
    drop(open(directory.path()).await);
    let database = Database::open(&directory.path().join("drones.db"))
        .await
        .unwrap();
    let refused = Operations::open(database, "swarm-2", beginning())
        .await
        .unwrap_err();
    assert!(
        matches!(refused, DatabaseError::OtherSwarm { .. }),
        "{refused}"
    );
}

#[tokio::test]
async fn a_stop_is_on_record_even_when_it_was_tombstoned_before_it_came() {
    let directory = TempDir::new().unwrap();
    let (operations, _) = open(directory.path()).await;
    operations.settle(id(1), at(1)).await.unwrap();
    let stop = |n, effect| StopAnswered {
        operation: id(n),
        effect,
        answer: Answer {
            location: None,
            ..answer(n)
        },
        at: at(2),
    };
    let answered = [stop(1, Effect::Done), stop(2, Effect::Maybe)];
    operations
        .record(Stops::default(), &[], &answered)
        .await
        .unwrap();
    for stop in answered {
        let standing = operations.settle(stop.operation, at(3)).await.unwrap();
        assert_eq!(standing, Standing::Done(stop.effect, stop.answer));
    }
}

/// A file from before services had a writer id gets one, and keeps it.
#[tokio::test]
async fn a_file_of_the_layout_before_is_taken_over() {
    let directory = TempDir::new().unwrap();
    let (operations, _) = open(directory.path()).await;
    sqlx::raw_sql("ALTER TABLE swarm DROP COLUMN writer; PRAGMA user_version = 1;")
        .execute(operations.database.pool())
        .await
        .unwrap();
    operations.close(true).await.unwrap();
    drop(operations);
    let (operations, legacy) = open(directory.path()).await;
    let writer = legacy.writer;
    drop(operations);
    assert_eq!(open(directory.path()).await.1.writer, writer);
}

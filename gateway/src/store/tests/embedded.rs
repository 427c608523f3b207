use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::future::join_all;
use tempfile::TempDir;
use uuid::Uuid;

use super::keys::{id, record};
use super::registry::swarm;
use super::{Pair, at, suite, swapped};
use crate::idempotency::{Verdict, judge};
use crate::plans::fixtures::{approved, code, lease, pending};
use crate::plans::{PlanError, PlanSummary, Status};
use crate::store::{Claim, EmbeddedConfig, Put, Store, StoreError, Swap};

fn patient(path: impl Into<std::path::PathBuf>) -> EmbeddedConfig {
    EmbeddedConfig {
        // The suite asks for order, not for speed.
        timeout: Duration::from_secs(30),
        ..EmbeddedConfig::at(path)
    }
}

async fn open(path: &Path) -> Store {
    Store::embedded(patient(path)).await.expect("a store")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn conforms() {
    for (name, check) in suite() {
        println!("{name}");
        let directory = TempDir::new().expect("a directory");
        let store = open(&directory.path().join("store.db")).await;
        let pair = Pair {
            one: store.clone(),
            two: store,
        };
        check(pair).await;
    }
}

#[tokio::test]
async fn a_second_process_is_refused() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("store.db");
    let first = open(&path).await;
    let Err(StoreError::Refused { detail }) = Store::embedded(patient(&path)).await else {
        panic!("opened twice");
    };
    assert!(detail.contains("another process"), "{detail}");
    drop(first);
    open(&path).await;
}

#[tokio::test]
async fn a_missing_directory_and_a_newer_file_are_refused() {
    let directory = TempDir::new().expect("a directory");
    let nowhere = directory.path().join("missing/store.db");
    let Err(StoreError::Refused { detail }) = Store::embedded(patient(nowhere)).await else {
        panic!("opened");
    };
    assert!(detail.contains("missing/store.db.lock"), "{detail}");

    let path = directory.path().join("store.db");
    drop(open(&path).await);
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.expect("open");
    sqlx::query("PRAGMA user_version = 99")
        .execute(&mut connection)
        .await
        .expect("set");
    drop(connection);
    let Err(StoreError::Refused { detail }) = Store::embedded(patient(path)).await else {
        panic!("opened");
    };
    assert!(detail.contains("version `99`"), "{detail}");
}

#[tokio::test]
async fn everything_is_there_after_a_restart() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("store.db");
    let plan = pending(Uuid::new_v4(), at(0));
    let key = record(0);
    let head = {
        let store = open(&path).await;
        swapped(store.plans.insert(&plan).await);
        let claimed = store.keys.claim(&id("alice", "k"), &key, at(0), 10).await;
        assert_eq!(claimed, Ok(Claim::Fresh));
        let put = store.registry.put(&swarm("s", 1, "acme")).await;
        assert_eq!(put, Ok(Put::Applied { seq: 1 }));
        store.registry.head().await
    };
    let store = open(&path).await;
    assert_eq!(store.plans.get(plan.id).await, Ok(Some(plan)));
    assert_eq!(store.keys.get(&id("alice", "k")).await, Ok(Some(key)));
    assert_eq!(store.registry.head().await, head);
}

#[tokio::test]
async fn an_unreadable_record_is_named_and_not_taken_for_a_free_key() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("store.db");
    let store = open(&path).await;
    let broken = id("alice", "broken");
    let claimed = store.keys.claim(&broken, &record(0), at(0), 99).await;
    assert_eq!(claimed, Ok(Claim::Fresh));
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.expect("open");
    sqlx::query("UPDATE keys SET json = 'no json'")
        .execute(&mut connection)
        .await
        .expect("set");
    let claim = store.keys.claim(&broken, &record(0), at(0), 99).await;
    let Err(StoreError::Corrupt { place, .. }) = claim else {
        panic!("{claim:?}");
    };
    assert_eq!(place, broken.request);
}

#[tokio::test]
async fn a_full_queue_is_busy_and_nothing_of_it_is_taken() {
    let directory = TempDir::new().expect("a directory");
    let config = EmbeddedConfig {
        queue: 2,
        ..patient(directory.path().join("store.db"))
    };
    let store = Store::embedded(config).await.expect("a store");
    let plans: Vec<_> = (0..40).map(|_| pending(Uuid::new_v4(), at(0))).collect();
    let inserts = plans.iter().map(|plan| store.plans.insert(plan));
    let results = join_all(inserts).await;
    let busy = results
        .iter()
        .filter(|result| **result == Err(StoreError::Busy))
        .count();
    assert!(busy > 0, "forty callers found room in a queue of two");
    for (plan, result) in plans.into_iter().zip(results) {
        let expected = match result {
            Ok(Swap::Swapped) => Some(plan.clone()),
            _ => None,
        };
        assert_eq!(store.plans.get(plan.id).await, Ok(expected));
    }
}

/// Names the file for the process that [`killed`] starts.
const CHILD: &str = "INTERLOCK_STORE_CHILD";

/// The other side of [`killed`]: works on the file and says what was answered,
/// until it is killed. Without the variable it has nothing to do.
#[tokio::test]
async fn child() {
    let Some(path) = std::env::var_os(CHILD) else {
        return;
    };
    let store = open(Path::new(&path)).await;
    let say = |line: String| println!("\nanswered {line}");
    let plan = approved(Uuid::new_v4(), at(0));
    swapped(store.plans.insert(&plan).await);
    say(format!("plan {}", plan.id));
    let begun = plan
        .begin_dispatch(
            Some(&code()),
            at(1),
            Uuid::new_v4(),
            lease("gateway-1", at(30)),
        )
        .expect("dispatching");
    swapped(store.plans.replace(&begun, 2).await);
    say(format!("dispatched {}", begun.id));
    for number in 0.. {
        let name = format!("k{number}");
        let claimed = store
            .keys
            .claim(&id("alice", &name), &record(0), at(0), u32::MAX)
            .await;
        assert_eq!(claimed, Ok(Claim::Fresh));
        say(format!("key {name}"));
        let plan = approved(Uuid::new_v4(), at(0));
        swapped(store.plans.insert(&plan).await);
        say(format!("approved {}", plan.id));
    }
}

#[tokio::test]
async fn killed() {
    for lines in [2, 3, 40] {
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("store.db");
        let mut process = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", "store::tests::embedded::child", "--nocapture"])
            .env(CHILD, &path)
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let stdout = process.stdout.take().expect("piped");
        let answered: Vec<(String, String)> = BufReader::new(stdout)
            .lines()
            .map_while(Result::ok)
            .filter_map(|line| {
                let (what, name) = line.strip_prefix("answered ")?.split_once(' ')?;
                Some((what.to_owned(), name.to_owned()))
            })
            .take(lines)
            .collect();
        // SIGKILL: it cannot finish, flush or unlock anything.
        process.kill().expect("killed");
        process.wait().expect("ended");
        assert_eq!(answered.len(), lines, "the child ended early");

        let store = open(&path).await;
        for (what, name) in answered {
            survived(&store, &what, &name).await;
        }
    }
}

/// What was answered is still so.
async fn survived(store: &Store, what: &str, name: &str) {
    if what == "key" {
        let kept = store.keys.get(&id("alice", name)).await.expect("read");
        let kept = kept.expect("a claimed key is kept");
        // Nobody is at work on it any more: never free, never run again.
        let verdict = judge(Some(&kept), &kept.fingerprint, at(31));
        assert!(matches!(verdict, Verdict::Unknown { .. }), "{verdict:?}");
        return;
    }
    let plan = store.plans.get(name.parse().expect("an id")).await;
    let plan = plan.expect("read").expect("a plan is kept");
    match what {
        "dispatched" => {
            assert_eq!(plan.status(), Status::Dispatching);
            let again = plan.clone().begin_dispatch(
                Some(&code()),
                at(2),
                Uuid::new_v4(),
                lease("gateway-2", at(60)),
            );
            let spent = PlanError::WrongState {
                status: Status::Dispatching,
                event: "dispatched",
            };
            assert_eq!(again, Err(spent));
            let due = store.plans.unsettled(at(31), 10).await;
            assert_eq!(due, Ok(vec![plan]));
        }
        "approved" => assert_eq!(plan.status(), Status::Approved),
        // The first plan, of which a later line may say more.
        _ => assert!(matches!(
            plan.status(),
            Status::Approved | Status::Dispatching
        )),
    }
}

/// Opens the file beside the store and changes it by hand.
async fn by_hand(path: &Path, sql: &'static str) {
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path);
    let mut connection = sqlx::ConnectOptions::connect(&options).await.expect("open");
    let done = sqlx::raw_sql(sql).execute(&mut connection).await;
    done.expect("done");
}

#[tokio::test]
async fn a_file_from_before_summaries_lists_its_plans_without_reading_them() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("store.db");
    let plan = pending(Uuid::new_v4(), at(0));
    let store = open(&path).await;
    swapped(store.plans.insert(&plan).await);
    drop(store);
    by_hand(
        &path,
        "DROP TABLE plan_summaries; DROP TRIGGER plan_went;
         CREATE INDEX plans_newest ON plans (service, created_at DESC);
         PRAGMA user_version = 1;",
    )
    .await;
    let store = open(&path).await;
    let expected = Ok(vec![PlanSummary::of(&plan)]);
    assert_eq!(store.plans.list("drones", 10).await, expected);
    assert_eq!(store.plans.get(plan.id).await, Ok(Some(plan.clone())));
    by_hand(&path, "UPDATE plans SET json = 'no plan'").await;
    assert_eq!(store.plans.list("drones", 10).await, expected);
    assert!(store.plans.get(plan.id).await.is_err());
}

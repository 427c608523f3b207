use serde_json::{Value, json};
use uuid::Uuid;

use crate::bus::Stream;
use crate::commands::testkit::{Asking, Rig, mower, next, say, take_results};
use crate::contract::Status;
use crate::crash::{Crash, CrashPoint};

fn start() -> Asking {
    let command = json!({ "kind": "start_mow", "area_ids": [Uuid::from_u128(1)] });
    Asking::command(mower(1), command)
}

/// Asks until the service dies at `point`, and starts it again.
async fn died(point: CrashPoint, asking: &Asking) -> Rig {
    let (crash, there) = Crash::hang(point);
    let rig = Rig::with(1, crash).await;
    tokio::select! {
        reply = rig.send(asking) => panic!("{}", reply.text),
        () = there.notified() => {}
    }
    rig.again().await
}

async fn settled(rig: &Rig, operation: Uuid) -> Value {
    let reply = rig.send(&Asking::settle(operation)).await;
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply.json()
}

fn stands(settled: &Value) -> (&str, &str) {
    let text = |name: &str| settled[name].as_str().unwrap_or_default();
    (text("state"), text("effect"))
}

#[tokio::test]
async fn a_death_before_the_insert_leaves_nothing() {
    let asking = start();
    let rig = died(CrashPoint::CommandChecked, &asking).await;
    assert_eq!(rig.count().await, 0);
    assert_eq!(
        stands(&settled(&rig, asking.operation).await),
        ("tombstoned", "none")
    );
    // However late its packet comes.
    let (status, slug, _) = rig.send(&asking).await.problem();
    assert_eq!((status, slug.as_str()), (409, "operation-tombstoned"));
    assert_eq!(rig.bus.published(), 0);
}

#[tokio::test]
async fn a_death_between_insert_and_publish_is_never_made_up_for() {
    let asking = start();
    let rig = died(CrashPoint::CommandCommitted, &asking).await;
    assert_eq!(
        stands(&settled(&rig, asking.operation).await),
        ("running", "maybe")
    );
    let (_, slug, _) = rig.send(&asking).await.problem();
    assert_eq!(slug, "operation-in-progress");
    rig.pass(36_000);
    let record = rig.record(asking.operation).await.expect("a record");
    assert_eq!(record.outcome.status, Status::Pending);
    assert!(record.overdue(rig.now()));
    let settled = settled(&rig, asking.operation).await;
    assert_eq!(stands(&settled), ("done", "maybe"));
    assert_eq!(settled["answer"]["status"], 503);
    assert_eq!(rig.bus.published(), 0, "nothing is replayed");
}

#[tokio::test]
async fn a_death_after_the_publish_is_settled_by_the_result() {
    for point in [CrashPoint::CommandPublished, CrashPoint::CommandAnswered] {
        let asking = start();
        let rig = died(point, &asking).await;
        let sent = next(&rig.bus, Stream::Command).await;
        say(&rig.bus, &sent, Status::Accepted).await;
        take_results(&rig, 1).await;
        let settled = settled(&rig, asking.operation).await;
        assert_eq!(stands(&settled), ("done", "done"), "{point:?}");
        assert_eq!(settled["answer"]["status"], 202);
        let body = &settled["answer"]["body"];
        assert_eq!(body["command_id"], json!(asking.operation));
        assert_eq!(
            (rig.count().await, rig.bus.published()),
            (1, 2),
            "one command, one result"
        );
    }
}

#[tokio::test]
async fn a_death_around_the_publish_of_a_stop_leaves_a_raised_epoch() {
    for point in [CrashPoint::StopRaised, CrashPoint::StopPublished] {
        let asking = Asking::stop(mower(1));
        let rig = died(point, &asking).await;
        // Motion asked before the death is too old, whatever was recorded.
        assert!(rig.fleet.control.epochs.stopped_since(mower(1), rig.now()));
        let settled = settled(&rig, asking.operation).await;
        assert_eq!(
            stands(&settled),
            ("tombstoned", "none"),
            "{point:?}: on no record"
        );
        // A stop is never refused by its id.
        assert_eq!(rig.send(&asking).await.status, 202, "{point:?}");
        let again = self::settled(&rig, asking.operation).await;
        assert_eq!(stands(&again), ("done", "done"));
    }
}

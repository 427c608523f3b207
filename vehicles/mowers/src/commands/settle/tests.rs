use serde_json::{Value, json};
use uuid::Uuid;

use super::{Settled, by_records};
use crate::bus::Stream;
use crate::commands::bulk::kept::{Head, Target};
use crate::commands::record::{Outcome, Record};
use crate::commands::testkit::{
    ACCOUNT, Asking, GROUP, Rig, mower, next, noon, record, say, take_results,
};
use crate::commands::{publish, unsent};
use crate::contract::{Command, CommandKind, Status};
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

/// A death of a start of two mowers at `point`.
async fn many_died(point: CrashPoint) -> (Rig, Uuid) {
    let (crash, there) = Crash::hang(point);
    let rig = Rig::with(2, crash).await;
    for number in [1, 2] {
        rig.allow("start_mow", mower(number));
    }
    let asking = Asking::group(json!({ "kind": "start_mow", "area_ids": [Uuid::from_u128(1)] }));
    tokio::select! {
        reply = rig.send(&asking) => panic!("{}", reply.text),
        () = there.notified() => {}
    }
    (rig.again().await, asking.operation)
}

#[tokio::test]
async fn many_that_died_before_their_publish_are_not_said_to_be_sent() {
    let (rig, bulk) = many_died(CrashPoint::CommandCommitted).await;
    let running = settled(&rig, bulk).await;
    assert_eq!(stands(&running), ("running", "maybe"));
    rig.pass(36_000);
    let over = settled(&rig, bulk).await;
    assert_eq!(stands(&over), ("done", "maybe"));
    assert_eq!(over["answer"]["status"], 503);
    assert_eq!(rig.bus.published(), 0);
}

fn bulk_of(outcomes: &[(Status, &str)]) -> (Head, Vec<Record>) {
    let head = Head {
        bulk_id: Uuid::from_u128(7),
        account_id: ACCOUNT.to_owned(),
        kind: CommandKind::StartMow,
        target: Target::Group(GROUP),
        issued_at: noon(),
        expires_at: noon(),
    };
    let records = (1..).zip(outcomes).map(|(number, (status, reason))| {
        let mut record = record(mower(number), Command::LeaveDock {});
        record.outcome = Outcome {
            status: *status,
            reason: Some((*reason).to_owned()),
            result_at: Some(noon()),
            late: None,
        };
        record
    });
    (head, records.collect())
}

#[test]
fn many_were_handed_on_when_one_of_them_was() {
    let refused = (Status::Failed, publish::REFUSED);
    let unclear = (Status::Failed, publish::UNCONFIRMED);
    let stopped = (Status::Rejected, unsent::STOPPED);
    let no_area = (Status::Rejected, unsent::NO_AREA);
    let queued = (Status::Accepted, "");
    let late = noon() + jiff::SignedDuration::from_secs(60);
    for (outcomes, expected) in [
        (&[][..], "Done 202"),
        (&[refused, queued], "Done 202"),
        (&[unclear, queued], "Done 202"),
        (&[refused, unclear], "Maybe 503"),
        (&[refused, no_area], "None 503"),
        (&[stopped], "None 409"),
        (&[no_area], "Done 202"),
    ] {
        let (head, records) = bulk_of(outcomes);
        let over = by_records(&head, &records, late).expect("a word");
        let Settled::Done(effect, answer) = over else {
            panic!("{outcomes:?} runs for ever");
        };
        assert_eq!(
            format!("{effect:?} {}", answer.status),
            expected,
            "{outcomes:?}"
        );
        let early = by_records(&head, &records, noon()).expect("a word");
        assert_eq!(early == Settled::Running, outcomes.contains(&unclear));
    }
}

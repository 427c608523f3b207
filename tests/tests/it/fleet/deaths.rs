//! The service dies at each point of a command and of a stop. What was not
//! published is never made up for; what was is done once, and the same key
//! tells of it.

use interlock_mowers::crash::{CRASH_POINTS, CRASH_VARIABLE, CrashPoint};
use interlock_tests::http::Answer;
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use serde_json::Value;

use super::stand::{
    Mower, Shape, Spread, after, command, ends, find, height, latched, mower, record, start, stop,
};
use crate::crashes::case::{aborted, brisk};
use crate::personas::stage::fleet::FLEET;
use crate::personas::stage::text;

/// What the mower and the records know of a command whose service died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Nothing: the same key is a fresh command.
    Nothing,
    /// A record that nobody will ever answer.
    Record,
    /// A record and the mower's word.
    Done,
}

/// What a point of the flow of a command leaves; the others have flows of their
/// own. A new point does not compile before it has its place here.
fn left(point: CrashPoint) -> Option<Left> {
    match point {
        CrashPoint::CommandChecked => Some(Left::Nothing),
        CrashPoint::CommandCommitted => Some(Left::Record),
        CrashPoint::CommandPublished | CrashPoint::CommandAnswered => Some(Left::Done),
        CrashPoint::StopRaised
        | CrashPoint::StopPublished
        | CrashPoint::ChangeAnnounced
        | CrashPoint::ChangeWritten
        | CrashPoint::ChangeFed
        | CrashPoint::ChangeCommitted
        | CrashPoint::EventSent => None,
    }
}

/// Starts the service again, to end at `point` or nowhere.
async fn restart(spread: &mut Spread, point: Option<&str>) {
    let fleet = spread.fleet();
    if fleet.process.ended().is_none() {
        fleet.process.terminate();
    }
    let variable = |point: &str| (CRASH_VARIABLE.to_owned(), point.to_owned());
    fleet.config_mut().environment = point.map(variable).into_iter().collect();
    fleet.restart();
    // A start that comes before is refused, which is another failure.
    spread.bus_is("Healthy").await;
}

/// The same start with the same key.
async fn started(spread: &Spread, mower: &Mower, key: &str, life: u16) -> Answer {
    let path = format!("{FLEET}/mowers/{}/commands", mower.id);
    let call = spread.system.call(Persona::Operator, "POST", &path);
    call.key(key).json(&start(mower, life)).send().await
}

/// What the key tells once it is known.
async fn settled(spread: &Spread, mower: &Mower, key: &str, life: u16) -> Answer {
    poll::until_async("the key tells what became of it", async || {
        let answer = started(spread, mower, key, life).await;
        let open = [
            "request-in-progress",
            "outcome-unknown",
            "upstream-unavailable",
        ];
        (!open.contains(&answer.problem().as_str())).then_some(answer)
    })
    .await
}

/// The commands of a mower that are on record in the file of the service.
async fn kept(spread: &Spread, mower: &Mower) -> Vec<Value> {
    super::stand::records(&spread.system, &mower.id).await
}

/// F6 and F7, one after the other in one system.
#[tokio::test]
async fn in_the_middle_of_a_start() {
    let mut spread = Spread::start_with(Shape::ONE, brisk).await;
    for (name, point) in CRASH_POINTS.iter().copied() {
        let Some(left) = left(point) else { continue };
        // One that nobody publishes is in doubt until its life is over.
        let life = if left == Left::Record { 1 } else { 30 };
        let mower = mower(&spread.system).await;
        restart(&mut spread, Some(name)).await;
        let lost = started(&spread, &mower, name, life).await;
        assert_eq!(lost.json()["effect"], "maybe", "{name}: {}", lost.text());
        aborted(&mut spread.fleet().process);
        restart(&mut spread, None).await;

        let answer = settled(&spread, &mower, name, life).await;
        let kept = kept(&spread, &mower).await;
        let told = answer.text();
        match left {
            Left::Record => {
                assert_eq!(
                    answer.json()["effect"],
                    "maybe",
                    "{name}: {}",
                    answer.text()
                );
                let id = text(&kept[0]["command_id"]);
                let overdue = |it: &Value| it["overdue"] == true;
                let kept = record(&spread.system, "it is overdue", &id, overdue).await;
                assert_eq!(kept["status"], "pending", "{name}: {kept}");
                assert_eq!(spread.arrivals(&id), 0, "{name}");
            }
            Left::Nothing | Left::Done => {
                assert_eq!(answer.status, 202, "{name}: {told}, {kept:?}");
                let told = answer.json();
                let id = text(&told["command_id"]);
                assert_eq!(kept[0]["command_id"], told["command_id"], "{name}");
                ends(&spread.system, &id, "executed").await;
                let again = settled(&spread, &mower, name, life)
                    .await
                    .expect(202)
                    .json();
                assert_eq!(again["command_id"], told["command_id"], "{name}");
                assert_eq!(spread.arrivals(&id), 1, "{name}");
            }
        }
        assert!(kept.len() <= 1, "{name}: {kept:?}");
    }
}

/// Whoever asked for the stop asks again, and the mower stands; a start from
/// before the first stop moves it no more.
#[tokio::test]
async fn in_the_middle_of_a_stop() {
    let mut spread = Spread::start_with(Shape::ONE, brisk).await;
    for point in ["stop-raised", "stop-published"] {
        let mower = mower(&spread.system).await;
        restart(&mut spread, Some(point)).await;
        let lost = stop(&spread.system, &mower.id).await;
        assert!(lost.status >= 500, "{point}: {}", lost.text());
        aborted(&mut spread.fleet().process);
        restart(&mut spread, None).await;
        let again = poll::until_async("the stop is repeated", async || {
            let answer = stop(&spread.system, &mower.id).await;
            (answer.status == 202).then_some(answer)
        })
        .await;
        latched(&spread.system, &mower.id).await;
        let id = text(&again.json()["command_id"]);
        ends(&spread.system, &id, "executed").await;
    }
}

/// F25. What was under way when everything ended is not replayed after its life.
#[tokio::test]
async fn of_everything_at_once() {
    let shape = Shape {
        postgres: true,
        ..Shape::ONE
    };
    let mut spread = Spread::start(shape).await;
    let mower = mower(&spread.system).await;
    // Nobody takes it from the stream.
    spread.shards[0].process.kill();
    let waits = command(&spread.system, &mower.id, &start(&mower, 1)).await;
    let waits = waits.expect(202).json();
    spread.fleet().process.kill();
    spread.nats.kill();
    spread.system.gateway_mut().process.kill();
    let postgres = spread.postgres.as_mut().expect("a database");
    postgres.kill();
    after(&waits["expires_at"]).await;

    spread.postgres.as_mut().expect("a database").restart();
    spread.nats.restart();
    spread.fleet().restart();
    spread.shards[0].restart();
    spread.system.gateway_mut().restart();
    spread.system.gateway().ready().await;
    super::stand::held(&spread.system, &mower.id).await;
    let works = command(&spread.system, &mower.id, &height(40)).await;
    let works = text(&works.expect(202).json()["command_id"]);
    ends(&spread.system, &works, "executed").await;
    let id = text(&waits["command_id"]);
    assert_eq!(spread.arrivals(&id), 0);
    let over = |it: &Value| it["overdue"] == true || it["status"] == "expired";
    record(&spread.system, "it is over", &id, over).await;
    assert!(find(&spread.system, &id).await.is_some());
}

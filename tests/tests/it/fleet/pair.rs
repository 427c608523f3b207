//! Two replicas on one PostgreSQL and one bus, two gateways, and two shards:
//! one of each may go while commands flow.

use std::collections::{HashMap, HashSet};

use interlock_tests::http::{Answer, Call};
use interlock_tests::personas::Persona;
use interlock_tests::poll;
use interlock_tests::process::Signal;
use interlock_tests::system::Plan;
use serde_json::Value;

use super::shards::{holder, takes_over};
use super::stand::{
    Mower, Shape, Spread, command, ends, height, latched, mower, records, refused, stop,
};
use crate::crashes::case::brisk;
use crate::personas::stage::fleet::FLEET;
use crate::personas::stage::text;

pub(super) const PAIR: Shape = Shape {
    plan: Plan::PAIR.with_mowers(),
    shards: 2,
    replicas: 2,
    postgres: true,
    // Longer than it takes the other replica to follow one that died, so that the
    // shards keep what they hold meanwhile.
    lease: 10,
    stop_life: 15,
    ..Shape::ONE
};

/// Tells each gateway of both replicas, without a relay between: a process that
/// is gone refuses connections as only its kernel does.
pub(super) async fn with_both(mut spread: Spread) -> Spread {
    let replicas = vec![spread.fleet().address(), spread.others[0].address()];
    for gateway in &mut spread.system.gateways {
        let (known, _) = gateway.config.mowers.as_mut().expect("a fleet");
        known.clone_from(&replicas);
        gateway.process.kill();
        gateway.restart();
        gateway.ready().await;
    }
    spread
}

/// Commands that flow while a replica dies.
const COMMANDS: usize = 24;

fn call(spread: &Spread, mowers: &[Mower], number: usize) -> Call {
    let gateways = &spread.system.gateways;
    let mower = &mowers[number % mowers.len()].id;
    let path = format!("{FLEET}/mowers/{mower}/commands");
    let call = gateways[number % gateways.len()].http().post(&path);
    let call = call.token(Persona::Operator.token(&spread.system.idp));
    let height = u16::try_from(number % 40).expect("a small number") + 26;
    let mut body = self::height(height);
    // What the dead one did not send is in doubt until its life is over.
    body["ttl_seconds"] = 10.into();
    call.key(&format!("number-{number}")).json(&body)
}

/// None lost, none doubled: whatever was accepted reached its mower once, and
/// each key names one command.
#[tokio::test]
async fn one_replica_is_killed() {
    let mut spread = with_both(Spread::start_with(PAIR, brisk).await).await;
    let mut mowers = Vec::new();
    for _ in 0..4 {
        mowers.push(mower(&spread.system).await);
    }
    let flowing: Vec<_> = (0..COMMANDS)
        .map(|number| tokio::spawn(call(&spread, &mowers, number).try_send()))
        .collect();
    poll::until_async("commands flow", async || {
        (spread.nats.taken("COMMAND").await > 2).then_some(())
    })
    .await;
    spread.fleet().process.kill();
    let mut first: HashMap<usize, Answer> = HashMap::new();
    for (number, answer) in flowing.into_iter().enumerate() {
        if let Ok(answer) = answer.await.expect("the call is made") {
            first.insert(number, answer);
        }
    }
    // Each gateway turned to the other one by itself, and nobody was told to
    // come back later.
    let away = |answer: &&Answer| answer.status == 503;
    let away: Vec<String> = first.values().filter(away).map(Answer::text).collect();
    assert!(away.is_empty(), "{away:?}");
    for gateway in &spread.system.gateways {
        let switches = gateway.metric("interlock_upstream_switches_total").await;
        assert!(switches >= 1.0, "{switches}");
    }

    let mut ids = Vec::new();
    for number in 0..COMMANDS {
        let answer = poll::until_async("the key tells what became of it", async || {
            let answer = call(&spread, &mowers, number).send().await;
            let open = [
                "request-in-progress",
                "outcome-unknown",
                "service-unavailable",
            ];
            (!open.contains(&answer.problem().as_str())).then_some(answer)
        })
        .await;
        if answer.status != 202 {
            refused(&answer, 504, "may-have-acted", "maybe");
            continue;
        }
        let told = answer.json();
        if let Some(before) = first.get(&number).filter(|it| it.status == 202) {
            assert_eq!(before.json()["command_id"], told["command_id"], "{number}");
        }
        ids.push(text(&told["command_id"]));
    }
    for id in &ids {
        ends(&spread.system, id, "executed").await;
        assert_eq!(spread.arrivals(id), 1, "{id}");
    }
    let mut kept = Vec::new();
    for mower in &mowers {
        kept.extend(records(&spread.system, &mower.id).await);
    }
    let executed = |it: &&Value| it["status"] == "executed";
    assert_eq!(kept.iter().filter(executed).count(), ids.len());
    // What the dead one had written down and not sent is never sent.
    for left in kept.iter().filter(|it| !executed(it)) {
        assert_eq!(spread.arrivals(&text(&left["command_id"])), 0, "{left}");
    }
    let distinct: HashSet<&String> = ids.iter().collect();
    assert_eq!(distinct.len(), ids.len());
    // How many the dead one held at that moment is luck; what comes after is not.
    assert!(!ids.is_empty());
    let told = command(&spread.system, &mowers[0].id, &height(45)).await;
    let id = text(&told.expect(202).json()["command_id"]);
    ends(&spread.system, &id, "executed").await;
}

/// Its kernel takes connections and stops, and nobody answers: the other replica
/// is asked beside it, and the next stop and the next command go there at once.
#[tokio::test]
async fn one_replica_is_frozen() {
    let mut spread = with_both(Spread::start(PAIR).await).await;
    let mower = mower(&spread.system).await;
    spread.fleet().process.signal(Signal::Stop);
    stop(&spread.system, &mower.id).await.expect(202);
    latched(&spread.system, &mower.id).await;
    stop(&spread.system, &mower.id).await.expect(202);
    let told = command(&spread.system, &mower.id, &height(45)).await;
    let id = text(&told.expect(202).json()["command_id"]);
    ends(&spread.system, &id, "executed").await;
    assert_eq!(spread.arrivals(&id), 1);
    let gateway = spread.system.gateway();
    let switches = gateway.metric("interlock_upstream_switches_total").await;
    assert!(switches >= 1.0, "{switches}");
}

/// The other shard takes the mowers over, and the same id moves nothing twice.
#[tokio::test]
async fn one_shard_is_killed() {
    let mut spread = Spread::start(PAIR).await;
    let mower = mower(&spread.system).await;
    let dead = holder(&spread, &mower.id);
    spread.shards[dead].process.kill();
    takes_over(&spread, 1 - dead, &mower.id);
    let told = command(&spread.system, &mower.id, &height(45)).await;
    let id = text(&told.expect(202).json()["command_id"]);
    ends(&spread.system, &id, "executed").await;
    assert_eq!(spread.arrivals(&id), 1);
    stop(&spread.system, &mower.id).await.expect(202);
    latched(&spread.system, &mower.id).await;
}

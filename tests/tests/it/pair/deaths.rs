//! One of the two ends with a flight on its way: the other settles it.

use interlock_gateway::crash::CRASH_VARIABLE;
use interlock_tests::chaos::{Chaos, Line};
use interlock_tests::gateway::GatewayConfig;
use interlock_tests::poll;
use interlock_tests::system::{Plan, System};

use super::{approved, dispatch, plan};
use crate::crashes::case::{aborted, brisk};

fn is_first(config: &GatewayConfig) -> bool {
    config.state.ends_with("gateway-1")
}

async fn becomes(system: &System, id: &str, status: &str) {
    poll::until_async(status, async || {
        (plan(system, 1, id).await["status"] == status).then_some(())
    })
    .await;
}

/// Nobody asks the other one to: it looks by itself.
#[tokio::test]
async fn after_the_service_has_answered() {
    let mut system = System::start_with(Plan::PAIR, |config| {
        let mut config = brisk(config);
        if is_first(&config) {
            let point = (CRASH_VARIABLE.to_owned(), "after-send".to_owned());
            config.environment.push(point);
        }
        config
    })
    .await;
    let (id, code) = approved(&system).await;
    let lost = dispatch(&system, 0, &id, &code).key("once").try_send();
    assert!(lost.await.is_err(), "the first has answered");
    aborted(&mut system.gateways[0].process);

    becomes(&system, &id, "Dispatched").await;
    let told = poll::until_async("the key is settled", async || {
        let call = dispatch(&system, 1, &id, &code).key("once");
        let answer = call.send().await;
        (answer.problem() != "request-in-progress").then_some(answer)
    })
    .await;
    let told = told.expect(201);
    assert_eq!(told.header("idempotency-replayed"), Some("true"));
    let shown = plan(&system, 1, &id).await;
    assert_eq!(shown["missionId"], told.json()["id"]);
    let counted = system.sim.counters();
    assert_eq!((counted.starts, counted.flights), (1, 1));
}

/// What the dead one had sent arrives after the other has settled it, and after
/// the same code has flown: it does nothing.
#[tokio::test]
async fn while_its_packet_is_on_the_way() {
    let slow = Chaos::nowhere();
    let mut system = System::start_with(Plan::PAIR, |config| {
        let mut config = brisk(config);
        if is_first(&config) {
            slow.aim(config.drones);
            config.drones = slow.address();
        }
        config
    })
    .await;
    let (id, code) = approved(&system).await;
    slow.set(Line::Hung);
    let (held, carried) = (slow.accepted(), slow.bytes_to_target());
    let call = dispatch(&system, 0, &id, &code).key("once");
    let lost = tokio::spawn(call.try_send());
    poll::until_async("the packet is on its way", async || {
        let sent = plan(&system, 1, &id).await["status"] == "Dispatching";
        (sent && slow.accepted() >= held).then_some(())
    })
    .await;
    system.gateways[0].process.kill();
    assert!(lost.await.unwrap().is_err(), "the first has answered");

    // Until the lease ends nobody else tries; then the code is good again.
    let early = dispatch(&system, 1, &id, &code).send().await;
    assert_eq!(early.problem(), "plan-state", "{}", early.text());
    becomes(&system, &id, "Approved").await;
    assert_eq!(system.sim.counters().starts, 0);

    slow.set(Line::Up);
    poll::until("the packet arrives", || {
        (slow.bytes_to_target() > carried).then_some(())
    });
    let told = poll::until_async("the key is settled", async || {
        let call = dispatch(&system, 1, &id, &code).key("once");
        let answer = call.send().await;
        (answer.problem() != "request-in-progress").then_some(answer)
    })
    .await;
    assert_eq!(
        told.clone().expect(201).header("idempotency-replayed"),
        None
    );
    let shown = plan(&system, 1, &id).await;
    assert_eq!(shown["status"], "Dispatched");
    assert_eq!(shown["operation"]["attempt"], 2);
    assert_eq!(shown["missionId"], told.json()["id"]);
    let counted = system.sim.counters();
    assert_eq!((counted.starts, counted.flights), (1, 1));
}

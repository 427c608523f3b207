//! The gateway ends twice: while it carries out a dispatch, and again while it
//! finds out what became of that.

use super::case::{Ask, EMBEDDED, REDIS, aborted, agrees, doom, fragile, restart};
use super::{Flow, each, gateway_points};
use crate::personas::stage;
use interlock_tests::system::Plan;

async fn check(shape: Plan, first: &'static str, flew: bool, second: &'static str) {
    let mut system = fragile(shape, first).await;
    let (id, code) = stage::approved(&system).await;
    let ask = Ask::dispatch(&id, &code);
    ask.lost(&mut system).await;
    assert_eq!(system.sim.counters().flights, u64::from(flew));

    let gateway = system.gateway_mut();
    doom(gateway, second);
    // It settles by itself once the lease of the first has ended.
    aborted(&mut gateway.process);
    restart(gateway).await;

    let answer = ask.settled(&system).await.expect(201);
    let replayed = answer.header("idempotency-replayed").is_some();
    assert_eq!(replayed, flew, "{first}, {second}");
    agrees(&system, &id, &ask, &answer).await;
}

#[test]
fn of_what_flew() {
    each(gateway_points(Flow::Settle), |second, _| {
        check(EMBEDDED, "after-send", true, second)
    });
}

#[test]
fn of_what_was_never_sent() {
    each(gateway_points(Flow::Settle), |second, _| {
        check(EMBEDDED, "after-consume", false, second)
    });
}

#[test]
fn on_redis() {
    each(gateway_points(Flow::Settle), |second, _| {
        check(REDIS, "after-send", true, second)
    });
}

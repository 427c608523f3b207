//! What can be wrong with a plan, its code and a key.

use interlock_gateway::problem::Kind;
use interlock_tests::gateway::GatewayConfig;
use interlock_tests::personas::Persona;
use interlock_tests::system::{Plan, System};
use serde_json::json;

use super::seen::Seen;
use crate::personas::stage;

pub(super) const KINDS: &[Kind] = &[
    Kind::ApprovalRefused,
    Kind::PlanState,
    Kind::DigestMismatch,
    Kind::IdempotencyKeyReuse,
    Kind::QuotaExceeded,
];

const PLANS: &str = "/api/mission-plans";

#[tokio::test]
async fn of_plans_and_keys_are_seen() {
    let change = |mut config: GatewayConfig| {
        config.extra = "[limits]\nkeys_per_caller = 1\nplans_per_caller = 3\n".to_owned();
        config
    };
    let system = System::start_with(Plan::OPEN, change).await;
    let mut seen = Seen::default();

    let (plan, code) = stage::approved(&system).await;
    let path = format!("{PLANS}/{plan}/dispatch");
    for wrong in [json!({ "approvalCode": "A".repeat(32) }), json!({})] {
        let refused = system.post(Persona::Operator, &path, &wrong).await;
        seen.note(Kind::ApprovalRefused, "none", &refused);
    }
    // None of that has used it up.
    let right = json!({ "approvalCode": code });
    system
        .post(Persona::Operator, &path, &right)
        .await
        .expect(201);
    let again = system.post(Persona::Operator, &path, &right).await;
    let told = seen.note(Kind::PlanState, "none", &again);
    assert_eq!(told["planStatus"], "Dispatched");

    let plan = stage::pending(&system).await;
    let approve = system.call(
        Persona::Approver,
        "POST",
        &format!("{PLANS}/{plan}/approve"),
    );
    let other = approve.header("if-match", &format!("\"{}\"", "0".repeat(64)));
    seen.note(Kind::DigestMismatch, "none", &other.send().await);

    // One key: the same for something else, and another beside it.
    let propose = |key: &str| system.call(Persona::Proposer, "POST", PLANS).key(key);
    propose("one")
        .json(&stage::route())
        .send()
        .await
        .expect(201);
    let mut longer = stage::route();
    longer["waypoints"][1]["x"] = json!(40);
    let reused = propose("one").json(&longer).send().await;
    seen.note(Kind::IdempotencyKeyReuse, "none", &reused);
    let beside = propose("two").json(&stage::route()).send().await;
    let told = seen.note(Kind::QuotaExceeded, "none", &beside);
    assert!(told["detail"].as_str().unwrap().contains("keys"), "{told}");

    // Two plans wait, and with a third there are as many as there may be.
    stage::pending(&system).await;
    let many = system.post(Persona::Proposer, PLANS, &stage::route()).await;
    let told = seen.note(Kind::QuotaExceeded, "none", &many);
    assert!(told["detail"].as_str().unwrap().contains("plans"), "{told}");
    assert!(many.header("retry-after").is_some());

    seen.all(KINDS);
    assert_eq!(system.sim.counters().starts, 1);
}

//! Who may decide about whose plan: what the table, whose plans are all of one
//! proposer, cannot show.

use interlock_tests::personas::{ACCOUNT, AGENT_CLIENT, Persona};
use interlock_tests::system::{Plan, System};

use super::stage;

/// `persona` decides about a plan of `proposer`.
async fn check(system: &System, persona: Persona, verb: &str, proposer: Persona, status: u16) {
    let plan = stage::propose(system, proposer).await;
    let path = format!("/api/mission-plans/{plan}/{verb}");
    let answer = system.call(persona, "POST", &path).send().await;
    let what = format!("{} {verb}s a plan of {}", persona.name(), proposer.name());
    assert_eq!(answer.status, status, "{what}: {}", answer.text());
}

#[tokio::test]
async fn a_plan_is_decided_by_somebody_else() {
    let system = System::start(Plan::ENFORCED).await;
    // The same person may approve what another proposed.
    check(
        &system,
        Persona::Proposer,
        "approve",
        Persona::Proposer,
        403,
    )
    .await;
    check(
        &system,
        Persona::Proposer,
        "approve",
        Persona::Operator,
        200,
    )
    .await;
    // Taking back one's own plan needs no approver's role; another's does.
    check(&system, Persona::Operator, "reject", Persona::Operator, 200).await;
    check(&system, Persona::Operator, "reject", Persona::Proposer, 403).await;
}

/// A person who lets an agent propose with a token of theirs has proposed.
#[tokio::test]
async fn who_delegates_the_proposal_cannot_approve_it() {
    let system = System::start(Plan::ENFORCED).await;
    let roles = ["operator", "approver"];
    let paula = || system.idp.claims("paula").with_roles(ACCOUNT, &roles);
    let delegated = system.idp.sign(&paula().with("client_id", AGENT_CLIENT));
    let own = system.idp.sign(&paula());
    let proposal = system.gateway().http().post("/api/mission-plans");
    let proposal = proposal
        .token(Some(&delegated))
        .key("one")
        .json(&stage::route());
    let plan = proposal.send().await.expect(201).json();
    let path = format!(
        "/api/mission-plans/{}/approve",
        plan["id"].as_str().unwrap()
    );
    let approve = |token: &str| {
        system
            .gateway()
            .http()
            .post(&path)
            .token(Some(token))
            .send()
    };
    approve(&delegated).await.expect(403);
    approve(&own).await.expect(403);
    let other = Persona::Approver.token(&system.idp).unwrap();
    approve(&other).await.expect(200);
}

use proptest::prelude::{any, prop, prop_assert_eq, prop_assert_ne, proptest};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{EVENTS, plan_in};
use crate::canonical::tests::any_json;
use crate::plans::fixtures::{at, pending, proposal, somebody};
use crate::plans::{Plan, PlanDigest, Proposal, Status};

fn digest(change: impl FnOnce(&mut Proposal)) -> PlanDigest {
    let mut proposal = proposal(Uuid::from_u128(1));
    change(&mut proposal);
    Plan::propose(proposal, at(0)).expect("a plan").digest
}

#[test]
fn every_part_of_the_content_is_in_the_digest() {
    let original = digest(|_| {});
    let changed = [
        digest(|proposal| proposal.mission["spacingMeters"] = json!(4)),
        digest(|proposal| proposal.mission["name"] = json!("other")),
        digest(|proposal| proposal.mission["waypoints"][1]["z"] = json!(6.500_001)),
        digest(|proposal| proposal.preview["minSeparationMeters"] = json!(2.23)),
        digest(|proposal| proposal.preview["assumptions"] = json!([])),
        digest(|proposal| proposal.fence["stopEpoch"] = json!(4)),
        digest(|proposal| proposal.proposer = somebody("mallory")),
        digest(|proposal| proposal.proposer.issuer.push('/')),
        digest(|proposal| proposal.proposer.actor = Some("agent".to_owned())),
        pending(Uuid::from_u128(1), at(1)).digest,
    ];
    for (number, other) in changed.iter().enumerate() {
        assert_ne!(&original, other, "change {number}");
    }
    // What is evidence, or a name, is not.
    assert_eq!(
        original,
        digest(|proposal| proposal.id = Uuid::from_u128(2))
    );
    assert_eq!(original, digest(|proposal| proposal.evidence.registry = 43));
}

#[test]
fn the_digest_of_the_example_stays() {
    // Fixed for ever: grants carry it, and another implementation compares it.
    let text = "9ccd6388bca5e835124f8cab477bad2f2d89047fa362e151d51402a5ba735f0f";
    let digest = digest(|_| {});
    assert_eq!(digest.as_str(), text);
    assert_eq!(digest.short(), "9ccd-6388-bca5");
    assert_eq!(PlanDigest::parse(text).as_ref(), Some(&digest));
    assert_eq!(PlanDigest::parse(&format!("\"{text}\"")), Some(digest));
    for bad in [
        "",
        "\"",
        text.trim_start_matches('9'),
        &text.to_uppercase(),
        &format!("\"{text}"),
    ] {
        assert_eq!(PlanDigest::parse(bad), None, "{bad}");
    }
}

/// Replaces the leaf or container that `path` leads to.
fn graft(value: &mut Value, path: &[usize], new: Value) {
    let Some((step, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    match value {
        Value::Array(items) if !items.is_empty() => {
            let index = step % items.len();
            graft(&mut items[index], rest, new);
        }
        Value::Object(fields) if !fields.is_empty() => {
            let index = step % fields.len();
            graft(fields.values_mut().nth(index).expect("in range"), rest, new);
        }
        leaf => *leaf = new,
    }
}

proptest! {
    #[test]
    fn another_content_has_another_digest(
        place in 0..3_usize,
        path in prop::collection::vec(any::<usize>(), 1..5),
        new in any_json(),
    ) {
        let original = proposal(Uuid::from_u128(1));
        let before = [&original.mission, &original.preview, &original.fence][place].clone();
        let mut after = before.clone();
        graft(&mut after, &path, new);
        let same = crate::canonical::canonical(&before) == crate::canonical::canonical(&after);
        let changed = digest(|proposal| {
            *[&mut proposal.mission, &mut proposal.preview, &mut proposal.fence][place] = after;
        });
        prop_assert_eq!(changed == digest(|_| {}), same);
    }

    #[test]
    fn a_record_survives_its_json(
        mission in any_json(), preview in any_json(), fence in any_json(), status in 0..9_usize,
    ) {
        let mut plan = plan_in(Status::ALL[status]);
        (plan.mission, plan.preview, plan.fence) = (mission, preview, fence);
        let text = serde_json::to_string(&plan).expect("JSON");
        prop_assert_eq!(serde_json::from_str::<Plan>(&text).expect("a plan"), plan);
    }

    /// Whatever happens, an operation id begins once, a final state stays, and
    /// the mission is what was proposed.
    #[test]
    fn any_history_keeps_its_promises(events in prop::collection::vec(0..EVENTS.len(), 0..12)) {
        let proposed = plan_in(Status::PendingApproval);
        let mut plan = proposed.clone();
        let mut flown = 0;
        for event in events {
            let before = plan.clone();
            if let Ok(after) = EVENTS[event].1(plan.clone()) {
                prop_assert_ne!(before.clone().at(at(1)).status().is_final(), true);
                flown += usize::from(after.status() == Status::Dispatched);
                plan = after;
            }
            prop_assert_eq!(&plan.mission, &proposed.mission);
            prop_assert_eq!(&plan.digest, &proposed.digest);
        }
        assert!(flown <= 1);
    }
}

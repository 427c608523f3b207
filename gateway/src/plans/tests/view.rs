use serde_json::{Value, json};
use uuid::Uuid;

use super::{OPERATION, plan_in};
use crate::plans::fixtures::{at, code, proposal};
use crate::plans::{ApprovalView, Plan, PlanSummary, PlanView, Proposal, Status};

fn view(plan: &Plan) -> Value {
    PlanView::of(plan, at(0)).into_json()
}

#[test]
fn an_approved_plan_looks_like_this() {
    let plan = plan_in(Status::Approved);
    let expected = json!({
        "id": "00000000-0000-0000-0000-000000000001",
        "status": "Approved",
        "service": "drones",
        "object": { "type": "Swarm", "id": "swarm-1" },
        "name": "survey",
        "type": "formation",
        "formation": "line",
        "waypoints": plan.mission["waypoints"],
        "droneCount": 3,
        "spacingMeters": 3,
        "preview": plan.preview,
        "digest": plan.digest.as_str(),
        "digestShort": plan.digest.short(),
        "createdAtUtc": "2026-11-30T12:00:00Z",
        "createdBy": "alice",
        "createdByActor": null,
        "decideByUtc": "2026-11-30T13:00:00Z",
        "decidedAtUtc": "2026-11-30T12:00:00Z",
        "decidedBy": "bob",
        "approvalExpiresAtUtc": "2026-11-30T12:10:00Z",
        "missionId": null,
        "operation": null,
        "refusal": null,
    });
    assert_eq!(view(&plan), expected);
}

/// A list shows what a plan shows, but for the preview.
#[test]
fn a_summary_is_the_view_without_the_preview() {
    for status in Status::ALL {
        let plan = plan_in(status);
        let mut whole = view(&plan);
        let preview = whole.as_object_mut().expect("fields").remove("preview");
        assert!(preview.is_some_and(|preview| !preview.is_null()));
        assert_eq!(PlanSummary::of(&plan).view(at(0)), whole);
    }
}

#[test]
fn an_end_says_what_came_of_it() {
    let dispatched = view(&plan_in(Status::Dispatched));
    assert_eq!(dispatched["missionId"], "m1");
    assert_eq!(dispatched["operation"]["id"], OPERATION.to_string());
    assert_eq!(dispatched["operation"]["attempt"], 1);
    let refused = view(&plan_in(Status::Refused));
    assert_eq!(refused["missionId"], Value::Null);
    let refusal = json!({ "reason": "moved", "effect": "none", "atUtc": "2026-11-30T12:00:00Z" });
    assert_eq!(refused["refusal"], refusal);
}

#[test]
fn a_deadline_shows_in_the_view() {
    let plan = plan_in(Status::PendingApproval);
    let late = PlanView::of(&plan, at(3601)).into_json();
    assert_eq!(late["status"], "Expired");
}

#[test]
fn no_view_holds_a_code_or_a_hash() {
    let hash = serde_json::to_string(&code().hash()).expect("JSON");
    let hash = hash.trim_matches('"');
    for status in Status::ALL {
        let text = view(&plan_in(status)).to_string();
        assert!(!text.to_lowercase().contains("hash"), "{status}: {text}");
        assert!(!text.contains(&code().reveal()), "{status}: {text}");
        assert!(!text.contains(hash), "{status}: {text}");
    }
    let record = serde_json::to_string(&plan_in(Status::Approved)).expect("JSON");
    assert!(record.contains(hash), "the check looks for the right text");
}

#[test]
fn a_proposal_cannot_dress_itself() {
    let mut forged = proposal(Uuid::from_u128(1));
    forged.mission = json!({ "name": "x", "status": "Approved", "missionId": "m", "id": 5 });
    let plan = Plan::propose(Proposal { ..forged }, at(0)).expect("a plan");
    let view = view(&plan);
    assert_eq!(view["status"], "PendingApproval");
    assert_eq!(view["missionId"], Value::Null);
    assert_eq!(view["id"], "00000000-0000-0000-0000-000000000001");
    assert_eq!(view["name"], "x");
}

#[test]
fn the_code_is_in_the_first_answer_alone() {
    let plan = plan_in(Status::Approved);
    let text = code().reveal();
    let first = ApprovalView::first(&plan, code(), at(0)).expect("approved");
    assert_eq!(first["approvalCode"], text);
    assert_eq!(first["expiresAtUtc"], "2026-11-30T12:10:00Z");
    assert_eq!(first["plan"], view(&plan));

    let stored = ApprovalView::stored(&plan, at(0)).expect("approved");
    assert!(stored.secret_stripped);
    let body: Value = serde_json::from_slice(&stored.body).expect("JSON");
    assert_eq!(body["approvalCode"], Value::Null);
    assert_eq!(body["codeAlreadyShown"], true);
    assert_eq!(body["plan"], view(&plan));
    assert!(!String::from_utf8_lossy(&stored.body).contains(&text));
    assert_eq!(
        ApprovalView::stored(&plan_in(Status::Rejected), at(0)),
        None
    );
}

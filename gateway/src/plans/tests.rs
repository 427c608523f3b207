mod properties;
mod view;

use jiff::SignedDuration;
use uuid::Uuid;

use crate::effect::Effect;
use crate::plans::fixtures::{
    answer, approved, at, code, decision, dispatching, lease, pending, proposal, somebody,
    wrong_code,
};
use crate::plans::{
    APPROVAL_WINDOW, DECISION_WINDOW, DispatchEnd, Plan, PlanDigest, PlanError, Proposal,
    SettleAnswer, State, Status,
};

const OPERATION: Uuid = Uuid::from_u128(7);

/// A plan in a state, entered at `at(0)`.
pub(crate) fn plan_in(status: Status) -> Plan {
    let id = Uuid::from_u128(1);
    let flying = dispatching(id, OPERATION, at(0));
    let plan = match status {
        Status::PendingApproval => Ok(pending(id, at(0))),
        Status::Conflicted => Plan::propose(
            Proposal {
                conflicted: true,
                ..proposal(id)
            },
            at(0),
        ),
        Status::Approved => Ok(approved(id, at(0))),
        Status::Dispatching => Ok(flying),
        Status::Dispatched => flying.finish(OPERATION, accepted(), at(0)),
        Status::Refused => flying.finish(OPERATION, refused(), at(0)),
        Status::Rejected => pending(id, at(0)).reject(decision("bob", at(0))),
        // A deadline that has passed, whatever the present event asks.
        Status::Expired => Ok(approved(id, at(0) - APPROVAL_WINDOW)),
        Status::Unknown => flying.finish(OPERATION, DispatchEnd::Unclear, at(0)),
    };
    plan.expect("a plan")
}

fn accepted() -> DispatchEnd {
    DispatchEnd::Accepted {
        mission_id: "m1".to_owned(),
        answer: answer("{}"),
    }
}

fn refused() -> DispatchEnd {
    DispatchEnd::Refused {
        reason: "moved".to_owned(),
    }
}

type Event = fn(Plan) -> Result<Plan, PlanError>;

/// Every event, under the names of the table, at `at(1)`.
const EVENTS: [(&str, Event); 17] = [
    ("approve", |plan| {
        let named = plan.digest.clone();
        plan.approve(decision("bob", at(1)), code().hash(), Some(&named))
    }),
    ("approve other", |plan| {
        let named = PlanDigest::parse(&"0".repeat(64)).expect("a digest");
        plan.approve(decision("bob", at(1)), code().hash(), Some(&named))
    }),
    ("reject", |plan| plan.reject(decision("bob", at(1)))),
    ("dispatch", |plan| {
        plan.begin_dispatch(Some(&code()), at(1), Uuid::from_u128(8), lease("g", at(31)))
    }),
    ("dispatch wrong", |plan| {
        plan.begin_dispatch(Some(&wrong_code()), at(1), OPERATION, lease("g", at(31)))
    }),
    ("dispatch none", |plan| {
        plan.begin_dispatch(None, at(1), OPERATION, lease("g", at(31)))
    }),
    ("accepted", |plan| plan.finish(OPERATION, accepted(), at(1))),
    ("not sent", |plan| {
        plan.finish(OPERATION, DispatchEnd::NotSent, at(1))
    }),
    ("refused", |plan| plan.finish(OPERATION, refused(), at(1))),
    ("unclear", |plan| {
        plan.finish(OPERATION, DispatchEnd::Unclear, at(1))
    }),
    ("other operation", |plan| {
        plan.finish(Uuid::from_u128(9), accepted(), at(1))
    }),
    ("settle begins", |plan| {
        plan.begin_settle(at(1), lease("gateway-2", at(31)))
    }),
    ("settle accepted", |plan| {
        let answer = SettleAnswer::Accepted {
            mission_id: "m1".to_owned(),
            answer: answer("{}"),
        };
        plan.settle(OPERATION, answer, at(1))
    }),
    ("settle refused", |plan| {
        let answer = SettleAnswer::Refused {
            reason: "moved".to_owned(),
            effect: Effect::None,
        };
        plan.settle(OPERATION, answer, at(1))
    }),
    ("tombstoned", |plan| tombstoned(plan, Effect::None)),
    ("tombstoned maybe", |plan| tombstoned(plan, Effect::Maybe)),
    ("running", |plan| {
        let lease = lease("gateway-2", at(61));
        plan.settle(OPERATION, SettleAnswer::Running { lease }, at(1))
    }),
];

fn tombstoned(plan: Plan, effect: Effect) -> Result<Plan, PlanError> {
    plan.settle(OPERATION, SettleAnswer::Tombstoned { effect }, at(1))
}

/// The table's word for what came of an event.
fn cell(result: &Result<Plan, PlanError>) -> &'static str {
    match result {
        Ok(plan) => plan.status().as_str(),
        Err(PlanError::WrongState { .. }) => "-",
        Err(PlanError::WrongCode) => "[code]",
        Err(PlanError::Altered) => "[altered]",
        Err(PlanError::DigestMismatch) => "[digest]",
        Err(PlanError::WrongOperation(_)) => "[operation]",
        Err(PlanError::Leased { .. }) => "[leased]",
        Err(PlanError::Content(_)) => "[content]",
        Err(PlanError::Clock) => "[clock]",
    }
}

#[test]
fn every_event_in_every_state_is_as_the_table_says() {
    let table = include_str!("states.txt");
    let mut lines = table.lines().skip(3);
    let names: Vec<&str> = lines.next().expect("a head").split_whitespace().collect();
    assert_eq!(names, Status::ALL.map(Status::as_str));
    for (name, event) in EVENTS {
        let made: Vec<&str> = Status::ALL
            .map(|status| cell(&event(plan_in(status))))
            .to_vec();
        let line = lines.next().expect("a line per event");
        let cells = line.strip_prefix(&format!("{name:18}")).expect(name);
        let expected: Vec<&str> = cells.split_whitespace().collect();
        assert_eq!(made, expected, "{name}");
    }
    assert_eq!(lines.next(), None);
}

#[test]
fn a_wrong_state_names_itself_deadlines_judged() {
    let late = plan_in(Status::Approved).begin_dispatch(
        Some(&code()),
        at(601),
        OPERATION,
        lease("g", at(700)),
    );
    let expected = PlanError::WrongState {
        status: Status::Expired,
        event: "dispatched",
    };
    assert_eq!(late, Err(expected.clone()));
    assert_eq!(
        expected.to_string(),
        "a plan that is `Expired` cannot be dispatched"
    );
}

#[test]
fn every_change_raises_the_revision_by_one() {
    for (name, event) in EVENTS {
        for status in Status::ALL {
            let before = plan_in(status);
            if let Ok(after) = event(before.clone()) {
                assert_eq!(after.revision, before.revision + 1, "{name} {status}");
            }
        }
    }
}

#[test]
fn deadlines_are_inclusive() {
    let expires = |plan: Plan, last: SignedDuration| {
        let tick = SignedDuration::from_nanos(1);
        let status = plan.status();
        assert_eq!(plan.clone().at(at(0) + last).status(), status);
        assert!(plan.is_open(at(0) + last));
        assert_eq!(
            plan.clone().at(at(0) + last + tick).status(),
            Status::Expired
        );
        assert!(!plan.is_open(at(0) + last + tick));
    };
    expires(plan_in(Status::PendingApproval), DECISION_WINDOW);
    expires(plan_in(Status::Conflicted), DECISION_WINDOW);
    expires(plan_in(Status::Approved), APPROVAL_WINDOW);
}

#[test]
fn what_only_an_event_ends_never_expires() {
    let ages = at(0) + SignedDuration::from_hours(24 * 365 * 100);
    for status in [
        Status::Dispatching,
        Status::Dispatched,
        Status::Refused,
        Status::Rejected,
        Status::Unknown,
    ] {
        assert_eq!(plan_in(status).at(ages).status(), status);
    }
}

#[test]
fn an_approval_outlives_the_decision_window() {
    let last = at(0) + DECISION_WINDOW;
    let plan = plan_in(Status::PendingApproval)
        .approve(decision("bob", last), code().hash(), None)
        .expect("approved");
    assert_eq!(
        plan.clone().at(last + APPROVAL_WINDOW).status(),
        Status::Approved
    );
}

#[test]
fn a_code_that_comes_back_serves_a_second_attempt() {
    let plan = plan_in(Status::Dispatching)
        .finish(OPERATION, DispatchEnd::NotSent, at(2))
        .expect("back");
    let again = plan
        .begin_dispatch(Some(&code()), at(3), Uuid::from_u128(8), lease("g", at(33)))
        .expect("dispatching");
    let operation = again.state.operation().expect("one").clone();
    assert_eq!((operation.id, operation.attempt), (Uuid::from_u128(8), 2));
    // The first attempt's answer, come late, belongs to nobody.
    let late = again.finish(OPERATION, accepted(), at(4));
    assert_eq!(late, Err(PlanError::WrongOperation(OPERATION)));
}

#[test]
fn a_tombstone_after_the_approval_lapsed_ends_the_plan() {
    let tombstone = SettleAnswer::Tombstoned {
        effect: Effect::None,
    };
    let settle = |seconds| {
        plan_in(Status::Unknown)
            .settle(OPERATION, tombstone.clone(), at(seconds))
            .expect("settled")
            .status()
    };
    assert_eq!(settle(600), Status::Approved);
    assert_eq!(settle(601), Status::Expired);
}

#[test]
fn a_tombstone_after_a_possible_effect_is_refused_as_such() {
    let plan = tombstoned(plan_in(Status::Unknown), Effect::Maybe).expect("settled");
    let refusal = plan.state.refusal().expect("a refusal");
    assert_eq!(refusal.effect, Effect::Maybe);
    assert!(
        refusal.reason.contains("may have moved"),
        "{}",
        refusal.reason
    );
}

#[test]
fn a_settler_waits_for_the_lease_of_another_but_not_for_its_own() {
    let plan = plan_in(Status::Dispatching);
    let other = |seconds| {
        plan.clone()
            .begin_settle(at(seconds), lease("gateway-2", at(90)))
    };
    assert_eq!(other(30), Err(PlanError::Leased { until: at(30) }));
    let taken = other(31).expect("taken up");
    assert_eq!(taken.status(), Status::Unknown);
    assert_eq!(taken.settle_after(), Some(at(90)));
    let own = plan.begin_settle(at(1), lease("gateway-1", at(60)));
    assert_eq!(own.expect("taken up").settle_after(), Some(at(60)));
    // In doubt, it is anybody's at once.
    let doubted = plan_in(Status::Unknown).begin_settle(at(1), lease("gateway-2", at(60)));
    assert!(doubted.is_ok());
}

#[test]
fn the_code_is_gone_from_every_final_state() {
    for status in Status::ALL.into_iter().filter(|status| status.is_final()) {
        let json = serde_json::to_string(&plan_in(status).at(at(1))).expect("JSON");
        assert!(!json.contains("\"code\""), "{status}: {json}");
    }
    let json = serde_json::to_string(&plan_in(Status::Approved)).expect("JSON");
    assert!(
        json.contains("\"code\""),
        "the check looks for the right name"
    );
}

#[test]
fn approval_and_rejection_say_who_and_when() {
    let approved = plan_in(Status::Approved);
    let first = approved.state.decision().expect("one");
    assert_eq!((&first.by, first.at), (&somebody("bob"), at(0)));
    let rejected = approved.reject(decision("carol", at(5))).expect("rejected");
    let last = rejected.state.decision().expect("one");
    assert_eq!((&last.by, last.at), (&somebody("carol"), at(5)));
    assert!(matches!(rejected.state, State::Rejected { .. }));
}

#[test]
fn a_record_changed_past_the_gateway_is_neither_approved_nor_sent() {
    let edits: [fn(&mut Plan); 4] = [
        |plan| plan.mission["waypoints"][0]["z"] = 60.into(),
        |plan| plan.preview["conflicts"] = serde_json::json!([1]),
        |plan| plan.fence["stopEpoch"] = 4.into(),
        |plan| plan.decide_by = at(7200),
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        let mut waiting = plan_in(Status::PendingApproval);
        edit(&mut waiting);
        let approve = waiting.approve(decision("bob", at(1)), code().hash(), None);
        assert_eq!(approve, Err(PlanError::Altered), "edit {number}");
        let mut ready = plan_in(Status::Approved);
        edit(&mut ready);
        let begin = ready.begin_dispatch(Some(&code()), at(1), OPERATION, lease("g", at(31)));
        assert_eq!(begin, Err(PlanError::Altered), "edit {number}");
    }
}

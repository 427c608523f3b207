use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{EvaluationsError, MAX_QUESTIONS, OBSERVE, PATH, Question, Verdict, answer, request};
use crate::feed::verify_feed;
use crate::guard::Guard;
use crate::keys::{Key, KeySet, Keys};
use crate::layer::Granted;
use crate::layer::tests::{SetClock, grant, sign};

const NOW: i64 = 1_764_500_000;

fn keys() -> Keys {
    Keys::new(KeySet::new(vec![Key::new("k", &[1; 32]).unwrap()]).unwrap())
}

fn now() -> Timestamp {
    Timestamp::from_second(NOW).unwrap()
}

fn granted() -> (Granted, String) {
    let guard = Guard::new("drones", keys(), Arc::new(SetClock::at(NOW)));
    let token = sign("k", &[1; 32], &grant(Uuid::from_u128(1), now()));
    let granted = guard.check(&token, "POST", "/api/missions", b"{}").unwrap();
    (granted, token)
}

fn asked(questions: &[Question<'_>]) -> Result<super::SignedRequest, EvaluationsError> {
    let (granted, _) = granted();
    request(
        &keys(),
        "drones",
        &granted,
        questions,
        Uuid::from_u128(2),
        now(),
    )
}

#[test]
fn a_request_carries_the_grant_and_is_bound_to_its_bytes() {
    let questions = [
        Question {
            action: "mission_start",
            kind: "Swarm",
            id: "swarm-1",
        },
        Question {
            action: OBSERVE,
            kind: "Swarm",
            id: "swarm-2",
        },
    ];
    let made = asked(&questions).unwrap();
    let body: Value = serde_json::from_slice(&made.body).unwrap();
    let expected = json!({
        "grant": granted().1,
        "evaluations": [
            { "action": { "name": "mission_start" }, "resource": { "type": "Swarm", "id": "swarm-1" } },
            { "action": { "name": "observe" }, "resource": { "type": "Swarm", "id": "swarm-2" } },
        ],
    });
    assert_eq!(body, expected);
    let [(_, media), (name, token)] = &made.headers;
    assert_eq!(
        (media, name.as_str()),
        (&"application/json".parse().unwrap(), "interlock-service")
    );
    assert!(token.is_sensitive());
    let check = |body: &[u8]| {
        let call = ("POST", PATH, body);
        let token = token.to_str().unwrap();
        verify_feed(&keys().current(), "drones", token, call, now()).map(|claims| claims.jti)
    };
    assert_eq!(check(&made.body), Ok(Uuid::from_u128(2)));
    assert!(check(b"{}").is_err());
}

#[test]
fn too_many_questions_are_refused_before_they_are_sent() {
    let one = Question {
        action: OBSERVE,
        kind: "Swarm",
        id: "swarm-1",
    };
    assert!(asked(&vec![one; MAX_QUESTIONS]).is_ok());
    let refused = asked(&vec![one; MAX_QUESTIONS + 1]).unwrap_err();
    assert_eq!(refused, EvaluationsError::TooMany(MAX_QUESTIONS + 1));
}

#[test]
fn verdicts_come_in_the_order_of_the_questions() {
    let body = json!({ "evaluations": [
        { "decision": true, "context": { "visible": true, "revision": 7 } },
        { "decision": false, "context": { "visible": true, "problem": "quiet-hours", "later": 1 } },
        { "decision": false, "context": { "visible": false } },
    ]});
    let verdicts = answer(200, body.to_string().as_bytes(), 3).unwrap();
    let verdict = |allowed, visible, revision, problem: Option<&str>| Verdict {
        allowed,
        visible,
        revision,
        problem: problem.map(str::to_owned),
    };
    assert_eq!(
        verdicts,
        [
            verdict(true, true, Some(7), None),
            verdict(false, true, None, Some("quiet-hours")),
            verdict(false, false, None, None),
        ]
    );
}

#[test]
fn what_is_no_full_answer_is_none() {
    let check = |status: u16, body: Value, asked: usize, part: &str| {
        let told = answer(status, body.to_string().as_bytes(), asked).unwrap_err();
        assert!(told.to_string().contains(part), "{body}: {told}");
    };
    let one = json!({ "evaluations": [{ "decision": true, "context": { "visible": true } }] });
    check(200, one.clone(), 2, "1 verdicts for 2 questions");
    check(200, one, 0, "1 verdicts for 0 questions");
    check(
        200,
        json!({ "evaluations": [{ "decision": true }] }),
        1,
        "context",
    );
    check(
        200,
        json!({ "evaluations": [{ "decision": true, "context": {} }] }),
        1,
        "visible",
    );
    check(
        503,
        json!({ "detail": "a policy could not be evaluated" }),
        1,
        "503: a policy",
    );
    check(401, json!([]), 1, "answered 401");
}

#[test]
fn no_debug_form_shows_the_grant() {
    let (granted, token) = granted();
    assert!(!format!("{granted:?}").contains(&token));
}

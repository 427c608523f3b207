//! Any history of requests, crashes and settlements over one key, against the
//! promise: once the work may have happened, it never runs again under its
//! key; only a definite failure, or 24 hours after an answer, makes it free.

use proptest::prelude::{Strategy, prop, proptest};
use uuid::Uuid;

use crate::idempotency::{Fingerprint, KeyRecord, Subject, Verdict, judge};
use crate::plans::fixtures::{answer, at};

/// How a run of the work ends, as the gateway sees it.
#[derive(Clone, Copy, Debug)]
enum End {
    /// Done and answered.
    Answered,
    /// Surely not done: the key is released.
    NotDone,
    /// Nobody knows.
    Unclear,
    /// The gateway dies before it hears.
    Crash,
}

#[derive(Clone, Copy, Debug)]
enum Operation {
    /// A request with body 0 or 1; its work, if it runs, ends so.
    Send(u8, End),
    /// Time passes.
    Wait(i64),
    /// A settler takes the key up and learns whether it was done.
    Settle(bool),
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let end = proptest::prop_oneof![
        proptest::strategy::Just(End::Answered),
        proptest::strategy::Just(End::NotDone),
        proptest::strategy::Just(End::Unclear),
        proptest::strategy::Just(End::Crash),
    ];
    let operation = proptest::prop_oneof![
        4 => (0..2_u8, end).prop_map(|(body, end)| Operation::Send(body, end)),
        2 => prop::sample::select(vec![1, 29, 30, 31, 3600, 24 * 3600, 24 * 3600 + 1])
            .prop_map(Operation::Wait),
        1 => proptest::bool::ANY.prop_map(Operation::Settle),
    ];
    prop::collection::vec(operation, 1..40)
}

fn fingerprint(body: u8) -> Fingerprint {
    let fields = [("body".to_owned(), body.into())].into_iter().collect();
    Fingerprint::of(Some(&fields), &[], &[]).expect("a fingerprint")
}

/// What the model remembers of the last run: its body, and until when the key
/// must not run again; none is for ever.
struct Run {
    body: u8,
    blocked_until: Option<i64>,
    answered: bool,
}

/// The key's record, the time, and the model beside them.
#[derive(Default)]
struct World {
    now: i64,
    claims: u128,
    record: Option<KeyRecord>,
    last: Option<Run>,
}

impl World {
    fn step(&mut self, operation: Operation) {
        match operation {
            Operation::Wait(seconds) => self.now += seconds,
            Operation::Send(body, end) => self.send(body, end),
            Operation::Settle(done) => self.settle(done),
        }
    }

    fn send(&mut self, body: u8, end: End) {
        let asked = fingerprint(body);
        let verdict = judge(self.record.as_ref(), &asked, at(self.now));
        let blocked = self
            .last
            .as_ref()
            .filter(|run| run.blocked_until.is_none_or(|until| self.now <= until));
        let Some(run) = blocked else {
            assert_eq!(verdict, Verdict::Free, "at {}", self.now);
            self.run(body, end);
            return;
        };
        match verdict {
            Verdict::Free => panic!("ran twice at {}", self.now),
            Verdict::Mismatch => assert_ne!(run.body, body),
            Verdict::Replay(stored) => {
                assert!(run.answered);
                assert_eq!(stored, &answer(&run.body.to_string()));
                assert_eq!(run.body, body);
            }
            Verdict::Running | Verdict::Unknown { .. } => {
                assert!(!run.answered);
                assert_eq!(run.body, body);
            }
        }
    }

    fn claim(&mut self) -> Uuid {
        self.claims += 1;
        Uuid::from_u128(self.claims)
    }

    fn run(&mut self, body: u8, end: End) {
        let claim = self.claim();
        let subject = Subject {
            row: "row".to_owned(),
            service: "drones".to_owned(),
            operation: claim,
            plan: None,
        };
        let now = self.now;
        let lease = at(now + 30);
        let owner = "gateway".to_owned();
        let record = KeyRecord::reserve(claim, fingerprint(body), subject, owner, lease, at(now));
        let (record, blocked_until) = match end {
            End::Answered => (
                Some(record.answered(answer(&body.to_string()))),
                Some(now + 24 * 3600),
            ),
            End::NotDone => (None, Some(now - 1)),
            End::Unclear => (Some(record.unknown("look".to_owned(), at(now))), None),
            End::Crash => (Some(record), None),
        };
        self.record = record;
        self.last = Some(Run {
            body,
            blocked_until,
            answered: matches!(end, End::Answered),
        });
    }

    fn settle(&mut self, done: bool) {
        let claim = self.claim();
        let Some(record) = self.record.clone() else {
            return;
        };
        let Some(taken) = record.taken_up(claim, at(self.now + 30), at(self.now)) else {
            return;
        };
        let run = self.last.as_mut().expect("a record has had its run");
        assert!(!run.answered, "settled what was answered");
        run.answered = done;
        self.record = match done {
            true => {
                let created = taken.created_at.as_second() - at(0).as_second();
                run.blocked_until = Some(created + 24 * 3600);
                Some(taken.answered(answer(&run.body.to_string())))
            }
            false => {
                run.blocked_until = Some(self.now - 1);
                None
            }
        };
    }
}

proptest! {
    #[test]
    fn nothing_that_may_have_happened_runs_again(operations in operations()) {
        let mut world = World::default();
        for operation in operations {
            world.step(operation);
        }
    }
}

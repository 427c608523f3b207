//! Plans to test with, at a fixed time.

use jiff::{SignedDuration, Timestamp};
use serde_json::json;
use uuid::Uuid;

use crate::idempotency::StoredAnswer;
use crate::identity::Identity;
use crate::plans::{
    ApprovalCode, Decision, Evidence, Lease, ObjectRef, Plan, Proposal, Randomness, RandomnessError,
};

/// Bytes that count up: a code that is the same in every run.
pub(crate) struct Counting(pub(crate) u8);

impl Randomness for Counting {
    fn fill(&self, bytes: &mut [u8]) -> Result<(), RandomnessError> {
        let mut next = self.0;
        for byte in bytes {
            *byte = next;
            next = next.wrapping_add(1);
        }
        Ok(())
    }
}

pub(crate) fn epoch() -> Timestamp {
    "2026-11-30T12:00:00Z".parse().expect("a time")
}

pub(crate) fn at(seconds: i64) -> Timestamp {
    epoch() + SignedDuration::from_secs(seconds)
}

pub(crate) fn somebody(subject: &str) -> Identity {
    Identity {
        issuer: "https://idp.example".to_owned(),
        subject: subject.to_owned(),
        actor: None,
    }
}

pub(crate) fn code() -> ApprovalCode {
    ApprovalCode::mint(&Counting(1)).expect("a code")
}

pub(crate) fn wrong_code() -> ApprovalCode {
    ApprovalCode::mint(&Counting(2)).expect("a code")
}

/// A decision by the call that [`DECIDER`] names.
pub(crate) fn decision(name: &str, at: Timestamp) -> Decision {
    Decision {
        by: somebody(name),
        at,
        operation: DECIDER,
    }
}

/// The operation of every decision here.
pub(crate) const DECIDER: Uuid = Uuid::from_u128(0xDEC1DE);

pub(crate) fn lease(owner: &str, until: Timestamp) -> Lease {
    Lease {
        owner: owner.to_owned(),
        until,
    }
}

pub(crate) fn answer(body: &str) -> StoredAnswer {
    StoredAnswer {
        status: 201,
        content_type: Some("application/json".to_owned()),
        location: Some("/api/missions/1".to_owned()),
        body: body.as_bytes().to_vec(),
        secret_stripped: false,
    }
}

pub(crate) fn proposal(id: Uuid) -> Proposal {
    Proposal {
        id,
        service: "drones".to_owned(),
        object: ObjectRef {
            kind: "Swarm".to_owned(),
            id: "swarm-1".to_owned(),
        },
        scopes: vec!["acme".to_owned(), "installation".to_owned()],
        proposer: somebody("alice"),
        mission: json!({
            "name": "survey",
            "type": "formation",
            "formation": "line",
            "waypoints": [{ "x": 0, "y": 0, "z": 6 }, { "x": 30, "y": 0, "z": 6.5 }],
            "droneCount": 3,
            "spacingMeters": 3,
        }),
        preview: json!({
            "drones": [{ "droneId": "drone_1", "path": [{ "x": 0, "y": 0, "z": 0 }] }],
            "minSeparationMeters": 2.22,
            "conflicts": [],
            "assumptions": ["all leave together"],
        }),
        fence: json!({ "stopEpoch": 3, "pathHash": "00ff" }),
        conflicted: false,
        evidence: Evidence {
            bundle: "b".repeat(64),
            registry: 42,
        },
    }
}

pub(crate) fn pending(id: Uuid, now: Timestamp) -> Plan {
    Plan::propose(proposal(id), now).expect("a plan")
}

pub(crate) fn approved(id: Uuid, now: Timestamp) -> Plan {
    pending(id, now)
        .approve(decision("bob", now), code().hash(), None)
        .expect("approved")
}

/// Under way as operation `operation`, with a lease of 30 s.
pub(crate) fn dispatching(id: Uuid, operation: Uuid, now: Timestamp) -> Plan {
    let until = now + SignedDuration::from_secs(30);
    approved(id, now)
        .begin_dispatch(Some(&code()), now, operation, lease("gateway-1", until))
        .expect("dispatching")
}

//! What can happen to a plan, and why it cannot.

use jiff::Timestamp;
use serde_json::Value;
use uuid::Uuid;

use crate::canonical::CanonicalError;
use crate::effect::Effect;
use crate::idempotency::StoredAnswer;
use crate::identity::Identity;
use crate::plans::plan::{Evidence, ObjectRef, Status};

/// Why an event does not apply to a plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// The plan is in a state, deadlines judged, that does not allow the event.
    #[error("a plan that is `{status}` cannot be {event}")]
    WrongState {
        /// The state it is in.
        status: Status,
        /// What was asked of it, as a participle: approved, rejected ...
        event: &'static str,
    },
    /// The code is missing, misshapen, or another one.
    #[error("the approval code does not match")]
    WrongCode,
    /// The approver named another content than the plan's.
    #[error("the plan's digest is not the one that was named")]
    DigestMismatch,
    /// The record no longer has the digest it was given: somebody changed it
    /// past the gateway.
    #[error("the plan's content is not what was proposed")]
    Altered,
    /// The answer belongs to an attempt that somebody else has ended.
    #[error("operation `{0}` is not this plan's operation under way")]
    WrongOperation(Uuid),
    /// Its own gateway instance may still be working on it.
    #[error("the operation is leased to another instance until {until}")]
    Leased {
        /// When it may be taken up.
        until: Timestamp,
    },
    /// The proposal cannot be digested.
    #[error(transparent)]
    Content(#[from] CanonicalError),
    /// A deadline lies outside the range of time.
    #[error("the clock is out of range")]
    Clock,
}

/// What a proposal brings; see [`Plan`](super::plan::Plan) for the fields.
#[derive(Clone, Debug)]
pub struct Proposal {
    /// A new id.
    pub id: Uuid,
    /// The service that previewed it.
    pub service: String,
    /// The vehicle.
    pub object: ObjectRef,
    /// The vehicle's scopes now.
    pub scopes: Vec<String>,
    /// Who proposes.
    pub proposer: Identity,
    /// What will be sent if it is carried out.
    pub mission: Value,
    /// The service's preview.
    pub preview: Value,
    /// The service's fence.
    pub fence: Value,
    /// Whether the preview found a conflict.
    pub conflicted: bool,
    /// What the decision rested on.
    pub evidence: Evidence,
}

/// Who works on an operation, and until when nobody else may.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The gateway instance.
    pub owner: String,
    /// The last moment of the lease; beyond the longest deadline of the call.
    pub until: Timestamp,
}

/// How a dispatch ended, as seen by the gateway that sent it.
#[derive(Clone, Debug)]
pub enum DispatchEnd {
    /// The service did it.
    Accepted {
        /// What the service calls the result.
        mission_id: String,
        /// What the caller is told.
        answer: StoredAnswer,
    },
    /// Nothing happened and the cause may pass: the code comes back.
    NotSent,
    /// The service would not, and says why. The code is spent.
    Refused {
        /// In the service's words.
        reason: String,
    },
    /// Nobody knows. The code is spent until a settler finds out.
    Unclear,
}

/// What the service says of an operation when it is asked to settle it.
#[derive(Clone, Debug)]
pub enum SettleAnswer {
    /// It was carried out.
    Accepted {
        /// What the service calls the result.
        mission_id: String,
        /// The answer it gave, or would have given.
        answer: StoredAnswer,
    },
    /// It ended otherwise.
    Refused {
        /// In the service's words.
        reason: String,
        /// Whether anything may have moved.
        effect: Effect,
    },
    /// It will never be carried out, however late its packet.
    Tombstoned {
        /// Whether anything may have moved before.
        effect: Effect,
    },
    /// The service is still at it; ask again after the lease.
    Running {
        /// The lease under which the settler keeps it.
        lease: Lease,
    },
}

//! The record of a plan. Which data a state has is said by its variant: a
//! rejected plan has no code hash because it has no place for one.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

use crate::effect::Effect;
use crate::idempotency::StoredAnswer;
use crate::identity::Identity;
use crate::plans::code::CodeHash;
use crate::plans::digest::PlanDigest;

/// One proposal and everything that became of it. Stored as JSON; never shown
/// to a caller as it is (see [`crate::plans::PlanView`]).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// Made by the gateway at the proposal.
    pub id: Uuid,
    /// The vehicle service that will be asked to carry it out.
    pub service: String,
    /// The vehicle it is for.
    pub object: ObjectRef,
    /// Every scope that object lay in when the plan was proposed.
    pub scopes: Vec<String>,
    /// Who proposed.
    pub proposer: Identity,
    /// The proposal's acting and annotation fields, as they will be sent.
    pub mission: Value,
    /// What the service's planner says would happen, assumptions included.
    pub preview: Value,
    /// What the service compares again at dispatch.
    pub fence: Value,
    /// What an approval binds.
    pub digest: PlanDigest,
    /// What the decision to accept the proposal rested on.
    pub evidence: Evidence,
    /// When it was proposed.
    pub created_at: Timestamp,
    /// The last moment at which somebody may decide.
    pub decide_by: Timestamp,
    /// Raised by one with every change; the store swaps on it.
    pub revision: u64,
    /// Where it stands, as last written: ask [`Plan::at`] for the present.
    #[serde(flatten)]
    pub state: State,
}

/// A vehicle in the registry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ObjectRef {
    /// The resource type's name, such as `Swarm`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Unique within the type.
    pub id: String,
}

/// Which policy and which facts a proposal was judged on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// The policy bundle's SHA-256, hex.
    pub bundle: String,
    /// The registry's generation.
    pub registry: u64,
}

/// A state and the data that only this state has.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "status")]
pub enum State {
    /// Waits for a person.
    PendingApproval,
    /// The preview found vehicles too close; it can only be rejected.
    Conflicted,
    /// A code is out. Dispatch may begin.
    Approved {
        /// By whom and until when.
        approval: Approval,
        /// The code that is out.
        code: CodeHash,
    },
    /// The write is on its way.
    Dispatching {
        /// As it was when the dispatch began.
        approval: Approval,
        /// Kept, in case nothing was sent.
        code: CodeHash,
        /// The attempt under way.
        operation: Operation,
    },
    /// Carried out.
    Dispatched {
        /// The approval that was spent.
        approval: Approval,
        /// The attempt that made it.
        operation: Operation,
        /// What the service calls the result.
        #[serde(rename = "missionId")]
        mission_id: String,
        /// The service's answer, from which a key left behind is finished.
        answer: StoredAnswer,
    },
    /// The service would not carry it out; the code is spent.
    Refused {
        /// The approval that was spent.
        approval: Approval,
        /// The attempt that was refused.
        operation: Operation,
        /// Why.
        refusal: Refusal,
    },
    /// A person said no.
    Rejected {
        /// Who and when.
        decision: Decision,
    },
    /// A deadline passed.
    Expired {
        /// The approval that lapsed, if there was one.
        approval: Option<Approval>,
    },
    /// It may have been carried out. Never expires: only settling ends it.
    Unknown {
        /// The approval that was used.
        approval: Approval,
        /// Kept, in case the service says that nothing happened.
        code: CodeHash,
        /// The attempt whose end nobody saw.
        operation: Operation,
    },
}

/// Who decided, when, and by which call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The person.
    pub by: Identity,
    /// The moment.
    pub at: Timestamp,
    /// The operation of the call that decided: a settler tells by it whether
    /// it was this call or another one.
    pub operation: Uuid,
}

/// A decision in favor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Who approved, and when.
    #[serde(flatten)]
    pub decision: Decision,
    /// The last moment at which a dispatch may begin.
    pub expires_at: Timestamp,
    /// Dispatches begun on it so far.
    pub attempts: u32,
}

/// One attempt to carry a plan out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Operation {
    /// What the service knows the attempt by; never used twice.
    pub id: Uuid,
    /// 1 for the first dispatch under this approval.
    pub attempt: u32,
    /// When the caller asked.
    pub asked_at: Timestamp,
    /// The gateway instance that works on it.
    pub owner: String,
    /// After this moment another instance may settle it.
    pub lease_until: Timestamp,
}

/// Why a plan was not carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// For people, in the service's or the gateway's words.
    pub reason: String,
    /// Whether anything may have moved all the same.
    pub effect: Effect,
    /// When it became known.
    pub at: Timestamp,
}

/// The name of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Status {
    /// Waits for a person.
    PendingApproval,
    /// Too close; waits to be rejected.
    Conflicted,
    /// A code is out.
    Approved,
    /// On its way.
    Dispatching,
    /// Carried out.
    Dispatched,
    /// The service would not.
    Refused,
    /// A person would not.
    Rejected,
    /// Too late.
    Expired,
    /// Nobody knows yet.
    Unknown,
}

impl Status {
    /// Every status, in the order of a plan's life.
    pub const ALL: [Self; 9] = [
        Self::PendingApproval,
        Self::Conflicted,
        Self::Approved,
        Self::Dispatching,
        Self::Dispatched,
        Self::Refused,
        Self::Rejected,
        Self::Expired,
        Self::Unknown,
    ];

    /// The name used in JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PendingApproval => "PendingApproval",
            Self::Conflicted => "Conflicted",
            Self::Approved => "Approved",
            Self::Dispatching => "Dispatching",
            Self::Dispatched => "Dispatched",
            Self::Refused => "Refused",
            Self::Rejected => "Rejected",
            Self::Expired => "Expired",
            Self::Unknown => "Unknown",
        }
    }

    /// Whether nothing can follow.
    pub fn is_final(self) -> bool {
        matches!(
            self,
            Self::Dispatched | Self::Refused | Self::Rejected | Self::Expired
        )
    }
}

impl std::fmt::Display for Status {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

impl State {
    /// Its name.
    pub fn status(&self) -> Status {
        match self {
            Self::PendingApproval => Status::PendingApproval,
            Self::Conflicted => Status::Conflicted,
            Self::Approved { .. } => Status::Approved,
            Self::Dispatching { .. } => Status::Dispatching,
            Self::Dispatched { .. } => Status::Dispatched,
            Self::Refused { .. } => Status::Refused,
            Self::Rejected { .. } => Status::Rejected,
            Self::Expired { .. } => Status::Expired,
            Self::Unknown { .. } => Status::Unknown,
        }
    }

    /// The approval, in the states that have one.
    pub fn approval(&self) -> Option<&Approval> {
        match self {
            Self::Approved { approval, .. }
            | Self::Dispatching { approval, .. }
            | Self::Dispatched { approval, .. }
            | Self::Refused { approval, .. }
            | Self::Unknown { approval, .. } => Some(approval),
            Self::Expired { approval } => approval.as_ref(),
            Self::PendingApproval | Self::Conflicted | Self::Rejected { .. } => None,
        }
    }

    /// The last decision a person took.
    pub fn decision(&self) -> Option<&Decision> {
        match self {
            Self::Rejected { decision } => Some(decision),
            other => other.approval().map(|approval| &approval.decision),
        }
    }

    /// What the service calls the result, once carried out.
    pub fn mission_id(&self) -> Option<&str> {
        match self {
            Self::Dispatched { mission_id, .. } => Some(mission_id),
            _ => None,
        }
    }

    /// Why it was not carried out.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Refused { refusal, .. } => Some(refusal),
            _ => None,
        }
    }

    /// The attempt under way, or the last one.
    pub fn operation(&self) -> Option<&Operation> {
        match self {
            Self::Dispatching { operation, .. }
            | Self::Dispatched { operation, .. }
            | Self::Refused { operation, .. }
            | Self::Unknown { operation, .. } => Some(operation),
            Self::PendingApproval
            | Self::Conflicted
            | Self::Approved { .. }
            | Self::Rejected { .. }
            | Self::Expired { .. } => None,
        }
    }
}

impl Plan {
    /// The status as last written; [`Plan::at`] judges deadlines.
    pub fn status(&self) -> Status {
        self.state.status()
    }

    /// The last moment at which the present state holds by itself; none when
    /// only an event ends it.
    pub fn deadline(&self) -> Option<Timestamp> {
        match &self.state {
            State::PendingApproval | State::Conflicted => Some(self.decide_by),
            State::Approved { approval, .. } => Some(approval.expires_at),
            State::Dispatching { .. }
            | State::Dispatched { .. }
            | State::Refused { .. }
            | State::Rejected { .. }
            | State::Expired { .. }
            | State::Unknown { .. } => None,
        }
    }

    /// The plan as it stands at `now`. Deadlines are inclusive: a plan has
    /// expired only when `now` is strictly later.
    pub fn at(mut self, now: Timestamp) -> Self {
        if self.deadline().is_some_and(|deadline| now > deadline) {
            let approval = self.state.approval().cloned();
            self.state = State::Expired { approval };
        }
        self
    }

    /// When a settler may take it up: the lease of an operation that nobody
    /// has seen end.
    pub fn settle_after(&self) -> Option<Timestamp> {
        match &self.state {
            State::Dispatching { operation, .. } | State::Unknown { operation, .. } => {
                Some(operation.lease_until)
            }
            _ => None,
        }
    }

    /// Whether it counts against its proposer's quota at `now`.
    pub fn is_open(&self, now: Timestamp) -> bool {
        !self.status().is_final() && self.deadline().is_none_or(|deadline| now <= deadline)
    }
}

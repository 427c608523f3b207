//! The plan engine: propose, approve, dispatch, settle. A plan is a write that
//! waits for a person. Records and transitions are pure: functions from one
//! record and `now` to the next; the store only swaps one for the other. The
//! handlers and the settler drive them.

pub mod code;
pub mod digest;
pub mod events;
pub(crate) mod handlers;
pub mod memory;
pub mod plan;
pub(crate) mod settle;
pub mod state;
pub mod summary;
pub mod view;

pub use self::code::{ApprovalCode, CodeHash, Randomness, RandomnessError, SystemRandomness};
pub use self::digest::PlanDigest;
pub use self::events::{DispatchEnd, Lease, PlanError, Proposal, SettleAnswer};
pub use self::plan::{
    Approval, Decision, Evidence, ObjectRef, Operation, Plan, Refusal, State, Status,
};
pub use self::state::{APPROVAL_WINDOW, DECISION_WINDOW};
pub use self::summary::PlanSummary;
pub use self::view::{ApprovalView, PlanView};

#[cfg(test)]
pub(crate) mod fixtures;
#[cfg(test)]
mod tests;

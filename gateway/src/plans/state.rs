//! The state machine: one pure function per event, from a plan and `now` to the
//! next plan or to a typed error. Every function judges deadlines first, so an
//! expired plan is expired whichever event asks.

use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::effect::Effect;
use crate::plans::code::{ApprovalCode, CodeHash};
use crate::plans::digest::PlanDigest;
use crate::plans::events::{DispatchEnd, Lease, PlanError, Proposal, SettleAnswer};
use crate::plans::plan::{Approval, Decision, Operation, Plan, Refusal, State};

/// How long a proposal waits for a person.
pub const DECISION_WINDOW: SignedDuration = SignedDuration::from_mins(60);
/// How long an approval can be used.
pub const APPROVAL_WINDOW: SignedDuration = SignedDuration::from_mins(10);

/// Said of an operation that was given up when something may have moved.
const MAY_HAVE_FLOWN: &str = "the service gave the operation up after it may have moved a vehicle; \
     look at the vehicles before proposing again";

impl Plan {
    /// A new plan: pending, or conflicted when its preview says so.
    pub fn propose(proposal: Proposal, now: Timestamp) -> Result<Self, PlanError> {
        let decide_by = now
            .checked_add(DECISION_WINDOW)
            .map_err(|_| PlanError::Clock)?;
        let digest = PlanDigest::of(
            &proposal.mission,
            &proposal.preview,
            &proposal.fence,
            &proposal.proposer,
            decide_by,
        )?;
        Ok(Self {
            id: proposal.id,
            service: proposal.service,
            object: proposal.object,
            scopes: proposal.scopes,
            proposer: proposal.proposer,
            mission: proposal.mission,
            preview: proposal.preview,
            fence: proposal.fence,
            digest,
            evidence: proposal.evidence,
            created_at: now,
            decide_by,
            revision: 1,
            state: match proposal.conflicted {
                true => State::Conflicted,
                false => State::PendingApproval,
            },
        })
    }

    /// A person approves. `named` is the digest the person saw, if they said.
    /// Whether this person may approve is the PDP's to say, and was said.
    pub fn approve(
        self,
        decision: Decision,
        code: CodeHash,
        named: Option<&PlanDigest>,
    ) -> Result<Self, PlanError> {
        let now = decision.at;
        let plan = self.at(now);
        let State::PendingApproval = plan.state else {
            return Err(plan.wrong("approved"));
        };
        if named.is_some_and(|digest| *digest != plan.digest) {
            return Err(PlanError::DigestMismatch);
        }
        plan.check_content()?;
        let approval = Approval {
            decision,
            expires_at: now
                .checked_add(APPROVAL_WINDOW)
                .map_err(|_| PlanError::Clock)?,
            attempts: 0,
        };
        Ok(plan.into(State::Approved { approval, code }))
    }

    /// A person says no. The proposer may, too.
    pub fn reject(self, decision: Decision) -> Result<Self, PlanError> {
        let plan = self.at(decision.at);
        match plan.state {
            State::PendingApproval | State::Conflicted | State::Approved { .. } => {
                Ok(plan.into(State::Rejected { decision }))
            }
            _ => Err(plan.wrong("rejected")),
        }
    }

    /// A caller presents the code. The state is judged before the code, so a
    /// code tells nothing about a plan that is not approved.
    pub fn begin_dispatch(
        self,
        code: Option<&ApprovalCode>,
        now: Timestamp,
        id: Uuid,
        lease: Lease,
    ) -> Result<Self, PlanError> {
        let plan = self.at(now);
        let State::Approved {
            approval,
            code: expected,
        } = &plan.state
        else {
            return Err(plan.wrong("dispatched"));
        };
        if !expected.matches(code) {
            return Err(PlanError::WrongCode);
        }
        plan.check_content()?;
        let attempt = approval.attempts.saturating_add(1);
        let next = State::Dispatching {
            approval: Approval {
                attempts: attempt,
                ..approval.clone()
            },
            code: *expected,
            operation: Operation {
                id,
                attempt,
                asked_at: now,
                owner: lease.owner,
                lease_until: lease.until,
            },
        };
        Ok(plan.into(next))
    }

    /// The gateway that sent the operation says how it ended. A definite end
    /// also counts when a settler was faster to doubt it.
    pub fn finish(self, id: Uuid, end: DispatchEnd, now: Timestamp) -> Result<Self, PlanError> {
        let (approval, code, operation) = self.under_way(id, "finished")?;
        let next = match end {
            DispatchEnd::Accepted { mission_id, answer } => State::Dispatched {
                approval,
                operation,
                mission_id,
                answer,
            },
            DispatchEnd::NotSent => State::Approved { approval, code },
            DispatchEnd::Refused { reason } => State::Refused {
                approval,
                operation,
                refusal: Refusal {
                    reason,
                    effect: Effect::None,
                    at: now,
                },
            },
            // The lease ends with the doubt: anybody may settle it at once.
            DispatchEnd::Unclear => State::Unknown {
                approval,
                code,
                operation: Operation {
                    lease_until: now,
                    ..operation
                },
            },
        };
        Ok(self.into(next))
    }

    /// A settler takes up an operation whose end nobody saw. It needs the lease
    /// to have passed, or to hold it already.
    pub fn begin_settle(self, now: Timestamp, lease: Lease) -> Result<Self, PlanError> {
        let (State::Dispatching {
            approval,
            code,
            operation,
        }
        | State::Unknown {
            approval,
            code,
            operation,
        }) = &self.state
        else {
            return Err(self.wrong("settled"));
        };
        let until = operation.lease_until;
        if now <= until && operation.owner != lease.owner {
            return Err(PlanError::Leased { until });
        }
        let next = State::Unknown {
            approval: approval.clone(),
            code: *code,
            operation: Operation {
                owner: lease.owner,
                lease_until: lease.until,
                ..operation.clone()
            },
        };
        Ok(self.into(next))
    }

    /// The service's word on an operation: it ends the doubt.
    pub fn settle(self, id: Uuid, answer: SettleAnswer, now: Timestamp) -> Result<Self, PlanError> {
        let (approval, code, operation) = self.under_way(id, "settled")?;
        let next = match answer {
            SettleAnswer::Accepted { mission_id, answer } => State::Dispatched {
                approval,
                operation,
                mission_id,
                answer,
            },
            // The same code serves again, under a new operation id, for as
            // long as the approval still stands.
            SettleAnswer::Tombstoned {
                effect: Effect::None,
            } => State::Approved { approval, code },
            SettleAnswer::Tombstoned { effect } => State::Refused {
                approval,
                operation,
                refusal: Refusal {
                    reason: MAY_HAVE_FLOWN.to_owned(),
                    effect,
                    at: now,
                },
            },
            SettleAnswer::Refused { reason, effect } => State::Refused {
                approval,
                operation,
                refusal: Refusal {
                    reason,
                    effect,
                    at: now,
                },
            },
            SettleAnswer::Running { lease } => State::Unknown {
                approval,
                code,
                operation: Operation {
                    owner: lease.owner,
                    lease_until: lease.until,
                    ..operation
                },
            },
        };
        Ok(self.into(next).at(now))
    }

    /// What is approved and what is sent must be what was put before a person.
    fn check_content(&self) -> Result<(), PlanError> {
        let digest = PlanDigest::of(
            &self.mission,
            &self.preview,
            &self.fence,
            &self.proposer,
            self.decide_by,
        )?;
        match digest == self.digest {
            true => Ok(()),
            false => Err(PlanError::Altered),
        }
    }

    fn under_way(
        &self,
        id: Uuid,
        event: &'static str,
    ) -> Result<(Approval, CodeHash, Operation), PlanError> {
        let (State::Dispatching {
            approval,
            code,
            operation,
        }
        | State::Unknown {
            approval,
            code,
            operation,
        }) = &self.state
        else {
            return Err(self.wrong(event));
        };
        if operation.id != id {
            return Err(PlanError::WrongOperation(id));
        }
        Ok((approval.clone(), *code, operation.clone()))
    }

    fn into(self, state: State) -> Self {
        Self {
            revision: self.revision.saturating_add(1),
            state,
            ..self
        }
    }

    fn wrong(&self, event: &'static str) -> PlanError {
        PlanError::WrongState {
            status: self.status(),
            event,
        }
    }
}

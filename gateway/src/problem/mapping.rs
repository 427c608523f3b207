//! What every error below is called outside. Exhaustive on purpose: a new
//! error does not compile until somebody chose its status.

use tracing::error;

use super::{Kind, Problem};
use crate::audit::AuditError;
use crate::authn::AuthnError;
use crate::canonical::CanonicalError;
use crate::edge::EdgeError;
use crate::edge::body::BodyError;
use crate::edge::headers::HeaderError;
use crate::edge::host::HostError;
use crate::edge::query::QueryError;
use crate::effect::Effect;
use crate::grant::GrantError;
use crate::idempotency::KeyError;
use crate::plans::{PlanError, RandomnessError, Status};
use crate::store::StoreError;
use crate::telemetry::names;

/// What a policy may name with its annotation `@problem`.
impl From<interlock_policies::Problem> for Kind {
    fn from(problem: interlock_policies::Problem) -> Self {
        use interlock_policies::Problem::{
            AgentNeedsPlan, FeatureNotInPlan, IdempotencyKeyRequired, QuietHours, TtlTooLong,
        };
        match problem {
            AgentNeedsPlan => Kind::AgentNeedsPlan,
            FeatureNotInPlan => Kind::FeatureNotInPlan,
            QuietHours => Kind::QuietHours,
            TtlTooLong => Kind::TtlTooLong,
            IdempotencyKeyRequired => Kind::IdempotencyKeyRequired,
        }
    }
}

impl From<EdgeError> for Problem {
    fn from(cause: EdgeError) -> Self {
        let text = cause.to_string();
        match cause {
            EdgeError::Connect => Problem::new(Kind::NotImplemented, text),
            EdgeError::Target | EdgeError::Path(_) => Problem::new(Kind::InvalidPath, text),
            EdgeError::Query(cause) => cause.into(),
            EdgeError::Host(HostError::Misdirected) => Problem::new(Kind::MisdirectedRequest, text),
            EdgeError::Host(HostError::Missing | HostError::Malformed) => {
                Problem::new(Kind::InvalidHeader, text)
            }
            EdgeError::Header(HeaderError::Upgrade) => Problem::new(Kind::NotImplemented, text),
            EdgeError::Header(HeaderError::ContentEncoding) => {
                Problem::new(Kind::UnsupportedMediaType, text)
            }
            EdgeError::Header(
                HeaderError::Duplicate(_)
                | HeaderError::NotAscii(_)
                | HeaderError::TwoFramings
                | HeaderError::TransferEncoding
                | HeaderError::ContentLength
                | HeaderError::Expectation,
            ) => Problem::new(Kind::InvalidHeader, text),
            EdgeError::CrossSite => Problem::new(Kind::CrossOrigin, text),
        }
    }
}

impl From<QueryError> for Problem {
    fn from(cause: QueryError) -> Self {
        Problem::invalid_request(vec![cause.to_string()])
    }
}

impl From<BodyError> for Problem {
    fn from(cause: BodyError) -> Self {
        let text = cause.to_string();
        match cause {
            BodyError::Large { .. } => Problem::new(Kind::BodyTooLarge, text),
            BodyError::ContentType => Problem::new(Kind::UnsupportedMediaType, text),
            BodyError::Slow(_) => Problem::new(Kind::RequestTimeout, text),
            BodyError::Unwanted
            | BodyError::Missing
            | BodyError::Json(_)
            | BodyError::NotAnObject
            | BodyError::UnknownField(_)
            | BodyError::NotNested(_)
            | BodyError::Kind { .. }
            | BodyError::Broken => Problem::invalid_request(vec![text]),
        }
    }
}

impl From<AuthnError> for Problem {
    fn from(cause: AuthnError) -> Self {
        let text = cause.to_string();
        match cause {
            AuthnError::KeysUnavailable => Problem::new(Kind::KeysUnavailable, text).retry_after(5),
            AuthnError::Bearer(_)
            | AuthnError::Jws(_)
            | AuthnError::UnknownIssuer
            | AuthnError::UnknownKey
            | AuthnError::Claims(_) => Problem::unauthenticated(text),
        }
    }
}

impl From<KeyError> for Problem {
    fn from(cause: KeyError) -> Self {
        Problem::new(Kind::InvalidIdempotencyKey, cause.to_string())
    }
}

impl From<StoreError> for Problem {
    fn from(cause: StoreError) -> Self {
        error!(%cause, "the store failed a call");
        metrics::counter!(names::STORE_FAILURES, "cause" => cause.label()).increment(1);
        match cause {
            StoreError::Unavailable { .. }
            | StoreError::TimedOut
            | StoreError::Busy
            | StoreError::Refused { .. } => Problem::new(
                Kind::StoreUnavailable,
                "the store did not confirm the step; no vehicle was asked for anything",
            )
            .retry_after(1),
            StoreError::Corrupt { .. } => {
                Problem::new(Kind::Internal, "a stored record cannot be read")
            }
        }
    }
}

impl From<AuditError> for Problem {
    fn from(cause: AuditError) -> Self {
        error!(%cause, "the decision record was not written");
        Problem::new(
            Kind::AuditUnavailable,
            "what cannot be recorded is not done",
        )
        .retry_after(1)
    }
}

impl From<PlanError> for Problem {
    fn from(cause: PlanError) -> Self {
        let text = cause.to_string();
        match cause {
            PlanError::WrongState { status, .. } => Problem::new(Kind::PlanState, text)
                .effect(under_way(status))
                .with("planStatus", status.as_str().into()),
            // Whatever changed the record did not ask us: nothing may fly on it.
            PlanError::Altered => {
                error!(
                    alarm = "plan-altered",
                    "a stored plan differs from its digest"
                );
                Problem::new(Kind::PlanState, text)
            }
            PlanError::Leased { .. } => Problem::new(Kind::PlanState, text)
                .effect(Effect::Maybe)
                .retry_after(1),
            PlanError::WrongCode => Problem::new(Kind::ApprovalRefused, text),
            PlanError::DigestMismatch => Problem::new(Kind::DigestMismatch, text),
            PlanError::Content(cause) => cause.into(),
            PlanError::WrongOperation(_) | PlanError::Clock => {
                error!(%text, "a plan could not be changed");
                Problem::new(Kind::Internal, "the plan could not be changed")
            }
        }
    }
}

/// What a plan in this state may be doing while it refuses something else.
fn under_way(status: Status) -> Effect {
    match status {
        Status::Dispatching | Status::Unknown => Effect::Maybe,
        _ => Effect::None,
    }
}

impl From<CanonicalError> for Problem {
    fn from(cause: CanonicalError) -> Self {
        Problem::invalid_request(vec![cause.to_string()])
    }
}

impl From<GrantError> for Problem {
    fn from(cause: GrantError) -> Self {
        error!(%cause, "no grant could be made");
        Problem::new(
            Kind::Internal,
            "the grant for the service could not be made",
        )
    }
}

impl From<RandomnessError> for Problem {
    fn from(cause: RandomnessError) -> Self {
        error!(%cause, "the system gives no randomness");
        Problem::new(Kind::Internal, "no approval code could be made")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_that_may_be_moving_says_so_whatever_it_refuses() {
        for status in Status::ALL {
            let event = "rejected";
            let problem = Problem::from(PlanError::WrongState { status, event });
            let expected = match status {
                Status::Dispatching | Status::Unknown => Effect::Maybe,
                _ => Effect::None,
            };
            assert_eq!(problem.effect_was(), expected, "{status:?}");
        }
    }
}

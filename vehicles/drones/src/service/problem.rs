//! Why something was not done: problem details (RFC 9457) that say what happened to the vehicles.

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Value, json};
use thiserror::Error;
use uuid::Uuid;

use super::handlers::respond;
use crate::fence::FenceBreach;
use crate::limits::Faults;
use crate::operations::{Answer, Effect};
use crate::preview::Conflict;

#[cfg(test)]
mod tests;

/// Every way in which this service says no.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Problem {
    /// The request breaks the contract or a limit.
    #[error("the request is not valid: {0}")]
    Invalid(Faults),
    /// A mission flies.
    #[error("mission `{0}` flies; land it or wait for its end first")]
    MissionActive(Uuid),
    /// The planner finds drones too close.
    #[error("{} pair(s) of drones would come closer than allowed", .0.len())]
    Conflicting(Vec<Conflict>),
    /// A stop came after the motion was asked or previewed.
    #[error("{0}; ask again if the motion is still wanted")]
    StoppedSince(String),
    /// The drones are not at rest, not where the approved preview saw them, or outside the limits.
    #[error("{0}; propose the mission again")]
    Moved(String),
    /// Nothing trustworthy is known about the swarm.
    #[error("{0}")]
    Stale(String),
    /// The mission has ended and its drones have landed.
    #[error("mission `{0}` has ended and all its drones have landed")]
    NotActive(Uuid),
    /// No such thing.
    #[error("there is nothing here by that name")]
    NotFound,
    /// The path has no such method.
    #[error("this path does not have that method")]
    MethodNotAllowed,
    /// The swarm cannot be reached; nothing was sent.
    #[error("{0}")]
    Unavailable(String),
    /// The swarm answered that it will not.
    #[error("the swarm refused: {0}")]
    SwarmRefused(String),
    /// Sent, and nobody knows.
    #[error("{0}")]
    Unknown(String),
    /// The request came after the time its sender waits.
    #[error("the request arrived after its deadline; nothing was sent")]
    TooLate,
    /// This operation was refused for ever.
    #[error("this operation was settled as not done and stays so")]
    Tombstoned,
    /// This operation has begun.
    #[error("{0}")]
    InProgress(String),
    /// This operation was another request.
    #[error("this operation id was used for another request")]
    Reused,
    /// An earlier start is not settled.
    #[error("an earlier start is not settled yet: its outcome must be known before another one")]
    Unsettled,
    /// The durable file cannot be used.
    #[error("what was asked cannot be written down now, so it is not done")]
    NotDurable,
    /// A fault of this service; what it was is in its log.
    #[error("the service failed while it did this; what happened is not known")]
    Internal,
}

#[derive(Serialize)]
struct Details {
    r#type: String,
    title: &'static str,
    status: u16,
    detail: String,
    effect: Effect,
    #[serde(skip_serializing_if = "Option::is_none")]
    errors: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    conflicts: Option<Vec<Conflict>>,
}

impl Problem {
    /// Status, slug, title and effect; the one place that chooses them.
    fn parts(&self) -> (StatusCode, &'static str, &'static str, Effect) {
        use Effect::{Maybe, None as NoEffect};
        const CONFLICT: StatusCode = StatusCode::CONFLICT;
        const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
        match self {
            Self::Invalid(_) => (
                StatusCode::BAD_REQUEST,
                "invalid-request",
                "Invalid request",
                NoEffect,
            ),
            Self::MissionActive(_) => (CONFLICT, "mission-active", "A mission flies", NoEffect),
            Self::Conflicting(_) => (CONFLICT, "conflicting", "Drones too close", NoEffect),
            Self::StoppedSince(_) => (CONFLICT, "stopped-since", "Stopped since", NoEffect),
            Self::Moved(_) => (CONFLICT, "moved", "Drones not as expected", NoEffect),
            Self::Stale(_) => (UNAVAILABLE, "stale-state", "Swarm state too old", NoEffect),
            Self::NotActive(_) => (CONFLICT, "not-active", "Mission has ended", NoEffect),
            Self::NotFound => (StatusCode::NOT_FOUND, "not-found", "Not found", NoEffect),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method-not-allowed",
                "Method not allowed",
                NoEffect,
            ),
            Self::SwarmRefused(_) => (CONFLICT, "swarm-refused", "Swarm refused", NoEffect),
            Self::Unavailable(_) => (
                UNAVAILABLE,
                "swarm-unavailable",
                "Swarm unavailable",
                NoEffect,
            ),
            Self::Unknown(_) => (
                StatusCode::GATEWAY_TIMEOUT,
                "unknown-outcome",
                "Outcome unknown",
                Maybe,
            ),
            Self::TooLate => (UNAVAILABLE, "too-late", "Arrived too late", NoEffect),
            Self::Tombstoned => (
                CONFLICT,
                "operation-tombstoned",
                "Operation was refused",
                NoEffect,
            ),
            Self::InProgress(_) => (
                CONFLICT,
                "operation-in-progress",
                "Operation in progress",
                Maybe,
            ),
            Self::Reused => (
                CONFLICT,
                "operation-reused",
                "Operation id reused",
                NoEffect,
            ),
            Self::Unsettled => (
                UNAVAILABLE,
                "operation-unsettled",
                "Earlier operation unsettled",
                NoEffect,
            ),
            Self::NotDurable => (
                UNAVAILABLE,
                "storage-unavailable",
                "Storage unavailable",
                NoEffect,
            ),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "Internal fault",
                Maybe,
            ),
        }
    }

    /// Whether the vehicles may have acted.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.parts().3
    }

    /// The answer that says it.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let (status, slug, title, effect) = self.parts();
        let errors = match self {
            Self::Invalid(faults) => Some(json!({ "request": faults.0 })),
            _ => None,
        };
        let conflicts = match self {
            Self::Conflicting(conflicts) => Some(conflicts.clone()),
            _ => None,
        };
        let details = Details {
            r#type: format!("urn:interlock:problem:{slug}"),
            title,
            status: status.as_u16(),
            detail: self.to_string(),
            effect,
            errors,
            conflicts,
        };
        Answer {
            status: status.as_u16(),
            // Every part above has a JSON form.
            body: serde_json::to_string(&details).unwrap_or_default(),
            location: None,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        respond(self.answer())
    }
}

impl From<Faults> for Problem {
    fn from(faults: Faults) -> Self {
        Self::Invalid(faults)
    }
}

impl From<FenceBreach> for Problem {
    fn from(breach: FenceBreach) -> Self {
        match breach {
            FenceBreach::StoppedSince { .. } => Self::StoppedSince(breach.to_string()),
            FenceBreach::Stale { .. } | FenceBreach::Unreported { .. } => {
                Self::Stale(breach.to_string())
            }
            FenceBreach::Moving { .. } | FenceBreach::Moved { .. } | FenceBreach::PathChanged => {
                Self::Moved(breach.to_string())
            }
            FenceBreach::Conflicting(conflicts) => Self::Conflicting(conflicts),
        }
    }
}

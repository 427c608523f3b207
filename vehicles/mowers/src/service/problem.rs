//! Why something was not done: problem details (RFC 9457) that say what happened to the mowers.
//! The one place that chooses statuses, slugs and effects.

use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde_json::{Map, Value, json};
use thiserror::Error;
use uuid::Uuid;

use crate::operations::{Answer, Effect};
use crate::records::RecordsError;

use super::answer::respond;

#[cfg(test)]
mod tests;

/// Which layer of a preview ran out of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// The mower did not finish planning.
    Mower,
    /// No device gateway answered.
    DeviceGateway,
}

impl Layer {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mower => "mower",
            Self::DeviceGateway => "device-gateway",
        }
    }
}

/// Every way in which this service says no.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Problem {
    /// The body is no JSON.
    #[error("the body is not valid JSON: {0}")]
    Unreadable(String),
    /// The request breaks the contract or a limit; every fault.
    #[error("the request is not valid: {}", .0.join("; "))]
    Invalid(Vec<String>),
    /// A reference of the body or the query: missing and hidden read alike.
    #[error("{0} names nothing that you may use here")]
    UnknownReference(&'static str),
    /// The caller sees it but has not the right.
    #[error("{0}")]
    Forbidden(String),
    /// No such thing, or none that the caller may know of.
    #[error("there is nothing here by that name")]
    NotFound,
    /// The path has no such method.
    #[error("this path does not have that method")]
    MethodNotAllowed,
    /// The object changed after it was judged.
    #[error("the object changed after it was judged, it is at revision {revision}")]
    AuthzStale {
        /// The revision that must be judged.
        revision: u64,
    },
    /// The serial is taken; nothing says by whom.
    #[error("a mower with this serial number is registered already")]
    AlreadyRegistered,
    /// The site still has something in it.
    #[error(
        "the site still has mowers or groups; name another site in `move_to`, or move them first"
    )]
    SiteNotEmpty,
    /// The default site stays as it is.
    #[error("the default site can be neither renamed nor deleted")]
    DefaultSite,
    /// A quota is used up.
    #[error("{0}")]
    LimitReached(String),
    /// Driving by hand needs an open session of this caller.
    #[error("{0}")]
    DriveSessionNeeded(String),
    /// Somebody drives.
    #[error("{}", held(*own))]
    DriveSessionHeld {
        /// The caller's own session, where it is theirs.
        own: Option<Uuid>,
    },
    /// A frame came after a later one, or twice; it was not sent.
    #[error("`command.sequence` must be higher than {last}, the last one; the frame was dropped")]
    FrameOutOfOrder {
        /// The highest sequence so far.
        last: u64,
    },
    /// The mower cannot show a path.
    #[error("{0}")]
    PathPreviewUnsupported(String),
    /// The mower will not plan this.
    #[error("{0}")]
    PathPreviewRejected(String),
    /// One preview at a time for each mower.
    #[error("this mower is planning a preview already; wait for its end")]
    PreviewRunning,
    /// A stop came after the motion was asked or previewed.
    #[error("{0}; ask again if the motion is still wanted")]
    StoppedSince(String),
    /// The mower would drive another path than the one that was approved.
    #[error("{0}; propose the plan again")]
    PlanChanged(String),
    /// Too many members for one command.
    #[error("{0}")]
    BulkTooLarge(String),
    /// The bus did not take it: nothing was sent.
    #[error("{0}")]
    BusUnavailable(String),
    /// The bus did not confirm it.
    #[error("{0}; it may have taken effect, look at the state of the mower")]
    PublishUnconfirmed(String),
    /// No device gateway could plan.
    #[error("{0}")]
    PathPreviewUnavailable(String),
    /// Nothing could be written down, so nothing was done.
    #[error("the records cannot be used now, so nothing was done")]
    RecordsUnavailable,
    /// The commit broke off: it was done wholly or not at all.
    #[error(
        "the records broke off at the commit: it was done wholly or not at all; look before you repeat it"
    )]
    CommitUnclear,
    /// The gateway's registry did not take the change, so it was not made.
    #[error("the gateway's registry did not take the change, so nothing was changed")]
    RegistryUnavailable,
    /// An account was asked for and does not stand yet.
    #[error("the account is not made yet: {0}")]
    AccountPending(&'static str),
    /// The gateway did not say what the caller may see.
    #[error("the gateway did not say what you may see or do here: ask again")]
    AuthzUnavailable,
    /// A stop that was not carried out, and whether it may have been.
    #[error("{detail}")]
    NotStopped {
        /// What is known.
        detail: String,
        /// `None`: certainly not stopped.
        effect: Effect,
    },
    /// No device gateway holds the mower.
    #[error("no device gateway holds this mower now; nothing was sent")]
    NotHeld,
    /// Ran out of time, in this layer.
    #[error("{detail}")]
    GatewayTimeout {
        /// Where.
        layer: Layer,
        /// What is known.
        detail: String,
    },
    /// Too many previews.
    #[error("too many previews were asked; ask again in {retry_after_s} s")]
    PreviewLimit {
        /// Seconds to wait.
        retry_after_s: u32,
    },
    /// The request came after the time its sender waits.
    #[error("the request arrived after its deadline; nothing was done")]
    TooLate,
    /// This operation was refused for ever.
    #[error("this operation was settled as not done and stays so")]
    Tombstoned,
    /// This operation has begun.
    #[error(
        "this operation has begun and is not finished; look at its outcome before you repeat it"
    )]
    InProgress,
    /// This operation was another request.
    #[error("this operation id was used for another request")]
    Reused,
    /// A fault of this service; what it was is in its log.
    #[error("the service failed while it did this; what happened is not known")]
    Internal,
}

/// Status, slug, title and effect.
type Parts = (StatusCode, &'static str, &'static str, Effect);

impl Problem {
    fn parts(&self) -> Parts {
        use Effect::{Maybe, None as No};
        const BAD: StatusCode = StatusCode::BAD_REQUEST;
        const CONFLICT: StatusCode = StatusCode::CONFLICT;
        const UNAVAILABLE: StatusCode = StatusCode::SERVICE_UNAVAILABLE;
        const UNPROCESSABLE: StatusCode = StatusCode::UNPROCESSABLE_ENTITY;
        match self {
            Self::Unreadable(_) => (BAD, "invalid-request", "Invalid request", No),
            Self::Invalid(_) => (UNPROCESSABLE, "invalid-request", "Invalid request", No),
            Self::UnknownReference(_) => {
                (UNPROCESSABLE, "unknown-reference", "Unknown reference", No)
            }
            Self::Forbidden(_) => (StatusCode::FORBIDDEN, "forbidden", "Not allowed", No),
            Self::NotFound => (StatusCode::NOT_FOUND, "not-found", "Not found", No),
            Self::MethodNotAllowed => (
                StatusCode::METHOD_NOT_ALLOWED,
                "method-not-allowed",
                "Method not allowed",
                No,
            ),
            Self::AuthzStale { .. } => (CONFLICT, "authz-stale", "Changed since judged", No),
            Self::AlreadyRegistered => (CONFLICT, "already-registered", "Already registered", No),
            Self::SiteNotEmpty => (CONFLICT, "site-not-empty", "Site not empty", No),
            Self::DefaultSite => (CONFLICT, "default-site", "Default site", No),
            Self::LimitReached(_) => (CONFLICT, "limit-reached", "Limit reached", No),
            Self::DriveSessionNeeded(_) => {
                (CONFLICT, "drive-session-needed", "No drive session", No)
            }
            Self::DriveSessionHeld { own } => {
                let title = match own {
                    Some(_) => "You drive already",
                    None => "Driven by somebody else",
                };
                (CONFLICT, "drive-session-held", title, No)
            }
            Self::FrameOutOfOrder { .. } => {
                (CONFLICT, "frame-out-of-order", "Frame out of order", No)
            }
            Self::PathPreviewUnsupported(_) => {
                (CONFLICT, "path-preview-unsupported", "No path preview", No)
            }
            Self::PathPreviewRejected(_) => (
                CONFLICT,
                "path-preview-rejected",
                "Path preview rejected",
                No,
            ),
            Self::PreviewRunning => (CONFLICT, "preview-running", "Preview is running", No),
            Self::StoppedSince(_) => (CONFLICT, "stopped-since", "Stopped since", No),
            Self::PlanChanged(_) => (CONFLICT, "plan-changed", "Not as approved", No),
            Self::BulkTooLarge(_) => (UNPROCESSABLE, "bulk-too-large", "Too many mowers", No),
            Self::BusUnavailable(_) => (UNAVAILABLE, "bus-unavailable", "Bus unavailable", No),
            Self::PublishUnconfirmed(_) => (
                UNAVAILABLE,
                "publish-unconfirmed",
                "May have taken effect",
                Maybe,
            ),
            Self::PathPreviewUnavailable(_) => (
                UNAVAILABLE,
                "path-preview-unavailable",
                "Path preview unavailable",
                No,
            ),
            Self::RecordsUnavailable => (
                UNAVAILABLE,
                "records-unavailable",
                "Records unavailable",
                No,
            ),
            Self::CommitUnclear => (
                UNAVAILABLE,
                "records-unavailable",
                "Records broke off",
                Maybe,
            ),
            Self::RegistryUnavailable => (
                UNAVAILABLE,
                "registry-unavailable",
                "Registry unavailable",
                No,
            ),
            Self::AccountPending(_) => (
                UNAVAILABLE,
                "account-pending",
                "Account not made yet",
                Maybe,
            ),
            Self::AuthzUnavailable => {
                (UNAVAILABLE, "authz-unavailable", "Decision unavailable", No)
            }
            Self::NotStopped { effect, .. } => match effect {
                No => (
                    UNAVAILABLE,
                    "not-stopped",
                    "NOT stopped: the mower may still be moving",
                    No,
                ),
                Maybe | Effect::Done => (
                    UNAVAILABLE,
                    "not-stopped",
                    "Perhaps not stopped: the mower may still be moving",
                    Maybe,
                ),
            },
            Self::NotHeld => (UNAVAILABLE, "not-held", "Mower not held", No),
            Self::GatewayTimeout { .. } => (
                StatusCode::GATEWAY_TIMEOUT,
                "gateway-timeout",
                "Timed out",
                No,
            ),
            Self::PreviewLimit { .. } => (
                StatusCode::TOO_MANY_REQUESTS,
                "preview-limit",
                "Too many previews",
                No,
            ),
            Self::TooLate => (UNAVAILABLE, "too-late", "Arrived too late", No),
            Self::Tombstoned => (
                CONFLICT,
                "operation-tombstoned",
                "Operation was refused",
                No,
            ),
            Self::InProgress => (
                CONFLICT,
                "operation-in-progress",
                "Operation in progress",
                Maybe,
            ),
            Self::Reused => (CONFLICT, "operation-reused", "Operation id reused", No),
            Self::Internal => (
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "Internal fault",
                Maybe,
            ),
        }
    }

    /// What is said beside the usual members.
    fn extra(&self) -> Option<(&'static str, Value)> {
        match self {
            Self::Invalid(faults) => Some(("errors", json!({ "request": faults }))),
            Self::AuthzStale { revision } => Some(("revision", json!(revision))),
            Self::DriveSessionHeld { own: Some(own) } => Some(("session_id", json!(own))),
            Self::FrameOutOfOrder { last } => {
                Some(("expected_sequence", json!(last.saturating_add(1))))
            }
            Self::GatewayTimeout { layer, .. } => Some(("layer", json!(layer.as_str()))),
            _ => None,
        }
    }

    /// The machine word, without the prefix.
    #[must_use]
    pub fn slug(&self) -> &'static str {
        self.parts().1
    }

    /// Whether the mowers may have acted, or the records have changed.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.parts().3
    }

    /// The answer that says it.
    #[must_use]
    pub fn answer(&self) -> Answer {
        let (status, slug, title, effect) = self.parts();
        let mut details = Map::new();
        details.insert(
            "type".to_owned(),
            format!("urn:interlock:problem:{slug}").into(),
        );
        details.insert("title".to_owned(), title.into());
        details.insert("status".to_owned(), status.as_u16().into());
        details.insert("detail".to_owned(), self.to_string().into());
        details.insert("effect".to_owned(), effect.as_str().into());
        if let Some((name, value)) = self.extra() {
            details.insert(name.to_owned(), value);
        }
        Answer {
            status: status.as_u16(),
            body: Value::Object(details).to_string(),
            location: None,
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = respond(self.answer());
        if let Self::PreviewLimit { retry_after_s } = self {
            response
                .headers_mut()
                .insert(RETRY_AFTER, HeaderValue::from(retry_after_s));
        }
        response
    }
}

fn held(own: Option<Uuid>) -> String {
    match own {
        Some(id) => format!("your drive session {id} is open on this mower; drive by it or end it"),
        None => "another drive session is open on this mower; wait for its end".to_owned(),
    }
}

/// Before a commit: nothing was done. Who commits says [`Problem::CommitUnclear`] itself.
impl From<RecordsError> for Problem {
    fn from(error: RecordsError) -> Self {
        match error {
            RecordsError::Unavailable(_) | RecordsError::Layout(_) => {
                tracing::warn!("{error}");
                Self::RecordsUnavailable
            }
            RecordsError::Conflict(_) | RecordsError::Corrupt(_) => {
                tracing::error!("{error}");
                Self::Internal
            }
        }
    }
}

impl From<sqlx::Error> for Problem {
    fn from(error: sqlx::Error) -> Self {
        RecordsError::from(error).into()
    }
}

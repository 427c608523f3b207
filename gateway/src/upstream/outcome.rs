//! What came of a call: not sent, answered, or unknown.

use std::io;

use http::{Response, StatusCode};
use serde::Deserialize;
use thiserror::Error;

use crate::effect::Effect;
use crate::upstream::body::UpstreamBody;

/// What came of one forwarded request.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "one per request, moved twice: a box would cost more than the copy"
)]
pub enum Outcome {
    /// No byte of the request was written to a socket. Effect none.
    NotSent {
        /// Why.
        cause: NotSentCause,
    },
    /// A well-formed response head came back. Its effect is told by
    /// [`effect_of`]; its body may still break.
    Answered(Response<UpstreamBody>),
    /// Bytes left and no trustworthy answer came back. Effect maybe.
    Unknown {
        /// Why.
        cause: UnknownCause,
    },
}

impl Outcome {
    /// Whether the address is to blame: it made no connection, or left a call
    /// without a byte of an answer.
    pub(super) fn is_silence(&self) -> bool {
        match self {
            Self::NotSent { cause } => matches!(
                cause,
                NotSentCause::Connect(_) | NotSentCause::ConnectTimeout | NotSentCause::Closed
            ),
            Self::Unknown { cause } => {
                matches!(cause, UnknownCause::HeadTimeout | UnknownCause::Closed)
            }
            Self::Answered(_) => false,
        }
    }
}

/// Why nothing was sent.
#[derive(Debug, Error)]
pub enum NotSentCause {
    /// No endpoint is configured for the service.
    #[error("no endpoint is configured for the service")]
    NoService,
    /// The lane's places stayed taken.
    #[error("too many requests to the service are in flight")]
    Saturated,
    /// The connection was refused or could not be routed.
    #[error("cannot connect: {0}")]
    Connect(#[source] io::Error),
    /// The connection was not open in time.
    #[error("connecting took too long")]
    ConnectTimeout,
    /// The deadline passed before the first byte was written.
    #[error("the deadline passed before anything was written")]
    Deadline,
    /// The connection closed before the first byte was written.
    #[error("the connection closed before anything was written")]
    Closed,
    /// The service sent bytes nobody had asked for.
    #[error("the service answered before it was asked")]
    Unasked,
}

impl NotSentCause {
    /// A short name for metrics and records.
    pub fn label(&self) -> &'static str {
        match self {
            Self::NoService => "no_service",
            Self::Saturated => "saturated",
            Self::Connect(_) => "connect",
            Self::ConnectTimeout => "connect_timeout",
            Self::Deadline => "deadline",
            Self::Closed => "closed",
            Self::Unasked => "unasked",
        }
    }
}

/// Why nobody knows.
#[derive(Debug, Error)]
pub enum UnknownCause {
    /// No response head within the attempt.
    #[error("no answer in time")]
    HeadTimeout,
    /// The connection ended before the response did.
    #[error("the connection ended before the answer did")]
    Closed,
    /// The response head is not HTTP/1.1 as RFC 9112 has it, or is too large.
    #[error("the response head is malformed: {0}")]
    BadHead(&'static str),
    /// The service answered with a redirect, which is never followed.
    #[error("the service answered with redirect {0}")]
    Redirect(u16),
    /// The response body's framing is broken.
    #[error("the response body is malformed")]
    BadBody,
    /// The response body did not end within the total deadline.
    #[error("the response body did not end in time")]
    BodyTimeout,
    /// The response body is larger than we read.
    #[error("the response body is larger than {limit} bytes")]
    TooLarge {
        /// The limit, in bytes.
        limit: usize,
    },
    /// The caller's body broke off after bytes of it were passed on.
    #[error("the request body broke off after part of it was sent")]
    RequestBody,
}

impl UnknownCause {
    /// A short name for metrics and records.
    pub fn label(&self) -> &'static str {
        match self {
            Self::HeadTimeout => "head_timeout",
            Self::Closed => "closed",
            Self::BadHead(_) => "bad_head",
            Self::Redirect(_) => "redirect",
            Self::BadBody => "bad_body",
            Self::BodyTimeout => "body_timeout",
            Self::TooLarge { .. } => "too_large",
            Self::RequestBody => "request_body",
        }
    }
}

/// What an answer says about its effect. A 2xx is done; any other answer must
/// say so in its problem body, and one that does not may have done anything.
pub fn effect_of(status: StatusCode, body: &[u8]) -> Effect {
    #[derive(Deserialize)]
    struct Problem {
        effect: Effect,
    }
    if status.is_success() {
        return Effect::Done;
    }
    if !status.is_client_error() && !status.is_server_error() {
        return Effect::Maybe;
    }
    serde_json::from_slice::<Problem>(body).map_or(Effect::Maybe, |problem| problem.effect)
}

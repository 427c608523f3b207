//! Asks the gateway what a caller may do with the members of what was asked about: the mowers of
//! a group, the lines of a list.
//!
//! [`request`] makes the one HTTP request, which the service sends to the gateway's operations
//! listener with whatever client it has; [`answer`] reads what comes back. `docs/GRANTS.md` has
//! the form for any language.

use http::{HeaderName, HeaderValue, Method};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use uuid::Uuid;

use crate::feed::{FEED_HEADER, FeedError, sign_feed};
use crate::keys::Keys;
use crate::layer::Granted;

#[cfg(test)]
mod tests;

/// The path of the row `ops.evaluations`.
pub const PATH: &str = "/access/v1/evaluations";

/// The most questions of one request.
pub const MAX_QUESTIONS: usize = 10_000;

/// The action that asks whether the caller may know of an object at all.
pub const OBSERVE: &str = "observe";

/// May the caller do this with that object?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question<'a> {
    /// The Cedar action of one of the service's own rows, or [`OBSERVE`].
    pub action: &'a str,
    /// The object's type in the registry, such as `Swarm`.
    pub kind: &'a str,
    /// The object's id in the registry.
    pub id: &'a str,
}

/// A request to the gateway's operations listener, ready to be sent once.
#[derive(Clone, Debug)]
pub struct SignedRequest {
    /// Always POST.
    pub method: Method,
    /// Path without a query: [`PATH`].
    pub path: &'static str,
    /// `Content-Type`, and the service's own token, which is marked as sensitive.
    pub headers: [(HeaderName, HeaderValue); 2],
    /// The JSON body, which the token is bound to.
    pub body: Vec<u8>,
}

/// The gateway's answer to one question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether the caller may.
    pub allowed: bool,
    /// Whether the caller may know of the object. One that it may not know of must not show in
    /// any byte of an answer.
    pub visible: bool,
    /// The object's revision that was judged, where it is registered.
    pub revision: Option<u64>,
    /// What stands in the way although the caller has the right, as the slug of a problem type.
    pub problem: Option<String>,
}

/// Why there are no verdicts.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum EvaluationsError {
    /// Too much for one request.
    #[error("{0} questions are too many for one request; send {MAX_QUESTIONS} at a time")]
    TooMany(usize),
    /// The request could not be signed.
    #[error(transparent)]
    Signing(#[from] FeedError),
    /// The gateway did not judge. Nobody may act on a guess.
    #[error("the gateway answered {status}: {detail}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// The problem's detail, or what was wrong with it.
        detail: String,
    },
    /// An answer that is no answer to what was asked.
    #[error("the gateway's answer cannot be read: {0}")]
    Malformed(String),
}

/// Makes the request for `questions` on behalf of the caller of `granted`, whose row must be one
/// that judges members. `jti` is used once.
///
/// # Errors
/// [`EvaluationsError::TooMany`] and [`EvaluationsError::Signing`].
pub fn request(
    keys: &Keys,
    service: &str,
    granted: &Granted,
    questions: &[Question<'_>],
    jti: Uuid,
    now: Timestamp,
) -> Result<SignedRequest, EvaluationsError> {
    if questions.len() > MAX_QUESTIONS {
        return Err(EvaluationsError::TooMany(questions.len()));
    }
    let evaluations = questions.iter().map(|question| Evaluation {
        action: Action {
            name: question.action,
        },
        resource: Resource {
            kind: question.kind,
            id: question.id,
        },
    });
    let body = Body {
        grant: granted.token(),
        evaluations: evaluations.collect(),
    };
    let body = serde_json::to_vec(&body).map_err(|_| FeedError::Signing)?;
    let token = sign_feed(
        keys,
        service,
        (Method::POST.as_str(), PATH, &body),
        jti,
        now,
    )?;
    let mut token = HeaderValue::try_from(token).map_err(|_| FeedError::Signing)?;
    token.set_sensitive(true);
    Ok(SignedRequest {
        method: Method::POST,
        path: PATH,
        headers: [
            (
                http::header::CONTENT_TYPE,
                HeaderValue::from_static("application/json"),
            ),
            (HeaderName::from_static(FEED_HEADER), token),
        ],
        body,
    })
}

/// Reads the answer to `asked` questions: as many verdicts, in the same order.
///
/// # Errors
/// [`EvaluationsError::Refused`] and [`EvaluationsError::Malformed`].
pub fn answer(status: u16, body: &[u8], asked: usize) -> Result<Vec<Verdict>, EvaluationsError> {
    if status != 200 {
        let problem: Problem = serde_json::from_slice(body).unwrap_or_default();
        return Err(EvaluationsError::Refused {
            status,
            detail: problem.detail,
        });
    }
    let answer: Answer = serde_json::from_slice(body)
        .map_err(|cause| EvaluationsError::Malformed(cause.to_string()))?;
    let told = answer.evaluations.len();
    if told != asked {
        let text = format!("{told} verdicts for {asked} questions");
        return Err(EvaluationsError::Malformed(text));
    }
    let verdicts = answer.evaluations.into_iter().map(|told| Verdict {
        allowed: told.decision,
        visible: told.context.visible,
        revision: told.context.revision,
        problem: told.context.problem,
    });
    Ok(verdicts.collect())
}

#[derive(Serialize)]
struct Body<'a> {
    grant: &'a str,
    evaluations: Vec<Evaluation<'a>>,
}

#[derive(Serialize)]
struct Evaluation<'a> {
    action: Action<'a>,
    resource: Resource<'a>,
}

#[derive(Serialize)]
struct Action<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Resource<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    id: &'a str,
}

#[derive(Deserialize)]
struct Answer {
    evaluations: Vec<Told>,
}

#[derive(Deserialize)]
struct Told {
    decision: bool,
    context: Context,
}

#[derive(Deserialize)]
struct Context {
    visible: bool,
    #[serde(default)]
    revision: Option<u64>,
    #[serde(default)]
    problem: Option<String>,
}

#[derive(Default, Deserialize)]
struct Problem {
    #[serde(default)]
    detail: String,
}

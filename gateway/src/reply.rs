//! What the gateway answers with: bytes of its own, or a service's stream.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
};
use http::{HeaderMap, Response, StatusCode};
use http_body_util::{Either, Full};
use hyper::body::Body;
use serde_json::Value;

use crate::idempotency::StoredAnswer;
use crate::problem::Problem;
use crate::upstream::UpstreamBody;

/// An answer's body.
pub type ReplyBody = Either<Full<Bytes>, UpstreamBody>;

/// An answer.
pub type Reply = Response<ReplyBody>;

/// RFC draft idempotency-key-header: marks an answer given before.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotency-replayed");

/// JSON of our own.
pub fn json(status: u16, body: &Value) -> Reply {
    let mut reply = bytes(status, Bytes::from(body.to_string()));
    reply
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    reply
}

/// The same, for the caller alone: no cache keeps it.
pub fn private(mut reply: Reply) -> Reply {
    let no_store = HeaderValue::from_static("no-store");
    reply.headers_mut().insert(CACHE_CONTROL, no_store);
    reply
}

/// Bytes of our own.
pub fn bytes(status: u16, body: Bytes) -> Reply {
    let mut reply = Response::new(Either::Left(Full::new(body)));
    *reply.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    reply
}

/// A problem as an answer.
pub fn problem(problem: &Problem) -> Reply {
    problem.response().map(|body| Either::Left(Full::new(body)))
}

/// The last answer on its connection (RFC 9112 section 9.6): where the request
/// could be read in two ways, so could whatever comes behind it.
pub fn last(mut reply: Reply) -> Reply {
    let close = HeaderValue::from_static("close");
    reply.headers_mut().insert(CONNECTION, close);
    reply
}

/// An answer from a service that was read whole, with the headers that may
/// pass.
pub fn answered(status: StatusCode, headers: HeaderMap, body: Bytes) -> Reply {
    let mut reply = Response::new(Either::Left(Full::new(body)));
    *reply.status_mut() = status;
    *reply.headers_mut() = headers;
    reply
}

/// A service's word to the caller. That something does not exist is said in the
/// gateway's own bytes, so that nobody can tell what is missing there from what
/// is hidden here.
pub fn told(status: StatusCode, headers: HeaderMap, body: Bytes) -> Reply {
    match status {
        StatusCode::NOT_FOUND => problem(&Problem::not_found()),
        _ => answered(status, headers, body),
    }
}

/// What of an answer is kept under its key.
pub fn keep(status: StatusCode, headers: &HeaderMap, body: &Bytes) -> StoredAnswer {
    let text = |name| {
        let value = headers
            .get(name)
            .and_then(|value: &HeaderValue| value.to_str().ok());
        value.map(str::to_owned)
    };
    StoredAnswer {
        status: status.as_u16(),
        content_type: text(CONTENT_TYPE),
        location: text(LOCATION),
        body: body.to_vec(),
        secret_stripped: false,
    }
}

/// A kept answer, given again.
pub fn replay(answer: &StoredAnswer) -> Reply {
    let mut reply = restored(answer);
    reply
        .headers_mut()
        .insert(REPLAYED, HeaderValue::from_static("true"));
    reply
}

/// A kept answer, given for the first time.
pub fn restored(answer: &StoredAnswer) -> Reply {
    let mut reply = bytes(answer.status, Bytes::from(answer.body.clone()));
    for (name, value) in [
        (CONTENT_TYPE, &answer.content_type),
        (LOCATION, &answer.location),
    ] {
        if let Some(value) = value
            && let Ok(value) = HeaderValue::from_str(value)
        {
            reply.headers_mut().insert(name, value);
        }
    }
    reply
}

/// The answer to a HEAD: the same head, no body (RFC 9110 section 9.3.2). Of a
/// body of our own the length is said, since nothing else would.
pub fn without_body(mut reply: Reply) -> Reply {
    if let Either::Left(body) = reply.body()
        && let Some(length) = body.size_hint().exact()
    {
        reply.headers_mut().insert(CONTENT_LENGTH, length.into());
    }
    reply.map(|_| Either::Left(Full::default()))
}

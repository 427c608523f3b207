//! How answers leave: kept ones byte for byte, new ones as JSON.

use axum::body::Body;
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use interlock_guard::PROBLEM_JSON;
use serde::Serialize;

use super::problem::Problem;
use crate::operations::Answer;

impl Answer {
    /// An answer with a JSON body.
    ///
    /// # Errors
    /// [`Problem::Internal`] when the value has no JSON form.
    pub fn json<T: Serialize>(status: StatusCode, value: &T) -> Result<Self, Problem> {
        let body = serde_json::to_string(value).map_err(|error| {
            tracing::error!("an answer has no JSON form: {error}");
            Problem::Internal
        })?;
        Ok(Self {
            status: status.as_u16(),
            body,
            location: None,
        })
    }

    /// 204, without a body.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            status: StatusCode::NO_CONTENT.as_u16(),
            body: String::new(),
            location: None,
        }
    }

    /// The same answer with a `Location`.
    #[must_use]
    pub fn at(self, location: String) -> Self {
        Self {
            location: Some(location),
            ..self
        }
    }
}

/// A kept answer, byte for byte.
pub fn respond(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let kind = if status.is_success() {
        "application/json"
    } else {
        PROBLEM_JSON
    };
    let typed = !answer.body.is_empty();
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    if typed {
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    }
    if let Some(Ok(location)) = answer.location.map(HeaderValue::try_from) {
        headers.insert(LOCATION, location);
    }
    response
}

/// Runs what changes something to its end, also when the caller hangs up.
pub async fn detached(
    work: impl Future<Output = Result<Answer, Problem>> + Send + 'static,
) -> Response {
    match tokio::spawn(work).await {
        Ok(Ok(answer)) => respond(answer),
        Ok(Err(problem)) => problem.into_response(),
        Err(error) => {
            tracing::error!("a handler broke off: {error}");
            Problem::Internal.into_response()
        }
    }
}

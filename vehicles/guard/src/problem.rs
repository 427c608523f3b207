//! How a refusal is answered: problem details (RFC 9457) that say nothing happened.

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use http::{HeaderValue, StatusCode};
use serde::Serialize;

use crate::refusal::Refusal;

/// Media type of problem details (RFC 9457 section 3).
pub const PROBLEM_JSON: &str = "application/problem+json";

#[derive(Serialize)]
struct Problem {
    r#type: &'static str,
    title: &'static str,
    status: u16,
    detail: String,
    effect: &'static str,
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, r#type, title) = match self {
            Self::Full => (
                StatusCode::SERVICE_UNAVAILABLE,
                "urn:interlock:problem:grant-memory-full",
                "Too many grants in use",
            ),
            Self::TooLarge => (
                StatusCode::PAYLOAD_TOO_LARGE,
                "urn:interlock:problem:content-too-large",
                "Body too large",
            ),
            Self::Unreadable => (
                StatusCode::BAD_REQUEST,
                "urn:interlock:problem:invalid-request",
                "Body unreadable",
            ),
            Self::Slow => (
                StatusCode::REQUEST_TIMEOUT,
                "urn:interlock:problem:request-timeout",
                "Body too slow",
            ),
            Self::Missing
            | Self::Repeated
            | Self::Malformed
            | Self::Algorithm
            | Self::Type
            | Self::UnknownKey
            | Self::Signature
            | Self::Issuer
            | Self::Audience
            | Self::Claims
            | Self::Row
            | Self::Method
            | Self::Path
            | Self::Body
            | Self::Expired
            | Self::NotYet
            | Self::Life
            | Self::BeforeStart
            | Self::Replayed => (
                StatusCode::UNAUTHORIZED,
                "urn:interlock:problem:grant-refused",
                "No valid grant",
            ),
        };
        let problem = Problem {
            r#type,
            title,
            status: status.as_u16(),
            detail: self.to_string(),
            effect: "none",
        };
        let mut response = (status, axum::Json(problem)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(PROBLEM_JSON));
        if status == StatusCode::UNAUTHORIZED {
            // RFC 9110 section 11.6.1: a 401 names the scheme it wants.
            let scheme = HeaderValue::from_static("Interlock-Grant");
            headers.insert(WWW_AUTHENTICATE, scheme);
        }
        response
    }
}

//! Puts the check before the handlers, and its proof into their hands.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::HeaderMap;
use http::request::Parts;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use interlock_surface::Row;
use jiff::Timestamp;
use uuid::Uuid;

use crate::claims::{Approval, Caller, Claims};
use crate::guard::{GRANT_HEADER, Guard, Verified};
use crate::refusal::Refusal;

/// A body that takes longer than this to arrive is given up: nobody holds a service by dripping.
const BODY_WITHIN: Duration = Duration::from_secs(2);

#[cfg(test)]
pub(crate) mod tests;

/// Proof that this request carries a valid grant: only the guard makes one. A handler that takes
/// it as an argument answers 401 where the layer is missing.
#[derive(Clone, Debug)]
pub struct Granted(Arc<Verified>);

impl Granted {
    pub(crate) fn new(verified: Verified) -> Self {
        Self(Arc::new(verified))
    }

    /// The surface row that was granted.
    #[must_use]
    pub fn row(&self) -> &'static Row {
        self.0.row
    }

    /// On whose behalf the gateway asks.
    #[must_use]
    pub fn caller(&self) -> &Caller {
        &self.0.claims.caller
    }

    /// The operation this request is; every write has one.
    #[must_use]
    pub fn operation(&self) -> Option<Uuid> {
        self.0.claims.operation
    }

    /// When the caller asked.
    #[must_use]
    pub fn asked_at(&self) -> Timestamp {
        self.0.asked_at
    }

    /// When the gateway stops waiting.
    #[must_use]
    pub fn deadline(&self) -> Timestamp {
        self.0.deadline
    }

    /// What a person approved, on the dispatch of a plan.
    #[must_use]
    pub fn approval(&self) -> Option<&Approval> {
        self.0.claims.approval.as_ref()
    }

    /// Revision of the registered object that was judged, where it has one.
    #[must_use]
    pub fn revision(&self) -> Option<u64> {
        self.0.claims.revision
    }

    /// The grant as received, to be shown to the gateway again.
    pub(crate) fn token(&self) -> &str {
        &self.0.token.0
    }

    /// Every claim.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        &self.0.claims
    }
}

impl<S: Sync> FromRequestParts<S> for Granted {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Refusal> {
        parts
            .extensions
            .get::<Self>()
            .cloned()
            .ok_or(Refusal::Missing)
    }
}

/// The layer, for `axum::middleware::from_fn_with_state(guard, require_grant)`: checks the grant,
/// reads the body within the row's limit, and hands both on. The body is read only once the
/// signature holds, so a stranger cannot make the service hold anything.
pub async fn require_grant(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    match check(&guard, request).await {
        Ok(request) => next.run(request).await,
        Err((refusal, path)) => {
            tracing::warn!(reason = refusal.reason(), path, "grant refused");
            refusal.into_response()
        }
    }
}

async fn check(guard: &Guard, request: Request) -> Result<Request, (Refusal, String)> {
    let (mut parts, body) = request.into_parts();
    let target = parts
        .uri
        .path_and_query()
        .map_or("/", |target| target.as_str());
    let refused = |refusal| (refusal, parts.uri.path().to_owned());
    let token = single_header(&parts.headers).map_err(refused)?;
    let verified = guard
        .verify(token, parts.method.as_str(), target)
        .map_err(refused)?;
    let body = bounded(body, verified.row.body_limit)
        .await
        .map_err(refused)?;
    let granted = guard.admit(verified, &body).map_err(refused)?;
    parts.extensions.insert(granted);
    Ok(Request::from_parts(parts, Body::from(body)))
}

/// Two headers could be read differently by two readers, so there may be only one.
fn single_header(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut values = headers.get_all(GRANT_HEADER).iter();
    let value = values.next().ok_or(Refusal::Missing)?;
    if values.next().is_some() {
        return Err(Refusal::Repeated);
    }
    value.to_str().map_err(|_| Refusal::Malformed)
}

async fn bounded(body: Body, limit: u32) -> Result<Bytes, Refusal> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let whole = Limited::new(body, limit).collect();
    match tokio::time::timeout(BODY_WITHIN, whole).await {
        Err(_) => Err(Refusal::Slow),
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Refusal::TooLarge),
        Ok(Err(_)) => Err(Refusal::Unreadable),
    }
}

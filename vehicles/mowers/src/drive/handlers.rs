//! The rows of drive sessions. Frames come with the other commands of a mower.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use interlock_surface::Method;
use uuid::Uuid;

use super::{close, open};
use crate::commands::ask::Ask;
use crate::service::Fleet;
use crate::service::answer::detached;
use crate::service::call::Call;
use crate::service::router::Route;

/// Which handler serves which row.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::Post,
        "/api/v1/fleet/mowers/{mower}/drive-sessions",
        |method| on(method, open_session),
    ),
    Route::new(
        Method::Delete,
        "/api/v1/fleet/drive-sessions/{session}",
        |method| on(method, close_session),
    ),
];

async fn open_session(
    call: Call,
    State(fleet): State<Arc<Fleet>>,
    Path(mower): Path<Uuid>,
) -> Response {
    match Ask::of(&call) {
        Ok(ask) => detached(async move { open(&fleet, &ask, mower).await }).await,
        Err(problem) => problem.into_response(),
    }
}

async fn close_session(
    call: Call,
    State(fleet): State<Arc<Fleet>>,
    Path(session): Path<Uuid>,
) -> Response {
    match Ask::of(&call) {
        Ok(ask) => {
            let granted = call.granted().clone();
            detached(async move { close::close(&fleet, &ask, &granted, session).await }).await
        }
        Err(problem) => problem.into_response(),
    }
}

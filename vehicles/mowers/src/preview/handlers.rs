//! The rows of path previews.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::routing::on;
use bytes::Bytes;
use interlock_surface::Method;
use uuid::Uuid;

use super::{PathView, Proposal, Wanted, preview, propose};
use crate::commands::request;
use crate::service::Fleet;
use crate::service::call::Call;
use crate::service::problem::Problem;
use crate::service::router::Route;

/// Which handler serves which row.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::Post,
        "/api/v1/fleet/mowers/{mower}/path-preview",
        |method| on(method, path_preview),
    ),
    Route::new(Method::Post, "/internal/mowers/{mower}/preview", |method| {
        on(method, internal_preview)
    }),
];

/// Not detached: who hangs up wants it no more.
async fn path_preview(
    call: Call,
    State(fleet): State<Arc<Fleet>>,
    Path(mower): Path<Uuid>,
    body: Bytes,
) -> Result<Json<PathView>, Problem> {
    let start = request::read_path(&body)?;
    let wanted = Wanted { mower, start };
    preview(&fleet, call.granted().caller(), wanted)
        .await
        .map(Json)
}

async fn internal_preview(
    call: Call,
    State(fleet): State<Arc<Fleet>>,
    Path(mower): Path<Uuid>,
    body: Bytes,
) -> Result<Json<Proposal>, Problem> {
    let start = request::read_plan(&body)?;
    let wanted = Wanted { mower, start };
    propose(&fleet, call.granted().caller(), wanted)
        .await
        .map(Json)
}

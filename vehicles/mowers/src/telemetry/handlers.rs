//! Reading the state, the capabilities and the map of a mower.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use interlock_surface::Method;
use serde::Serialize;
use uuid::Uuid;

use super::{Seen, holder};
use crate::contract::{Capabilities, Map, MowerState};
use crate::service::Fleet;
use crate::service::call::Call;
use crate::service::problem::Problem;
use crate::service::router::Route;

/// Which handler serves which row.
pub const ROUTES: &[Route] = &[
    Route::new(
        Method::Get,
        "/api/v1/fleet/mowers/{mower}/state",
        |method| on(method, state),
    ),
    Route::new(
        Method::Get,
        "/api/v1/fleet/mowers/{mower}/capabilities",
        |method| on(method, capabilities),
    ),
    Route::new(Method::Get, "/api/v1/fleet/mowers/{mower}/map", |method| {
        on(method, map)
    }),
];

/// Something of a mower.
#[derive(Serialize)]
struct OfMower<T> {
    mower_id: Uuid,
    #[serde(flatten)]
    what: T,
}

async fn state(
    _: Call,
    State(fleet): State<Arc<Fleet>>,
    Path(mower): Path<Uuid>,
) -> Result<Response, Problem> {
    let now = fleet.now();
    if let Some(seen) = fleet.telemetry.latest(mower) {
        return Ok(Json(seen.view(now)).into_response());
    }
    // Nothing heard since this replica began: whoever holds it knows.
    let state: MowerState = holder::ask(&fleet, mower, "state").await?;
    let seen = Seen { state };
    Ok(Json(seen.view(now)).into_response())
}

async fn capabilities(
    _: Call,
    State(fleet): State<Arc<Fleet>>,
    Path(mower_id): Path<Uuid>,
) -> Result<Response, Problem> {
    let what: Capabilities = holder::ask(&fleet, mower_id, "capabilities").await?;
    Ok(Json(OfMower { mower_id, what }).into_response())
}

async fn map(
    _: Call,
    State(fleet): State<Arc<Fleet>>,
    Path(mower_id): Path<Uuid>,
) -> Result<Response, Problem> {
    let what: Map = holder::ask(&fleet, mower_id, "map").await?;
    Ok(Json(OfMower { mower_id, what }).into_response())
}

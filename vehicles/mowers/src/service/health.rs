//! Whether the service lives, and whether it can serve everything.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use interlock_surface::Method;
use serde_json::{Map, Value, json};

use super::Fleet;
use super::call::Call;
use super::router::Route;

/// Records that take longer than this are said not to answer; the heartbeat must not wait.
const ANSWER: Duration = Duration::from_millis(500);

pub(super) const ROUTES: &[Route] = &[
    Route::new(Method::Get, "/api/v1/fleet/healthz", |method| {
        on(method, healthz)
    }),
    Route::new(Method::Get, "/api/v1/fleet/readyz", |method| {
        on(method, readyz)
    }),
];

/// `GET /healthz`: this process answers.
async fn healthz(_: Call) -> Response {
    axum::Json(json!({ "status": "Healthy", "checks": {} })).into_response()
}

/// `GET /readyz`: 503 while something is missing that more than stops need.
async fn readyz(_: Call, State(fleet): State<Arc<Fleet>>) -> Response {
    let checks = checks(&fleet).await;
    let healthy = checks.values().all(|check| check["status"] == "Healthy");
    let (status, word) = match healthy {
        true => (StatusCode::OK, "Healthy"),
        false => (StatusCode::SERVICE_UNAVAILABLE, "Degraded"),
    };
    let body = json!({ "status": word, "checks": checks });
    (status, axum::Json(body)).into_response()
}

/// The parts this service stands on, as the gateway's health shows them too. One that is down is
/// degraded, not unhealthy: a restart would not help.
pub(crate) async fn checks(fleet: &Fleet) -> Map<String, Value> {
    let check = |works: bool, works_as: &str, fails_as: &str| {
        json!({
            "status": if works { "Healthy" } else { "Degraded" },
            "description": if works { works_as } else { fails_as },
        })
    };
    let answer = tokio::time::timeout(ANSWER, fleet.records.answer()).await;
    let records = check(
        answer.unwrap_or(false),
        "the records answer",
        "the records do not answer: nothing can be written down but stops",
    );
    let bus = check(
        fleet.bus.connected(),
        "the bus is connected",
        "the bus is not connected: no command reaches a mower",
    );
    let roster = check(
        fleet.roster.is_loaded(),
        "the roster is loaded",
        "the roster was never loaded: stops cannot find their mowers",
    );
    let checks = [("records", records), ("bus", bus), ("roster", roster)];
    checks
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

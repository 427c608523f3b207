//! The operations listener of a service: `GET /healthz` and `GET /metrics`, for operators. It is a
//! second listener, so that neither is ever reached through the gateway.

use std::sync::Arc;

use async_trait::async_trait;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::json;

mod exposition;

#[cfg(test)]
mod tests;

pub use exposition::{Exposition, Kind};

/// Who knows numbers.
#[async_trait]
pub trait Metrics: Send + Sync + 'static {
    /// Writes them down as they are now. What cannot be known in time is left out.
    async fn write(&self, exposition: &mut Exposition);
}

/// Answers with these numbers.
pub fn router(metrics: Arc<dyn Metrics>) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/metrics", get(scrape))
        .with_state(metrics)
}

/// The process answers, and nothing more: a restart would not bring back what it stands on.
async fn healthz() -> Json<serde_json::Value> {
    Json(json!({ "status": "Healthy" }))
}

async fn scrape(State(metrics): State<Arc<dyn Metrics>>) -> Response {
    let mut exposition = Exposition::default();
    metrics.write(&mut exposition).await;
    let kind = [(CONTENT_TYPE, exposition::CONTENT)];
    (kind, exposition.into_text()).into_response()
}

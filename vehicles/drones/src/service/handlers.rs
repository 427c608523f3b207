//! One handler per row. Each takes the proof that the gateway allows it.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::header::{CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use interlock_guard::{Granted, PROBLEM_JSON};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::Service;
use super::problem::Problem;
use super::start::{Ask, not_durable};
use super::stop::Asked;
use crate::contract::Mission;
use crate::contract::state::SwarmView;
use crate::crash::CrashPoint;
use crate::fence::Fence;
use crate::limits::Faults;
use crate::missions::Found;
use crate::operations::{Answer, Effect, StopAnswered};
use crate::preview::Previewed;

type Shared = State<Arc<Service>>;

/// `GET /api/swarm/state`
pub(super) async fn state(_: Granted, State(service): Shared) -> axum::Json<SwarmView> {
    axum::Json(service.link.state().view(service.clock.now()))
}

/// `GET /api/missions/{mission}`
pub(super) async fn mission(
    _: Granted,
    State(service): Shared,
    Path(id): Path<Uuid>,
) -> Result<axum::Json<Mission>, Problem> {
    match service.missions.find(id) {
        Some(Found::Taken(mission)) => Ok(axum::Json(mission)),
        Some(Found::Unclear(_)) => Err(Problem::InProgress(
            "this mission is being started; whether it flies is not known yet".to_owned(),
        )),
        None => Err(Problem::NotFound),
    }
}

/// `POST /internal/preview`
pub(super) async fn preview_mission(
    _: Granted,
    State(service): Shared,
    body: Bytes,
) -> Result<axum::Json<Previewed>, Problem> {
    let request = service.limits.read_mission(&body)?;
    let state = service.link.state();
    let epoch = service.epoch.current().epoch;
    Ok(axum::Json(service.plan(&request, &state, epoch)))
}

/// `POST /api/missions`
pub(super) async fn start(granted: Granted, State(service): Shared, body: Bytes) -> Response {
    let ask = match ask(&granted, body) {
        Ok(ask) => ask,
        Err(problem) => return problem.into_response(),
    };
    detached(async move {
        let result = service.start(&ask).await;
        service.crash_at.reached(CrashPoint::BeforeAnswer);
        match result {
            Ok(answer) => respond(answer),
            Err(problem) => problem.into_response(),
        }
    })
    .await
}

/// `POST /api/swarm/land`
pub(super) async fn land(granted: Granted, State(service): Shared) -> Response {
    detached(async move {
        let result = service.land(asked(&granted)).await;
        stopped(&service, &granted, StatusCode::ACCEPTED, result)
    })
    .await
}

/// `POST /api/missions/{mission}/abort`
pub(super) async fn abort(
    granted: Granted,
    State(service): Shared,
    Path(id): Path<Uuid>,
    body: Bytes,
) -> Response {
    detached(async move {
        let result = service.abort(asked(&granted), id, &body).await;
        stopped(&service, &granted, StatusCode::OK, result)
    })
    .await
}

fn asked(granted: &Granted) -> Asked {
    Asked {
        operation: granted.operation(),
        at: granted.asked_at(),
    }
}

/// Notes how a stop is answered, and answers it.
fn stopped<T: Serialize>(
    service: &Service,
    granted: &Granted,
    status: StatusCode,
    result: Result<T, Problem>,
) -> Response {
    let written = result.and_then(|value| {
        let body = serde_json::to_string(&value).map_err(|error| {
            tracing::error!("the answer to a stop has no JSON form: {error}");
            Problem::Internal
        })?;
        Ok(Answer {
            status: status.as_u16(),
            body,
            location: None,
        })
    });
    let (effect, answer) = match written {
        Ok(answer) => (Effect::Done, answer),
        Err(problem) => (problem.effect(), problem.answer()),
    };
    if let Some(operation) = granted.operation() {
        service.stop_log.end(StopAnswered {
            operation,
            effect,
            answer: answer.clone(),
            at: service.clock.now(),
        });
    }
    respond(answer)
}

/// `POST /internal/operations/{operation}/settle`
pub(super) async fn settle(_: Granted, State(service): Shared, Path(id): Path<Uuid>) -> Response {
    let settled = async move { service.settle(id).await.map_err(not_durable) };
    detached(async move { json(StatusCode::OK, settled.await) }).await
}

/// What is not in the table does not exist.
pub(super) async fn not_found() -> Problem {
    Problem::NotFound
}

fn ask(granted: &Granted, body: Bytes) -> Result<Ask, Problem> {
    // The guard demands one of every write.
    let operation = granted.operation().ok_or(Problem::Internal)?;
    let fence = granted.approval().map(|approval| {
        Fence::deserialize(&approval.fence).map_err(|error| {
            Problem::Invalid(Faults(vec![format!(
                "the approved fence is unreadable: {error}"
            )]))
        })
    });
    Ok(Ask {
        operation,
        body,
        asked_at: granted.asked_at(),
        deadline: granted.deadline(),
        fence: fence.transpose()?,
    })
}

/// Runs what moves vehicles to its end, also when the caller hangs up.
async fn detached(work: impl Future<Output = Response> + Send + 'static) -> Response {
    tokio::spawn(work).await.unwrap_or_else(|error| {
        tracing::error!("a handler broke off: {error}");
        Problem::Internal.into_response()
    })
}

fn json<T: Serialize>(status: StatusCode, result: Result<T, Problem>) -> Response {
    match result {
        Ok(value) => (status, axum::Json(value)).into_response(),
        Err(problem) => problem.into_response(),
    }
}

/// A kept answer, byte for byte.
pub(super) fn respond(answer: Answer) -> Response {
    let status = StatusCode::from_u16(answer.status);
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = status;
    let kind = if status.is_success() {
        "application/json"
    } else {
        PROBLEM_JSON
    };
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    if let Some(Ok(location)) = answer.location.map(HeaderValue::try_from) {
        headers.insert(LOCATION, location);
    }
    response
}

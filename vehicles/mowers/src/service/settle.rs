//! What became of an operation, said once and for ever.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::on;
use interlock_surface::Method;
use serde::Serialize;
use serde_json::Value;
use uuid::Uuid;

use super::Fleet;
use super::answer::detached;
use super::call::Call;
use super::problem::Problem;
use super::router::Route;
use crate::commands;
use crate::operations::{self, Answer, Effect, Operation, Standing};

pub(super) const ROUTES: &[Route] = &[Route::new(
    Method::Post,
    "/internal/operations/{operation}/settle",
    |method| on(method, settle),
)];

/// The answer to a settle.
#[derive(Debug, Serialize)]
struct Settled {
    state: &'static str,
    effect: Effect,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<SettledAnswer>,
}

#[derive(Debug, Serialize)]
struct SettledAnswer {
    status: u16,
    body: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
}

/// `POST /internal/operations/{operation}/settle`
async fn settle(_: Call, State(fleet): State<Arc<Fleet>>, Path(id): Path<Uuid>) -> Response {
    detached(async move {
        let operation = operations::settle(&fleet.records, id, fleet.now()).await?;
        // What was sent is settled by its record: its operation may have been left behind, and a
        // stop begins none.
        if !matches!(operation.standing, Standing::Done(..))
            && let Some(settled) = commands::settle::settled(&fleet, id).await?
        {
            return Answer::json(StatusCode::OK, &Settled::from(settled));
        }
        Answer::json(StatusCode::OK, &Settled::from(operation))
    })
    .await
}

impl Settled {
    fn running() -> Self {
        Self {
            state: "running",
            effect: Effect::Maybe,
            answer: None,
        }
    }

    fn done(effect: Effect, answer: Answer) -> Self {
        Self {
            state: "done",
            effect,
            answer: Some(SettledAnswer {
                status: answer.status,
                // Written by this service; 204 has none.
                body: serde_json::from_str(&answer.body).unwrap_or(Value::Null),
                location: answer.location,
            }),
        }
    }
}

impl From<commands::settle::Settled> for Settled {
    fn from(settled: commands::settle::Settled) -> Self {
        match settled {
            commands::settle::Settled::Running => Self::running(),
            commands::settle::Settled::Done(effect, answer) => Self::done(effect, answer),
        }
    }
}

impl From<Operation> for Settled {
    fn from(operation: Operation) -> Self {
        match operation.standing {
            Standing::Started => Self::running(),
            Standing::Tombstoned => Self {
                state: "tombstoned",
                effect: Effect::None,
                answer: None,
            },
            Standing::Done(effect, answer) => Self::done(effect, answer),
        }
    }
}

/// What the repeat of an operation is answered; `None`: it is fresh.
///
/// # Errors
/// The [`Problem`] of an operation that is not finished, refused, or another one.
pub fn repeated(begun: operations::Begun, kind: &str) -> Result<Option<Answer>, Problem> {
    let operations::Begun::Existing(found) = begun else {
        return Ok(None);
    };
    match found.standing {
        Standing::Tombstoned => Err(Problem::Tombstoned),
        _ if found.kind != kind => Err(Problem::Reused),
        Standing::Started => Err(Problem::InProgress),
        Standing::Done(_, answer) => Ok(Some(answer)),
    }
}

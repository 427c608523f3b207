//! What a service says of an operation, at its settle row.

use std::sync::Arc;

use interlock_surface::{Class, Params, ROWS, Row, ServedBy};
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::idempotency::StoredAnswer;
use crate::pipeline::{Whole, lease, settle_call, whole};
use crate::plans::handlers::is_transient;
use crate::problem::{Kind, Problem};

/// A service's word on an operation.
pub(super) enum Word {
    /// It was carried out, with this answer.
    Done(StoredAnswer),
    /// It was refused.
    Refused { reason: String, effect: Effect },
    /// It will never be carried out again.
    Tombstoned(Effect),
    /// It is being carried out.
    Running,
}

#[derive(Deserialize)]
struct Settled {
    state: SettledState,
    effect: Effect,
    answer: Option<SettledAnswer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum SettledState {
    Done,
    Running,
    Tombstoned,
}

#[derive(Deserialize)]
struct SettledAnswer {
    status: u16,
    body: Value,
    location: Option<String>,
}

/// Asks a service what became of an operation. One that it never saw is
/// tombstoned by the question.
///
/// # Errors
/// When it cannot be asked, or its answer is none.
pub(super) async fn ask(
    gateway: &Arc<Gateway>,
    service: &str,
    operation: Uuid,
) -> Result<Word, Problem> {
    let Some(row) = settles(service) else {
        return Err(Problem::new(
            Kind::Internal,
            "the service has no settle row",
        ));
    };
    let id = operation.to_string();
    let params = Params::of(row, &[("operation", id.as_str())])
        .map_err(|cause| Problem::new(Kind::Internal, cause.to_string()))?;
    let outcome = settle_call(gateway, row, &params).await?;
    let spoken = match whole(gateway, outcome).await {
        Whole::Answered(spoken) if spoken.status.is_success() => spoken,
        Whole::Answered(spoken) => {
            let detail = format!("settling was answered with {}", spoken.status.as_u16());
            return Err(Problem::new(Kind::BadAnswer, detail));
        }
        Whole::NotSent(problem) | Whole::Unknown(problem) => return Err(problem),
    };
    let settled: Settled = serde_json::from_slice(&spoken.body)
        .map_err(|cause| Problem::new(Kind::BadAnswer, cause.to_string()))?;
    Ok(word(settled))
}

fn word(settled: Settled) -> Word {
    match (settled.state, settled.answer) {
        (SettledState::Running, _) => Word::Running,
        (SettledState::Tombstoned, _) => Word::Tombstoned(settled.effect),
        (SettledState::Done, Some(answer)) if answer.status < 300 => Word::Done(StoredAnswer {
            status: answer.status,
            content_type: Some("application/json".to_owned()),
            location: answer.location,
            body: answer.body.to_string().into_bytes(),
            secret_stripped: false,
        }),
        // It was not able to, and nothing happened: as if it had not been asked.
        (SettledState::Done, Some(answer))
            if settled.effect == Effect::None && is_transient(answer.status) =>
        {
            Word::Tombstoned(Effect::None)
        }
        (SettledState::Done, Some(answer)) => Word::Refused {
            reason: answer
                .body
                .get("detail")
                .and_then(Value::as_str)
                .unwrap_or("the service refused")
                .to_owned(),
            effect: settled.effect,
        },
        // Done without an answer is a broken contract: it may have moved.
        (SettledState::Done, None) => Word::Tombstoned(Effect::Maybe),
    }
}

/// The settle row of a service: the internal one that names an operation.
fn settles(service: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| {
        row.service == service
            && row.class == Class::Internal
            && row.served_by == ServedBy::Service
            && row.params().any(|(name, _)| name == "operation")
    })
}

/// Until when a settler is at work: for as long as the service may take.
pub(super) fn until(gateway: &Gateway, service: &str, now: Timestamp) -> Timestamp {
    settles(service).map_or(now, |row| lease(gateway, row, now))
}

//! Reads, and writes that go straight to a service: what came of them.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::Either;
use interlock_surface::ServedBy;
use serde_json::{Map, Value};
use tracing::{error, warn};
use uuid::Uuid;

use super::anew::Judged;
use super::forward::{Forward, forward};
use super::keyed::{Ended, Fate, Names};
use super::{Call, anew, call};
use crate::audit;
use crate::crash::CrashPoint;
use crate::edge::headers::upstream_to_downstream;
use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::problem::{Kind, Problem};
use crate::reply::{self, Reply};
use crate::upstream::{Answer, Outcome, UnknownCause, UpstreamBody, collect};
use crate::{health, plans};

/// How much of a service's word that something is missing is read.
const MISSING_BYTES: usize = 16 * 1024;

/// How much of each of a service's words is passed on in a problem of ours.
const SAID_CHARS: usize = 500;

/// A read: of our own, or streamed from the service unbuffered.
pub(super) async fn read(gateway: &Arc<Gateway>, call: Call) -> Result<Reply, Problem> {
    let row = call.permit.row();
    gateway
        .audit
        .note(call.record(audit::Kind::Read, gateway.clock.now()));
    if row.served_by == ServedBy::Gateway {
        return match (row.resource, row.resource_from) {
            (interlock_surface::ResourceType::Gateway, _) => Ok(health::answer(gateway, row)),
            (_, interlock_surface::ResourceFrom::Path(_)) => plans::handlers::get(gateway, call),
            (
                _,
                interlock_surface::ResourceFrom::Service | interlock_surface::ResourceFrom::Account,
            ) => plans::handlers::list(gateway, call).await,
        };
    }
    let now = gateway.clock.now();
    let outcome = forward(
        gateway,
        call.permit,
        Forward {
            row,
            params: &call.params,
            query: &call.query,
            headers: call.headers,
            body: call.asked.bytes().clone(),
            operation: None,
            approval: None,
            peer: call.peer,
            now,
        },
    )
    .await?;
    match outcome {
        Outcome::Answered(response) => Ok(streamed(response).await),
        Outcome::NotSent { cause } => Err(unreached(&cause)),
        Outcome::Unknown { cause } => Err(unanswered(&cause)),
    }
}

/// A write of the service: recorded, forwarded once, its effect told apart.
pub(super) async fn write(
    gateway: &Arc<Gateway>,
    call: Call,
    names: Names,
) -> Result<Ended, Problem> {
    let row = call.permit.row();
    let now = gateway.clock.now();
    if !row.calming {
        gateway.heard_of(row.service, now)?;
    }
    let object = call.object();
    let mut intent = call.record(audit::Kind::Intent, now);
    intent.operation = Some(names.operation);
    intent.body_digest = Some(crate::grant::body_digest(call.asked.bytes()));
    // Step 8: nothing is sent unrecorded, except what calms a vehicle down.
    let _recorded = match row.calming {
        true => gateway.audit.spool(intent.clone()),
        false => gateway.audit.require(intent.clone()).await?,
    };
    gateway.crash.reached(CrashPoint::BeforeSend);
    let sent = anew::send(
        gateway,
        Judged {
            permit: call.permit,
            resource: call.resource,
            context: call.context,
            object,
            intent,
        },
        Forward {
            row,
            params: &call.params,
            query: &call.query,
            headers: call.headers,
            body: call.asked.bytes().clone(),
            operation: Some(names.operation),
            approval: None,
            peer: call.peer,
            now,
        },
    )
    .await?;
    gateway.crash.reached(CrashPoint::AfterSend);
    let ended = match sent.whole {
        Whole::Answered(answer) => concluded(&answer),
        Whole::NotSent(problem) => Ended::refused(&problem),
        Whole::Unknown(problem) => doubtful(&problem, names.operation),
    };
    let effect = ended.effect();
    let record = call::outcome(
        sent.intent,
        gateway.clock.now(),
        ended.reply.status().as_u16(),
        effect,
    );
    let _recorded = gateway.audit.spool(record);
    Ok(ended)
}

/// A service's answer to a call, read whole, or what is known without one.
pub(crate) enum Whole {
    /// The service's own word, with its effect.
    Answered(Spoken),
    /// Nothing was sent.
    NotSent(Problem),
    /// Nobody knows.
    Unknown(Problem),
}

/// A service's own word: it says for certain whether it acted.
pub(crate) struct Spoken {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) acted: bool,
}

impl Spoken {
    /// The same for the caller.
    pub(crate) fn reply(&self) -> Reply {
        reply::told(self.status, self.headers.clone(), self.body.clone())
    }
}

/// Reads an outcome's answer whole, bounded.
pub(crate) async fn whole(gateway: &Gateway, outcome: Outcome) -> Whole {
    match outcome {
        Outcome::NotSent { cause } => Whole::NotSent(unreached(&cause)),
        Outcome::Unknown { cause } => Whole::Unknown(in_doubt(&cause)),
        Outcome::Answered(response) => {
            match Answer::read(response, gateway.limits.answer_bytes).await {
                Ok(answer) => spoken(answer),
                Err(cause) => Whole::Unknown(in_doubt(&cause)),
            }
        }
    }
}

fn spoken(answer: Answer) -> Whole {
    let acted = match answer.effect() {
        // The service does not take our grant: that is between it and us.
        Effect::None if answer.status == StatusCode::UNAUTHORIZED => {
            error!(
                alarm = "grant-refused",
                "a service refused our grant; compare keys and clocks"
            );
            let detail = "nothing was done: the service does not trust this gateway at the moment";
            return Whole::NotSent(Problem::new(Kind::ServiceUnavailable, detail));
        }
        Effect::None => false,
        Effect::Done => true,
        Effect::Maybe => {
            warn!(
                status = answer.status.as_u16(),
                "a service does not say what it did"
            );
            return Whole::Unknown(may_have_acted().with("said", said(&answer)));
        }
    };
    Whole::Answered(Spoken {
        acted,
        status: answer.status,
        headers: upstream_to_downstream(&answer.headers),
        body: answer.body,
    })
}

/// A service's own word on a call that it does not know the end of: whoever has
/// to find out may need it.
fn said(answer: &Answer) -> Value {
    let body: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    let mut said = Map::new();
    said.insert("status".to_owned(), answer.status.as_u16().into());
    for name in ["type", "title", "detail"] {
        if let Some(text) = body.get(name).and_then(Value::as_str) {
            let text: String = text.chars().take(SAID_CHARS).collect();
            said.insert(name.to_owned(), text.into());
        }
    }
    Value::Object(said)
}

fn concluded(answer: &Spoken) -> Ended {
    let fate = match answer.acted {
        false => Fate::Released,
        true => Fate::Answered(reply::keep(answer.status, &answer.headers, &answer.body)),
    };
    Ended {
        reply: answer.reply(),
        fate,
    }
}

/// What the caller is told when nobody knows.
pub(crate) fn doubtful(problem: &Problem, operation: Uuid) -> Ended {
    Ended {
        reply: reply::problem(
            &problem
                .clone()
                .with("operation", operation.to_string().into()),
        ),
        fate: Fate::Unknown {
            check: check(operation),
        },
    }
}

fn check(operation: Uuid) -> String {
    format!(
        "operation {operation} may have moved a vehicle: look at the state of the vehicle before asking again"
    )
}

impl Ended {
    pub(crate) fn effect(&self) -> Effect {
        match self.fate {
            Fate::Answered(_) => Effect::Done,
            Fate::Released => Effect::None,
            Fate::Unknown { .. } => Effect::Maybe,
        }
    }
}

async fn streamed(response: Response<UpstreamBody>) -> Reply {
    if response.status() == StatusCode::NOT_FOUND {
        // Read so that its connection can serve again, and shown nowhere.
        let _unused = collect(response.into_body(), MISSING_BYTES).await;
        return reply::problem(&Problem::not_found());
    }
    let (mut parts, body) = response.into_parts();
    parts.headers = upstream_to_downstream(&parts.headers);
    Response::from_parts(parts, Either::Right(body))
}

fn unreached(cause: &crate::upstream::NotSentCause) -> Problem {
    warn!(%cause, "a service was not reached");
    Problem::new(
        Kind::ServiceUnavailable,
        format!("nothing was sent: {}", cause.label().replace('_', " ")),
    )
    .retry_after(1)
}

fn unanswered(cause: &UnknownCause) -> Problem {
    warn!(%cause, "a service did not answer a read");
    Problem::new(Kind::NoAnswer, "the service did not answer as it should")
}

fn in_doubt(cause: &UnknownCause) -> Problem {
    warn!(%cause, "a service left a call in doubt");
    may_have_acted()
}

fn may_have_acted() -> Problem {
    Problem::new(
        Kind::MayHaveActed,
        "the service did not say what came of it",
    )
    .effect(Effect::Maybe)
}

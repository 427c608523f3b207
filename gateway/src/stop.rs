//! The stop lane: from the decision straight to the vehicle service.
//!
//! SAFETY-STOP: nothing here waits for a store, a queue, a quota, an approval
//! or another call, and this module imports none of them; a test holds that.
//! The record is written beside the stop, never before it.

use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use interlock_policies::ResourceFacts;
use interlock_surface::{Params, Row};
use tracing::error;
use uuid::Uuid;

use crate::audit::{self, Audit};
use crate::authorize::Permit;
use crate::clock::Clock;
use crate::crash::{CrashAt, CrashPoint};
use crate::edge::headers::upstream_to_downstream;
use crate::edge::query::Query;
use crate::effect::Effect;
use crate::grant::{Crossing, Mint};
use crate::pipeline::forward as crossing;
use crate::pipeline::{call_record, outcome};
use crate::problem::{Kind, Problem};
use crate::reply::{self, Reply};
use crate::telemetry::names;
use crate::upstream::{Answer, Outcome, STOP_ANSWER_BYTES, StopCall, Timeouts, Upstreams};

/// What a stop needs, and nothing else.
pub struct StopLane {
    /// Connections of their own to the services.
    pub upstreams: Arc<Upstreams>,
    /// What the services trust.
    pub mint: Arc<Mint>,
    /// Records, written beside the stop.
    pub audit: Arc<Audit>,
    /// How long a stop may take.
    pub timeouts: Arc<Timeouts>,
    /// Where a test ends this process.
    pub crash: CrashAt,
    /// The present.
    pub clock: Arc<dyn Clock>,
}

/// A permitted stop.
#[derive(Debug)]
pub struct Stop {
    /// The right.
    pub permit: Permit,
    /// Path parameters.
    pub params: Params,
    /// Headers that may pass.
    pub headers: HeaderMap,
    /// Query parameters, each one the row declares.
    pub query: Query,
    /// The body as inspected.
    pub body: Bytes,
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// What was judged.
    pub resource: Arc<ResourceFacts>,
}

impl StopLane {
    /// Delivers a stop, again and again inside its budget and to every address
    /// of its service, until one says that it is done.
    ///
    /// # Errors
    /// 503 `not-stopped` when it reached nobody, 504 `may-not-have-stopped`
    /// when nobody knows.
    pub async fn deliver(&self, stop: Stop) -> Result<Reply, Problem> {
        let row = stop.permit.row();
        let now = self.clock.now();
        let operation = Uuid::now_v7();
        let mut intent = call_record(audit::Kind::Intent, now, &stop.permit, &stop.resource);
        intent.operation = Some(operation);
        let _recorded = self.audit.spool(intent.clone());
        self.crash.reached(CrashPoint::StopBeforeSend);
        let (answer, effect) = match self.send(&stop, operation).await {
            Ok(Outcome::Answered(response)) => {
                match Answer::read(response, STOP_ANSWER_BYTES).await {
                    Ok(answer) => told(row, answer),
                    Err(cause) => (Err(unanswered(row, &cause)), Effect::Maybe),
                }
            }
            Ok(Outcome::NotSent { cause }) => (Err(undelivered(row, &cause)), Effect::None),
            Ok(Outcome::Unknown { cause }) => (Err(unanswered(row, &cause)), Effect::Maybe),
            Err(cause) => (Err(undelivered(row, &cause)), Effect::None),
        };
        self.crash.reached(CrashPoint::StopAfterSend);
        let result = match (&answer, effect) {
            (Ok(_), Effect::Done) => "done",
            (Ok(_), _) => "refused",
            (Err(_), Effect::None) => "not_stopped",
            (Err(_), _) => "unknown",
        };
        metrics::counter!(names::STOPS, "row" => row.name, "result" => result).increment(1);
        let status = match &answer {
            Ok(reply) => reply.status().as_u16(),
            Err(problem) => problem.status(),
        };
        let at = self.clock.now();
        let _recorded = self.audit.spool(outcome(intent, at, status, effect));
        answer
    }

    async fn send(&self, stop: &Stop, operation: Uuid) -> Result<Outcome, Problem> {
        let row = stop.permit.row();
        let now = self.clock.now();
        let path_and_query = crossing::path_and_query(row, &stop.params, &stop.query)?;
        let timeout = self.timeouts.of(row.timeout);
        let grant = self.mint.permitted(
            &stop.permit,
            &Crossing {
                row,
                path_and_query: path_and_query.as_str(),
                body: &stop.body,
                operation: Some(operation),
                now,
                deadline: crossing::deadline(now, timeout),
                approval: None,
            },
        )?;
        let mut headers = stop.headers.clone();
        if !stop.body.is_empty() {
            let json = http::HeaderValue::from_static("application/json");
            headers.insert(http::header::CONTENT_TYPE, json);
        }
        let call = StopCall {
            method: crossing::method(row),
            path_and_query,
            headers,
            grant,
            client: Some(stop.peer.ip()),
            body: stop.body.clone(),
        };
        Ok(self
            .upstreams
            .forward_stop(row.service, &call, timeout)
            .await)
    }
}

/// What a service's answer to a stop means to its caller. Only its own word
/// on the stop passes; that it could not, or does not trust us, is ours to say.
fn told(row: &Row, answer: Answer) -> (Result<Reply, Problem>, Effect) {
    let effect = answer.effect();
    let status = answer.status;
    match effect {
        Effect::Maybe => (Err(unanswered(row, &Said(status))), effect),
        Effect::None if status == StatusCode::UNAUTHORIZED || status.is_server_error() => {
            (Err(undelivered(row, &Said(status))), effect)
        }
        Effect::None | Effect::Done => {
            let headers = upstream_to_downstream(&answer.headers);
            (Ok(reply::told(status, headers, answer.body)), effect)
        }
    }
}

/// A status as the cause of a failed stop.
struct Said(StatusCode);

impl Display for Said {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "the service answered {}", self.0.as_u16())
    }
}

fn undelivered(row: &Row, cause: &dyn Display) -> Problem {
    error!(%cause, alarm = "not-stopped", row = row.name, "a stop reached no vehicle");
    Problem::new(
        Kind::NotStopped,
        "the stop could not be delivered to the vehicle; use the vehicle's own stop",
    )
}

fn unanswered(row: &Row, cause: &dyn Display) -> Problem {
    error!(%cause, alarm = "may-not-have-stopped", row = row.name, "a stop got no answer");
    Problem::new(
        Kind::MayNotHaveStopped,
        "the stop was sent and nobody knows what came of it; use the vehicle's own stop",
    )
    .effect(Effect::Maybe)
}

//! The stop lane: from the decision straight to the vehicle service.
//!
//! SAFETY-STOP: nothing here waits for a store, a queue, a quota, an approval
//! or another call, and this module imports none of them; a test holds that.
//! The record is written beside the stop, never before it.

use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body_util::Either;
use interlock_policies::ResourceFacts;
use interlock_surface::Params;
use uuid::Uuid;

use crate::audit::{self, Audit};
use crate::authorize::Permit;
use crate::clock::Clock;
use crate::edge::headers::upstream_to_downstream;
use crate::effect::Effect;
use crate::grant::{GrantFacts, Mint, body_digest};
use crate::pipeline::{call_record, crossing};
use crate::problem::{Kind, Problem};
use crate::reply::Reply;
use crate::telemetry;
use crate::upstream::{Outcome, StopCall, Upstreams};

/// What a stop needs, and nothing else.
pub struct StopLane {
    /// Connections of their own to the services.
    pub upstreams: Arc<Upstreams>,
    /// What the services trust.
    pub mint: Arc<Mint>,
    /// Records, written beside the stop.
    pub audit: Arc<Audit>,
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
    /// The body as inspected.
    pub body: Bytes,
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// What was judged.
    pub resource: ResourceFacts,
}

impl StopLane {
    /// Delivers a stop, again and again inside its budget as long as nothing
    /// was sent.
    ///
    /// # Errors
    /// 503 `not-stopped` when it reached nobody, 504 `may-not-have-stopped`
    /// when nobody knows.
    pub async fn deliver(&self, stop: Stop) -> Result<Reply, Problem> {
        let began = std::time::Instant::now();
        let row = stop.permit.row();
        let now = self.clock.now();
        let operation = Uuid::now_v7();
        let mut intent = call_record(audit::Kind::Intent, now, &stop.permit, &stop.resource);
        intent.operation = Some(operation);
        let _recorded = self.audit.spool(intent.clone());
        let outcome = self.send(&stop, operation).await?;
        metrics::histogram!(telemetry::STOP_SECONDS).record(began.elapsed().as_secs_f64());
        let (answer, effect) = match outcome {
            Outcome::Answered(response) => {
                let effect = if response.status().is_success() {
                    Effect::Done
                } else {
                    Effect::Maybe
                };
                let (mut parts, body) = response.into_parts();
                parts.headers = upstream_to_downstream(&parts.headers);
                (Ok(Response::from_parts(parts, Either::Right(body))), effect)
            }
            Outcome::NotSent { cause } => {
                tracing::error!(%cause, alarm = "not-stopped", row = row.name, "a stop reached nobody");
                (Err(not_stopped()), Effect::None)
            }
            Outcome::Unknown { cause } => {
                tracing::error!(%cause, alarm = "may-not-have-stopped", row = row.name, "a stop got no answer");
                (Err(may_not_have_stopped()), Effect::Maybe)
            }
        };
        let status = match &answer {
            Ok(reply) => reply.status().as_u16(),
            Err(problem) => problem.status(),
        };
        let at = self.clock.now();
        let _recorded = self.audit.spool(crossing::outcome(intent, at, status, effect));
        answer
    }

    async fn send(&self, stop: &Stop, operation: Uuid) -> Result<Outcome, Problem> {
        let row = stop.permit.row();
        let now = self.clock.now();
        let path_and_query = crossing::path_and_query(row, &stop.params, &[])?;
        let evidence = stop.permit.evidence();
        let caller = stop.permit.caller();
        let grant = self.mint.grant(&GrantFacts {
            service: row.service,
            id: Uuid::new_v4(),
            issued_at: now,
            caller_kind: caller.kind.as_str(),
            caller: &caller.identity,
            row: row.name,
            action: row.action.unwrap_or(row.name),
            method: row.method.as_str(),
            path: path_and_query.as_str(),
            body: &body_digest(&stop.body),
            bundle: &evidence.bundle,
            registry: evidence.registry,
            decision: evidence.decision,
            operation: Some(operation),
            asked_at: evidence.asked_at,
            deadline: crossing::deadline(now, row.timeout),
            approval: None,
        })?;
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
        let budget = crossing::budget(row.timeout);
        Ok(self.upstreams.forward_stop(row.service, &call, &budget).await)
    }
}

fn not_stopped() -> Problem {
    Problem::new(
        Kind::NotStopped,
        "the stop could not be delivered: the vehicle service was not reached",
    )
}

fn may_not_have_stopped() -> Problem {
    Problem::new(
        Kind::MayNotHaveStopped,
        "the stop was sent and no answer came back",
    )
    .effect(Effect::Maybe)
}

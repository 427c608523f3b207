//! The second listener: health, readiness, metrics, policy and audit state,
//! and the registry feed of the services. Loopback or an operators' network.

mod evaluations;
mod feed;
mod feed_token;

use std::sync::Arc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::request::Parts;
use http::{Method, Request};
use http_body_util::{BodyExt, Limited};
use interlock_surface::{Listener, Match, find};
use serde_json::json;

use crate::edge::{self, Clean, EdgeRules};
use crate::gateway::Gateway;
use crate::health;
use crate::problem::{Kind, Problem};
use crate::reply::{self, Reply};
use crate::server::{Peer, RequestBody, RequestBodyError};
use crate::telemetry::{Metrics, names};

pub use evaluations::Evaluations;
pub use feed::Feed;

/// What the ops listener needs beside the gateway.
pub struct Ops {
    /// The gateway it tells about.
    pub gateway: Arc<Gateway>,
    /// Its metrics.
    pub metrics: Metrics,
    /// Who may feed the registry.
    pub feed: Feed,
    /// What answers services about their callers.
    pub evaluations: Evaluations,
}

/// Answers one request of the ops listener.
pub async fn handle(ops: Arc<Ops>, request: Request<RequestBody>, peer: Peer) -> Reply {
    let head = request.method() == Method::HEAD;
    let (parts, body) = request.into_parts();
    let clean = edge::clean(&parts, peer.address, &EdgeRules::operations());
    let clean = clean.and_then(|clean| clean.readable().map(|()| clean));
    let answer = match clean {
        Ok(clean) => serve(&ops, &parts, body, &clean)
            .await
            .unwrap_or_else(|problem| reply::problem(&problem)),
        // As on the public listener: what can be read in two ways is refused,
        // and nothing behind it is read.
        Err(cause) => reply::last(reply::problem(&cause.into())),
    };
    if head {
        reply::without_body(answer)
    } else {
        answer
    }
}

async fn serve(
    ops: &Ops,
    parts: &Parts,
    body: RequestBody,
    clean: &Clean,
) -> Result<Reply, Problem> {
    let path = clean.path();
    let (row, params) = match find(Listener::Ops, clean.method().as_str(), path) {
        Match::Found { rows, params, .. } => (rows.any(), params),
        Match::MethodNotAllowed { allow } => return Err(Problem::method_not_allowed(allow)),
        Match::NotFound => return Err(Problem::not_found()),
    };
    clean.query_for(row)?;
    let gateway = &ops.gateway;
    match row.name {
        "ops.live" => Ok(reply::json(200, &json!({ "live": true }))),
        "ops.ready" => {
            let (ready, body) = health::readiness(gateway).await;
            Ok(reply::json(if ready { 200 } else { 503 }, &body))
        }
        "ops.metrics" => Ok(metrics(ops)),
        "ops.policy" => Ok(policy(gateway)),
        "ops.audit" => Ok(reply::json(200, &json!(*gateway.audit.head()))),
        "ops.evaluations"
        | "ops.registry.put"
        | "ops.registry.delete"
        | "ops.registry.heartbeat" => {
            let bytes = whole(body, row.body_limit).await?;
            let call = feed::FeedCall {
                row,
                params: &params,
                path_and_query: parts
                    .uri
                    .path_and_query()
                    .map_or(path, |text| text.as_str()),
                headers: &parts.headers,
                body: &bytes,
            };
            if row.name == "ops.evaluations" {
                let service = ops.feed.service(gateway, &call)?;
                return ops.evaluations.answer(gateway, row, &service, &bytes).await;
            }
            ops.feed.take(gateway, call).await
        }
        other => {
            tracing::error!(row = other, "an ops row is served by nobody");
            Err(Problem::new(Kind::Internal, "this row is served by nobody"))
        }
    }
}

fn metrics(ops: &Ops) -> Reply {
    let gateway = &ops.gateway;
    let now = gateway.clock.now();
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a float")]
    metrics::gauge!(names::REGISTRY_OBJECTS).set(gateway.registry.len() as f64);
    for (owner, beat) in gateway.registry.heartbeats().iter() {
        let age = now.duration_since(beat.at).as_secs_f64();
        metrics::gauge!(names::REGISTRY_AGE_SECONDS, "owner" => owner.clone()).set(age);
    }
    let mut reply = reply::bytes(200, Bytes::from(ops.metrics.render()));
    reply.headers_mut().insert(
        CONTENT_TYPE,
        HeaderValue::from_static("text/plain; version=0.0.4"),
    );
    reply
}

fn policy(gateway: &Gateway) -> Reply {
    let active = gateway.policies.active();
    let refused = gateway.policies.refused();
    let text = refused
        .as_ref()
        .map(|refusal| refusal.diagnostics.to_string());
    reply::json(
        200,
        &json!({
            "hash": active.bundle.hash(),
            "since": active.since,
            "policies": active.bundle.len(),
            "refused": refused,
            "refusedText": text,
        }),
    )
}

async fn whole(body: RequestBody, limit: u32) -> Result<Bytes, Problem> {
    match Limited::new(body, limit as usize).collect().await {
        Ok(body) => Ok(body.to_bytes()),
        Err(cause) if cause.is::<http_body_util::LengthLimitError>() => Err(Problem::new(
            Kind::BodyTooLarge,
            format!("at most {limit} bytes are accepted here"),
        )),
        Err(cause) if matches!(cause.downcast_ref(), Some(RequestBodyError::Stalled)) => Err(
            Problem::new(Kind::RequestTimeout, "the body did not arrive in time"),
        ),
        Err(_) => Err(Problem::invalid_request(vec![
            "the body broke off before its end".to_owned(),
        ])),
    }
}

//! Step 9: what crosses to a service, under a permit and with a grant.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method};
use interlock_surface::{Params, Row, Timeout};
use jiff::{SignedDuration, Timestamp};
use uuid::Uuid;

use crate::authorize::Permit;
use crate::gateway::Gateway;
use crate::grant::{ApprovalFacts, GrantFacts, Mint, body_digest};
use crate::problem::{Kind, Problem};
use crate::upstream::{Budget, Lane, Outbound, OutboundBody, Outcome, Upstreams};

/// A call to a service. The row is the one called there: for a plan its
/// preview, for a dispatch the write it becomes.
#[derive(Debug)]
pub(crate) struct Forward<'a> {
    pub(crate) row: &'static Row,
    pub(crate) params: &'a Params,
    pub(crate) query: &'a [(String, String)],
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) operation: Option<Uuid>,
    pub(crate) asked_at: Timestamp,
    pub(crate) approval: Option<ApprovalFacts<'a>>,
    pub(crate) peer: SocketAddr,
    pub(crate) now: Timestamp,
}

/// Sends a call to its service. The permit is spent.
///
/// # Errors
/// When the call cannot be put together: nothing was sent.
pub(crate) async fn forward(
    gateway: &Gateway,
    permit: Permit,
    call: Forward<'_>,
) -> Result<Outcome, Problem> {
    let budget = budget(call.row.timeout);
    let service = call.row.service;
    let outbound = outbound(&gateway.mint, &permit, call)?;
    Ok(send(&gateway.upstreams, service, outbound, &budget).await)
}

async fn send(
    upstreams: &Upstreams,
    service: &str,
    outbound: Outbound,
    budget: &Budget,
) -> Outcome {
    upstreams.forward(Lane::Normal, service, outbound, budget).await
}

/// Puts a call together: the path from the row and its parameters, never from
/// raw text; the body as inspected; the grant over exactly these.
pub(crate) fn outbound(
    mint: &Mint,
    permit: &Permit,
    call: Forward<'_>,
) -> Result<Outbound, Problem> {
    let path_and_query = path_and_query(call.row, call.params, call.query)?;
    let evidence = permit.evidence();
    let caller = permit.caller();
    let grant = mint.grant(&GrantFacts {
        service: call.row.service,
        id: Uuid::new_v4(),
        issued_at: call.now,
        caller_kind: caller.kind.as_str(),
        caller: &caller.identity,
        row: call.row.name,
        action: permit.row().action.unwrap_or(call.row.name),
        method: call.row.method.as_str(),
        path: path_and_query.as_str(),
        body: &body_digest(&call.body),
        bundle: &evidence.bundle,
        registry: evidence.registry,
        decision: evidence.decision,
        operation: call.operation,
        asked_at: call.asked_at,
        deadline: deadline(call.now, call.row.timeout),
        approval: call.approval,
    })?;
    let mut headers = call.headers;
    if !call.body.is_empty() {
        headers.insert(
            http::header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        );
    }
    Ok(Outbound {
        method: method(call.row),
        path_and_query,
        headers,
        grant,
        client: Some(call.peer.ip()),
        body: OutboundBody::whole(call.body),
        stream: call.row.stream,
    })
}

/// The deadlines of a row as the upstream client takes them.
pub(crate) fn budget(timeout: &Timeout) -> Budget {
    let millis = |ms: u32| Duration::from_millis(ms.into());
    Budget {
        connect: millis(timeout.connect_ms),
        attempt: millis(timeout.attempt_ms),
        total: millis(timeout.total_ms),
    }
}

/// When the gateway stops waiting.
pub(crate) fn deadline(now: Timestamp, timeout: &Timeout) -> Timestamp {
    now.checked_add(SignedDuration::from_millis(timeout.total_ms.into()))
        .unwrap_or(Timestamp::MAX)
}

pub(crate) fn method(row: &Row) -> Method {
    // Every method of the table is a token.
    Method::from_bytes(row.method.as_str().as_bytes()).unwrap_or_default()
}

pub(crate) fn path_and_query(
    row: &'static Row,
    params: &Params,
    query: &[(String, String)],
) -> Result<PathAndQuery, Problem> {
    let mut text = params.render(row).map_err(|cause| unbuilt(&cause))?;
    for (at, (name, value)) in query.iter().enumerate() {
        text.push(if at == 0 { '?' } else { '&' });
        text.push_str(&crate::edge::query::encode(name));
        text.push('=');
        text.push_str(&crate::edge::query::encode(value));
    }
    PathAndQuery::try_from(text).map_err(|cause| unbuilt(&cause))
}

fn unbuilt(cause: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%cause, "a call could not be put together");
    Problem::new(Kind::Internal, "the call to the service could not be put together")
}

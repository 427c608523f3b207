//! Step 9: what crosses to a service, under a permit and with a grant.

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderValue, Method};
use interlock_surface::{Params, Row, Timeout};
use jiff::{SignedDuration, Timestamp};
use std::net::SocketAddr;
use uuid::Uuid;

use crate::authorize::Permit;
use crate::edge::query::Query;
use crate::gateway::Gateway;
use crate::grant::{ApprovalFacts, Crossing, Mint};
use crate::problem::{Kind, Problem};
use crate::upstream::{Lane, Outbound, OutboundBody, Outcome};

/// A call to a service. The row is the one called there: for a plan its
/// preview, for a dispatch the write it becomes.
#[derive(Clone, Debug)]
pub(crate) struct Forward<'a> {
    pub(crate) row: &'static Row,
    pub(crate) params: &'a Params,
    pub(crate) query: &'a Query,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) operation: Option<Uuid>,
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
    let timeout = gateway.timeouts.of(call.row.timeout);
    let service = call.row.service;
    let outbound = outbound(&gateway.mint, &permit, call, timeout)?;
    Ok(gateway
        .upstreams
        .forward(Lane::Normal, service, outbound, timeout)
        .await)
}

/// Puts a call together: the path from the row and its parameters, never from
/// raw text; the body as inspected; the grant over exactly these.
fn outbound(
    mint: &Mint,
    permit: &Permit,
    call: Forward<'_>,
    timeout: &Timeout,
) -> Result<Outbound, Problem> {
    if !covers(permit.row(), call.row) {
        return Err(unbuilt(&"the permit is for another row"));
    }
    let path_and_query = path_and_query(call.row, call.params, call.query)?;
    let grant = mint.permitted(
        permit,
        &Crossing {
            row: call.row,
            path_and_query: path_and_query.as_str(),
            body: &call.body,
            operation: call.operation,
            now: call.now,
            deadline: deadline(call.now, timeout),
            approval: call.approval,
        },
    )?;
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
        repeatable: call.row.class.is_read(),
    })
}

/// A permit covers its own row, and the row that it previews or becomes.
fn covers(permitted: &Row, called: &Row) -> bool {
    let named = [permitted.preview, permitted.becomes];
    permitted == called || named.contains(&Some(called.name))
}

/// When the gateway stops waiting.
pub(crate) fn deadline(now: Timestamp, timeout: &Timeout) -> Timestamp {
    let total = SignedDuration::from_millis(timeout.total_ms.into());
    now.checked_add(total).unwrap_or(Timestamp::MAX)
}

pub(crate) fn method(row: &Row) -> Method {
    // Every method of the table is a token.
    Method::from_bytes(row.method.as_str().as_bytes()).unwrap_or_default()
}

pub(crate) fn path_and_query(
    row: &'static Row,
    params: &Params,
    query: &Query,
) -> Result<PathAndQuery, Problem> {
    let mut text = params.render(row).map_err(|cause| unbuilt(&cause))?;
    if !query.is_empty() {
        text.push('?');
        text.push_str(&query.render());
    }
    PathAndQuery::try_from(text).map_err(|cause| unbuilt(&cause))
}

fn unbuilt(cause: &dyn std::fmt::Display) -> Problem {
    tracing::error!(%cause, "a call could not be put together");
    Problem::new(
        Kind::Internal,
        "the call to the service could not be put together",
    )
}

/// Asks a service to settle an operation: the one call that no caller's permit
/// stands behind, so it goes to an internal row and to nothing else.
///
/// # Errors
/// When the call cannot be put together, or the row is not internal.
pub(crate) async fn settle(
    gateway: &Gateway,
    row: &'static Row,
    params: &Params,
) -> Result<Outcome, Problem> {
    let now = gateway.clock.now();
    let timeout = gateway.timeouts.of(row.timeout);
    let path_and_query = path_and_query(row, params, &Query::default())?;
    let grant = gateway.mint.settling(
        &gateway.instance,
        gateway.policies.active().bundle.hash(),
        &Crossing {
            row,
            path_and_query: path_and_query.as_str(),
            body: &[],
            operation: params
                .get("operation")
                .and_then(|id| Uuid::try_parse(id).ok()),
            now,
            deadline: deadline(now, timeout),
            approval: None,
        },
    )?;
    let outbound = Outbound {
        method: method(row),
        path_and_query,
        headers: HeaderMap::new(),
        grant,
        client: None,
        body: OutboundBody::whole(Bytes::new()),
        stream: false,
        // One replica settles what another one left.
        repeatable: true,
    };
    Ok(gateway
        .upstreams
        .forward(Lane::Normal, row.service, outbound, timeout)
        .await)
}

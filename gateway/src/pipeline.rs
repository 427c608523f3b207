//! The security order as one straight function.
//!
//! Each step consumes the proof of the step before; `docs/ARCHITECTURE.md`
//! shows them as a table. Nothing outside the process is touched before the
//! decision, except that a plan is read once, since it is judged on its record.

mod call;
mod conclude;
mod forward;
mod keyed;
mod target;

use std::net::SocketAddr;
use std::sync::Arc;

use http::request::Parts;
use http::{Method, Request};
use hyper::body::Incoming;
use interlock_policies::{ContextFacts, Mode, PrincipalKind};
use interlock_surface::{Candidates, Class, Listener, Match, Params, find};

use crate::authn::Caller;
use crate::authorize::Question;
use crate::edge::{self, Clean};
use crate::gateway::Gateway;
use crate::idempotency::IdempotencyKey;
use crate::problem::Problem;
use crate::reply::{self, Reply};

pub use call::{Call, Trail};
pub(crate) use forward::{Forward, forward};
pub(crate) use keyed::{Ended, Fate};
use target::Target;

/// Answers one request of the public listener.
pub async fn handle(
    gateway: Arc<Gateway>,
    request: Request<Incoming>,
    peer: SocketAddr,
) -> Reply {
    let (parts, body) = request.into_parts();
    let head = parts.method == Method::HEAD;
    let mut trail = Trail::new(gateway.clock.now(), &parts);
    let answer = match serve(&gateway, parts, body, peer, &mut trail).await {
        Ok(answer) => answer,
        Err(problem) => {
            trail.refused(&gateway, &problem);
            reply::problem(&problem)
        }
    };
    trail.count(&answer);
    if head { reply::without_body(answer) } else { answer }
}

async fn serve(
    gateway: &Arc<Gateway>,
    parts: Parts,
    body: Incoming,
    peer: SocketAddr,
    trail: &mut Trail,
) -> Result<Reply, Problem> {
    let now = trail.at;
    // 1. One canonical form, or nothing.
    let clean = edge::clean(&parts, peer, &gateway.edge)?;
    // 2. What is not in the table does not exist.
    let (rows, params) = classify(&clean)?;
    trail.rows(rows);
    let _place = gateway.admission.enter(rows.any().class)?;
    // 3. Who asks.
    let caller = gateway.authn.caller(&parts.headers, now).await?;
    trail.caller(&caller);
    admit(&clean, rows, &caller)?;
    let key = IdempotencyKey::of(&parts.headers)?;
    // 4. What is asked, in the bytes that will be sent.
    let asked = edge::body::read(rows, &parts.headers, body, gateway.limits.body_read).await?;
    let row = asked.row();
    trail.row(row);
    let query = clean.query_for(row)?.pairs().to_vec();
    // 5. Whether.
    let target = Target::find(gateway, row, &params, &caller, now).await?;
    let context = ContextFacts {
        mode: gateway.authn.mode(),
        loopback: clean.loopback(),
        kind: row.kind.map(str::to_owned),
        ttl_ms: 0,
        idempotency_key: key.is_some(),
    };
    let question = Question {
        caller: &caller,
        row,
        resource: target.facts(),
        context: &context,
        registry: gateway.registry.generation(),
        now,
    };
    let permit = gateway
        .authorizer
        .authorize(&question)
        .map_err(|refused| trail.denied(refused))?;
    trail.permitted(&permit);
    // 6 to 10, by class.
    let call = Call {
        permit,
        asked,
        params,
        query,
        key,
        path: clean.path().to_owned(),
        headers: edge::headers::downstream_to_upstream(&parts.headers),
        if_match: call::if_match(&parts.headers)?,
        peer: clean.peer(),
        resource: target.facts().clone(),
        context,
        target,
    };
    match row.class {
        Class::SafetyWrite => gateway.stop.deliver(call.into_stop()?).await,
        Class::Read | Class::PrivateRead => conclude::read(gateway, call).await,
        Class::Record | Class::Plan | Class::Approval | Class::GatedWrite | Class::Write => {
            keyed::serve(gateway, call).await
        }
        Class::Internal => Err(Problem::not_found()),
    }
}

fn classify(clean: &Clean) -> Result<(Candidates, Params), Problem> {
    match find(Listener::Public, clean.method().as_str(), clean.path()) {
        Match::Found { rows, params, .. } => Ok((rows, params)),
        Match::MethodNotAllowed { allow } => Err(Problem::method_not_allowed(allow)),
        Match::NotFound => Err(Problem::not_found()),
    }
}

/// Only a read may do without a token, if policy opens it; and no foreign web
/// page may ask an open gateway for anything but a stop.
fn admit(clean: &Clean, rows: Candidates, caller: &Caller) -> Result<(), Problem> {
    for row in rows.iter() {
        clean.admits(row.class)?;
        if caller.kind == PrincipalKind::Anonymous && row.class != Class::Read {
            return Err(Problem::unauthenticated("a bearer token is needed here"));
        }
    }
    Ok(())
}

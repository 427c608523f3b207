//! The security order as one straight function.
//!
//! Each step consumes the proof of the step before; `docs/ARCHITECTURE.md`
//! shows them as a table. Nothing outside the process is touched before the
//! decision, except that a plan is read once, since it is judged on its record.

mod account;
pub(crate) mod anew;
mod asking;
mod call;
mod conclude;
pub(crate) mod forward;
mod keyed;
mod stops;
mod target;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use http::request::Parts;
use http::{HeaderMap, Method, Request};
use interlock_policies::PrincipalKind;
use interlock_surface::{Candidates, Class, Listener, Match, Params, Row, find};

use crate::authn::Caller;
use crate::edge::{self, Clean};
use crate::gateway::Gateway;
use crate::idempotency::IdempotencyKey;
use crate::problem::Problem;
use crate::reply::{self, Reply};
use crate::server::{Peer, RequestBody};

pub(crate) use anew::{Judged, send};
pub(crate) use call::{Call, outcome, record as call_record};
pub(crate) use conclude::{Spoken, Whole, doubtful, whole};
pub(crate) use forward::{Forward, forward, settle as settle_call};
pub(crate) use keyed::{Ended, Fate, Names, lease};
pub(crate) use target::{Target, judged};

use asking::Asking;
use call::Trail;

/// How long the body of a stop may take, where it has one.
const STOP_BODY: Duration = Duration::from_secs(2);

/// The header of the idempotency key.
const KEY: &str = "idempotency-key";

/// Answers one request of the public listener.
pub async fn handle(gateway: Arc<Gateway>, request: Request<RequestBody>, peer: Peer) -> Reply {
    let (parts, body) = request.into_parts();
    let head = parts.method == Method::HEAD;
    let mut trail = Trail::new(gateway.clock.now(), &parts);
    let answer = match serve(&gateway, parts, body, peer, &mut trail).await {
        Ok(answer) => answer,
        Err(problem) => {
            trail.refused(&gateway, &problem);
            let reply = reply::problem(&problem);
            if trail.is_unclean() {
                reply::last(reply)
            } else {
                reply
            }
        }
    };
    trail.count(&gateway, &answer);
    if head {
        reply::without_body(answer)
    } else {
        answer
    }
}

async fn serve(
    gateway: &Arc<Gateway>,
    parts: Parts,
    body: RequestBody,
    peer: Peer,
    trail: &mut Trail,
) -> Result<Reply, Problem> {
    let now = trail.at;
    // 1. One canonical form, or nothing.
    let clean = edge::clean(&parts, peer.address, &gateway.edge);
    let clean = clean.inspect_err(|_| trail.unclean())?;
    // 2. What is not in the table does not exist.
    let found = classify(&clean);
    // Where a kind may be a stop, nobody is turned away before it is known.
    let stop = |row: &'static Row| row.class == Class::SafetyWrite;
    let stops = found.as_ref().is_ok_and(|(rows, _)| rows.iter().any(stop));
    if !stops {
        clean.readable().inspect_err(|_| trail.unclean())?;
    }
    let (rows, params) = found?;
    trail.rows(rows);
    let entry = match stops {
        true => Class::SafetyWrite,
        false => rows.any().class,
    };
    let _entered = gateway.admission.enter(peer.admission, entry)?;
    // 3. Who asks.
    let caller = gateway.authn.caller(&parts.headers, now).await?;
    trail.caller(&caller);
    admit(&clean, rows, &caller)?;
    // 4. What is asked, in the bytes that will be sent.
    let patience = match rows.any().class {
        Class::SafetyWrite => gateway.limits.body_read.min(STOP_BODY),
        _ => gateway.limits.body_read,
    };
    let asked = edge::body::read(rows, &parts.headers, body, patience).await?;
    let row = asked.row();
    trail.row(row);
    clean.admits(row.class)?;
    let _place = match stops && row.class != Class::SafetyWrite {
        true => Some(gateway.admission.enter(peer.admission, row.class)?),
        false => None,
    };
    let key = key(row, &parts.headers)?;
    let asking = Asking {
        clean: &clean,
        headers: &parts.headers,
        row,
        params,
        caller: &caller,
        asked,
        key,
    };
    if row.class == Class::SafetyWrite {
        return Box::pin(stops::serve(gateway, asking, trail)).await;
    }
    let query = clean.query_for(row)?.clone();
    let query = account::named(gateway, row, query, &caller)?;
    // 5. Whether.
    let call = asking.judge(gateway, query, trail).await?;
    // 6 to 10, by class.
    // Boxed: no class carries the room along that another one needs.
    match row.class {
        Class::Read | Class::PrivateRead => Box::pin(conclude::read(gateway, call)).await,
        Class::Record | Class::Plan | Class::Approval | Class::GatedWrite | Class::Write => {
            Box::pin(keyed::serve(gateway, call)).await
        }
        // Stops went their own way above.
        Class::SafetyWrite | Class::Internal => Err(Problem::not_found()),
    }
}

fn classify(clean: &Clean) -> Result<(Candidates, Params), Problem> {
    match find(Listener::Public, clean.method().as_str(), clean.path()) {
        Match::Found { rows, params, .. } => Ok((rows, params)),
        Match::MethodNotAllowed { allow } => Err(Problem::method_not_allowed(allow)),
        Match::NotFound => Err(Problem::not_found()),
    }
}

/// The idempotency key. That of a stop is not even read: a stop is never
/// refused by its key, a malformed one included.
fn key(row: &Row, headers: &HeaderMap) -> Result<Option<IdempotencyKey>, Problem> {
    if row.class == Class::SafetyWrite {
        return Ok(None);
    }
    let lines = headers.get_all(KEY).iter().map(|line| line.as_bytes());
    Ok(IdempotencyKey::from_lines(lines)?)
}

/// Only a read may do without a token, if policy opens it; and no foreign web
/// page may ask an open gateway for anything but a stop.
fn admit(clean: &Clean, rows: Candidates, caller: &Caller) -> Result<(), Problem> {
    // One kind of a path may be a stop, which may come from anywhere.
    if !rows.iter().any(|row| clean.admits(row.class).is_ok()) {
        clean.admits(rows.any().class)?;
    }
    for row in rows.iter() {
        if caller.kind == PrincipalKind::Anonymous && row.class != Class::Read {
            return Err(Problem::unauthenticated("a bearer token is needed here"));
        }
    }
    Ok(())
}

//! Stops: one, or one in each account of a caller who names none.
//!
//! SAFETY-STOP: nothing that a caller leaves out or misspells in a query refuses
//! a stop. Who names no account stops in all of theirs.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::join_all;
use http::StatusCode;
use http_body_util::BodyExt;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;
use tracing::error;

use super::account::{self, ACCOUNT};
use super::asking::Asking;
use super::call::{Call, Trail};
use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::problem::{Kind, Problem};
use crate::reply::{self, Reply};
use crate::upstream::STOP_ANSWER_BYTES;

/// Where the answer of the first account has those of the others.
const OTHERS: &str = "others";

/// Where an answer of several accounts has the status of each.
const ACCOUNTS: &str = "accounts";

/// Stops of one caller under way at once: a part of the connections for stops, so
/// that other callers' stops find theirs.
const AT_ONCE: usize = 32;

/// Judges a stop and delivers it, in several accounts at once.
pub(super) async fn serve(
    gateway: &Arc<Gateway>,
    asking: Asking<'_>,
    trail: &mut Trail,
) -> Result<Reply, Problem> {
    let query = asking.clean.query_of(asking.row);
    let queries = account::each(gateway, asking.row, query, asking.caller);
    if queries.is_empty() {
        return Err(nowhere(asking.row.service));
    }
    let turns = Arc::new(Semaphore::new(AT_ONCE));
    if let [query] = queries.as_slice() {
        let call = asking.judge(gateway, query.clone(), trail).await?;
        return deliver(gateway, call, turns).await;
    }
    let (mut under_way, mut told) = (Vec::new(), Vec::new());
    for query in queries {
        let account = query.get(ACCOUNT).unwrap_or_default().to_owned();
        match asking.clone().judge(gateway, query, trail).await {
            Ok(call) => {
                let turns = Arc::clone(&turns);
                under_way.push(async { (account, deliver(gateway, call, turns).await) });
            }
            Err(problem) => told.push((account, Err(problem))),
        }
    }
    told.extend(join_all(under_way).await);
    // What the path names is in one of the accounts: who ended it says how it ended.
    let named = asking.row.params().next().is_some();
    let ended = told
        .iter()
        .position(|(_, answer)| status(answer).is_success());
    match ended {
        Some(index) if named => told.swap_remove(index).1,
        _ => together(told).await,
    }
}

/// A stop of everything, where no account is known. A registry that was lost
/// looks the same as a service without accounts, so nobody says that all stand.
fn nowhere(service: &str) -> Problem {
    error!(
        service,
        alarm = "not-stopped",
        "a stop of everything found no account"
    );
    Problem::new(
        Kind::NotStopped,
        "the gateway knows no account of this service, so that nothing was stopped; name the \
         account with the query parameter `account`, or use the vehicles' own stop",
    )
}

/// A stop goes on when its caller hangs up, and so does one that still waits for
/// its turn among the same caller's.
async fn deliver(
    gateway: &Arc<Gateway>,
    call: Call,
    turns: Arc<Semaphore>,
) -> Result<Reply, Problem> {
    let (lane, stop) = (Arc::clone(&gateway.stop), call.into_stop());
    let delivered = gateway.detached.run(async move {
        // Never closed; were it, the stop would go all the same.
        let _turn = turns.acquire().await;
        lane.deliver(stop).await
    });
    delivered.await.unwrap_or_else(|cause| {
        error!(%cause, alarm = "may-not-have-stopped", "a stop ended early");
        Err(Problem::new(
            Kind::MayNotHaveStopped,
            "the stop ended early; nobody knows how far it came",
        )
        .effect(Effect::Maybe))
    })
}

type Told = (String, Result<Reply, Problem>);

/// One answer of several: the worst of them, with the status of each account.
/// What the caller may not know of has no part in it.
async fn together(mut told: Vec<Told>) -> Result<Reply, Problem> {
    told.retain(|(_, answer)| status(answer) != StatusCode::NOT_FOUND);
    let statuses: Map<String, Value> = told
        .iter()
        .map(|(account, answer)| (account.clone(), status(answer).as_u16().into()))
        .collect();
    let stopped = told.iter().any(|(_, answer)| status(answer).is_success());
    let worst = told.iter().enumerate();
    let worst = worst.max_by_key(|(_, (_, answer))| status(answer));
    let Some(worst) = worst.map(|(index, _)| index) else {
        return Err(Problem::not_found());
    };
    let several = told.len() > 1;
    let (_, answer) = told.swap_remove(worst);
    match answer {
        Err(problem) if several => Err(match stopped {
            true => problem.effect(Effect::Maybe),
            false => problem,
        }
        .with(ACCOUNTS, Value::Object(statuses))),
        Ok(reply) if several && reply.status().is_success() => {
            let others = told.into_iter().filter_map(|(_, answer)| answer.ok());
            Ok(joined(reply, others, statuses).await)
        }
        answer => answer,
    }
}

fn status(answer: &Result<Reply, Problem>) -> StatusCode {
    match answer {
        Ok(reply) => reply.status(),
        Err(problem) => {
            StatusCode::from_u16(problem.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

/// The first answer, with the status of each account and, as far as one answer
/// has room for them, what those of the others say. Each was read whole by the
/// stop lane.
async fn joined(
    first: Reply,
    others: impl Iterator<Item = Reply>,
    statuses: Map<String, Value>,
) -> Reply {
    let status = first.status().as_u16();
    let mut whole = object(&bytes(first).await);
    let (mut more, mut room) = (Vec::new(), STOP_ANSWER_BYTES);
    for other in others {
        let other = bytes(other).await;
        match room.checked_sub(other.len()) {
            Some(left) => room = left,
            None => break,
        }
        more.push(Value::Object(object(&other)));
    }
    whole.insert(OTHERS.to_owned(), more.into());
    whole.insert(ACCOUNTS.to_owned(), statuses.into());
    reply::json(status, &Value::Object(whole))
}

async fn bytes(reply: Reply) -> Bytes {
    let collected = reply.into_body().collect().await;
    // Nothing can break off: the body is in memory.
    collected
        .map(|collected| collected.to_bytes())
        .unwrap_or_default()
}

/// The JSON object of an answer; an empty one where it is none.
fn object(bytes: &[u8]) -> Map<String, Value> {
    serde_json::from_slice(bytes).unwrap_or_default()
}

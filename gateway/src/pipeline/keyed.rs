//! Steps 6 to 10 for everything that is not a read and not a stop.
//!
//! The work runs detached from the connection: a caller that hangs up leaves
//! neither a consumed code nor a held key behind.

use std::future::Future;
use std::sync::Arc;

use interlock_surface::{Class, Idempotency, Row};
use jiff::{SignedDuration, Timestamp};
use tracing::{error, warn};
use uuid::Uuid;

use super::{Call, conclude};
use crate::crash::CrashPoint;
use crate::edge::fields;
use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::idempotency::{Fingerprint, KeyId, KeyRecord, StoredAnswer, Subject, Verdict, judge};
use crate::plans::{handlers, settle};
use crate::problem::{Kind, Problem};
use crate::reply::{self, Reply};
use crate::store::{Claim, Swap};
use crate::telemetry::names;

/// Body fields that are secrets: only their digest enters a fingerprint.
pub(crate) const SECRETS: [&str; 1] = ["approvalCode"];

/// How a call ended: what the caller is told, and what becomes of the key.
pub(crate) struct Ended {
    pub(crate) reply: Reply,
    pub(crate) fate: Fate,
}

/// What becomes of a key.
pub(crate) enum Fate {
    /// A repeat gets this answer.
    Answered(StoredAnswer),
    /// Nothing happened: the key is free again.
    Released,
    /// It may have happened: settled before anybody may try again.
    Unknown {
        /// What to look at.
        check: String,
    },
}

impl Ended {
    /// Nothing happened; the caller is told why.
    pub(crate) fn refused(problem: &Problem) -> Self {
        Ended {
            reply: reply::problem(problem),
            fate: Fate::Released,
        }
    }

    /// It happened; the caller and every repeat get the same.
    pub(crate) fn answered(answer: StoredAnswer) -> Self {
        Ended {
            reply: reply::restored(&answer),
            fate: Fate::Answered(answer),
        }
    }
}

/// The names under which one call is known: fixed before anything is claimed,
/// so that a settler can find out how it ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Names {
    /// What the service knows the attempt by.
    pub(crate) operation: Uuid,
    /// The plan it is about, or that it makes.
    pub(crate) plan: Option<Uuid>,
}

pub(super) async fn serve(gateway: &Arc<Gateway>, call: Call) -> Result<Reply, Problem> {
    let shared = Arc::clone(gateway);
    let work = gateway
        .detached
        .run(async move { claimed(&shared, call).await });
    match work.await {
        Ok(answer) => answer,
        Err(cause) => {
            error!(%cause, "a call ended early");
            Err(Problem::new(Kind::Internal, "the call ended early").effect(Effect::Maybe))
        }
    }
}

async fn claimed(gateway: &Arc<Gateway>, call: Call) -> Result<Reply, Problem> {
    let row = call.permit.row();
    let names = Names {
        operation: super::call::operation(),
        plan: match row.class {
            Class::Plan => Some(Uuid::now_v7()),
            _ => call.target.plan_id(),
        },
    };
    let Some(held) = hold(gateway, &call, names).await? else {
        return work(gateway, call, names).await.map(|ended| ended.reply);
    };
    let held = match held {
        Hold::Given(reply) => return Ok(reply),
        Hold::Held(held) => held,
    };
    // What was refused after the decision is refused like everything before
    // it: by its caller, who records it.
    let (fate, answer) = match work(gateway, call, names).await {
        Ok(ended) => (ended.fate, Ok(ended.reply)),
        Err(problem) => (Fate::Released, Err(problem)),
    };
    held.end(gateway, fate).await;
    gateway.crash.reached(CrashPoint::AfterKey);
    answer
}

/// An error is a refusal: nothing was sent.
fn work(
    gateway: &Arc<Gateway>,
    call: Call,
    names: Names,
) -> impl Future<Output = Result<Ended, Problem>> + Send {
    let gateway = Arc::clone(gateway);
    async move {
        match call.permit.row().class {
            Class::Plan => Box::pin(handlers::propose(&gateway, call, names)).await,
            Class::Approval => Box::pin(handlers::decide(&gateway, call, names)).await,
            Class::GatedWrite => Box::pin(handlers::dispatch(&gateway, call, names)).await,
            _ => Box::pin(conclude::write(&gateway, call, names)).await,
        }
    }
}

enum Hold {
    Given(Reply),
    Held(Held),
}

/// A key that this call holds.
struct Held {
    id: KeyId,
    record: KeyRecord,
}

/// Step 6. `None` when the call has no key, or is calming and the store is gone:
/// what calms a vehicle down does not wait for a store.
async fn hold(gateway: &Arc<Gateway>, call: &Call, names: Names) -> Result<Option<Hold>, Problem> {
    let Some((id, record)) = reservation(gateway, call, names)? else {
        return Ok(None);
    };
    match claim(gateway, id, record).await {
        Err(problem) if call.permit.row().calming && problem.kind() == Kind::StoreUnavailable => {
            Ok(None)
        }
        held => held.map(Some),
    }
}

/// The key of a call and the record that claims it.
fn reservation(
    gateway: &Gateway,
    call: &Call,
    names: Names,
) -> Result<Option<(KeyId, KeyRecord)>, Problem> {
    let row = call.permit.row();
    let key = match (&call.key, row.idempotency) {
        (_, Idempotency::Never) | (None, Idempotency::Honoured) => return Ok(None),
        (None, Idempotency::Required) => {
            let detail = "send an `Idempotency-Key` header";
            return Err(Problem::new(Kind::IdempotencyKeyRequired, detail));
        }
        (Some(key), _) => key,
    };
    let now = gateway.clock.now();
    let caller = &call.permit.caller().identity;
    let id = KeyId::new(caller, row.method.as_str(), &call.path, key);
    let subject = Subject {
        row: row.name.to_owned(),
        service: row.service.to_owned(),
        operation: names.operation,
        plan: names.plan,
    };
    let record = KeyRecord::reserve(
        Uuid::new_v4(),
        fingerprint(call)?,
        subject,
        gateway.instance.clone(),
        lease(gateway, row, now),
        now,
    );
    Ok(Some((id, record)))
}

/// Claims the key. One in doubt is settled once, then looked at again.
async fn claim(gateway: &Arc<Gateway>, id: KeyId, record: KeyRecord) -> Result<Hold, Problem> {
    let quota = gateway.limits.keys_per_caller;
    gateway.crash.reached(CrashPoint::BeforeClaim);
    for attempt in 0..2 {
        let now = gateway.clock.now();
        let existing = match gateway.store.keys.claim(&id, &record, now, quota).await? {
            Claim::Fresh => {
                counted("claimed");
                gateway.crash.reached(CrashPoint::AfterClaim);
                return Ok(Hold::Held(Held { id, record }));
            }
            Claim::OverQuota => {
                counted("over_quota");
                let detail = format!("you keep {quota} idempotency keys already");
                return Err(Problem::new(Kind::QuotaExceeded, detail).retry_after(60));
            }
            Claim::Existing(existing) => existing,
        };
        match judge(Some(&existing), &record.fingerprint, now) {
            Verdict::Unknown { .. } if attempt == 0 => {
                Box::pin(settle::key(gateway, &id, &existing)).await;
            }
            verdict => return taken(verdict),
        }
    }
    taken(Verdict::Running)
}

/// What a key that is taken means for the request that repeats it.
fn taken(verdict: Verdict<'_>) -> Result<Hold, Problem> {
    match verdict {
        Verdict::Replay(answer) => {
            counted("replayed");
            Ok(Hold::Given(reply::replay(answer)))
        }
        Verdict::Mismatch => {
            counted("mismatch");
            let detail = "this key was used for another request";
            Err(Problem::new(Kind::IdempotencyKeyReuse, detail))
        }
        Verdict::Running | Verdict::Free => {
            counted("running");
            let detail = "the same request is still being worked on";
            Err(Problem::new(Kind::RequestInProgress, detail)
                .effect(Effect::Maybe)
                .retry_after(1))
        }
        Verdict::Unknown { operation, check } => {
            counted("unknown");
            Err(Problem::new(Kind::OutcomeUnknown, check)
                .effect(Effect::Maybe)
                .with("operation", operation.to_string().into()))
        }
    }
}

impl Held {
    /// Step 10 for the key. A store that fails here is no reason to change the
    /// answer: the lease ends, and the key is settled from what happened.
    async fn end(self, gateway: &Gateway, fate: Fate) {
        let now = gateway.clock.now();
        let claim = self.record.claim;
        let keys = &gateway.store.keys;
        let ended = match fate {
            Fate::Answered(answer) => {
                keys.replace(&self.id, claim, &self.record.answered(answer))
                    .await
            }
            Fate::Unknown { check } => {
                keys.replace(&self.id, claim, &self.record.unknown(check, now))
                    .await
            }
            Fate::Released => keys.release(&self.id, claim).await,
        };
        match ended {
            Ok(Swap::Swapped) => {}
            Ok(Swap::Lost) => warn!("an idempotency key was settled before its call ended"),
            Err(cause) => error!(%cause, "an idempotency key was left to be settled"),
        }
    }
}

fn counted(result: &'static str) {
    metrics::counter!(names::CLAIMS, "result" => result).increment(1);
}

fn fingerprint(call: &Call) -> Result<Fingerprint, Problem> {
    let row = call.permit.row();
    let acting = call
        .asked
        .body()
        .and_then(|body| body.as_object())
        .map(|body| fields::acting(row, body));
    let query: Vec<(String, String)> = call
        .query
        .iter()
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    Ok(Fingerprint::of(acting.as_ref(), &query, &SECRETS)?)
}

/// Until when a call of this row is believed to be at work: its deadline here,
/// and a margin for the steps around it.
pub(crate) fn lease(gateway: &Gateway, row: &Row, now: Timestamp) -> Timestamp {
    let deadline = gateway.timeouts.of(row.timeout).gateway_ms;
    let work = SignedDuration::from_millis(deadline.into());
    now.checked_add(work + gateway.limits.lease_margin)
        .unwrap_or(Timestamp::MAX)
}

//! Sends a call, and decides it anew once where the service knows the object
//! better than the decision did.
//!
//! An object may be moved while a call to it is under way. Its service compares
//! the revision that was judged with its own record and answers `authz-stale`,
//! having done nothing; the registry follows within a second.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use interlock_policies::{ContextFacts, ResourceFacts};
use jiff::SignedDuration;
use serde::Deserialize;
use tokio::time::timeout;
use tracing::info;

use super::call::{record, refusal};
use super::conclude::{Whole, whole};
use super::forward::{Forward, forward};
use super::target::judged;
use crate::audit::{self, Record};
use crate::authorize::{Evidence, Permit, Question};
use crate::gateway::Gateway;
use crate::plans::ObjectRef;
use crate::problem::{Problem, TYPE_PREFIX};

/// The problem of a service that knows a newer revision.
const STALE: &str = "authz-stale";
/// How long that revision is waited for.
const PATIENCE: Duration = Duration::from_secs(1);

/// A decision, and what it takes to decide again.
#[derive(Debug)]
pub(crate) struct Judged {
    pub(crate) permit: Permit,
    pub(crate) resource: Arc<ResourceFacts>,
    pub(crate) context: ContextFacts,
    /// The registered object whose revision was judged; a plan's vehicle.
    pub(crate) object: ObjectRef,
    /// The record of the decision, as it was written.
    pub(crate) intent: Record,
}

/// What came of a call, with the decision that it was sent under.
pub(crate) struct Sent {
    pub(crate) whole: Whole,
    pub(crate) resource: Arc<ResourceFacts>,
    pub(crate) evidence: Arc<Evidence>,
    pub(crate) intent: Record,
}

#[derive(Deserialize)]
struct Stale {
    r#type: String,
    revision: u64,
}

/// Sends `call`. The permit is spent, and so is the one that a second decision
/// gives.
///
/// # Errors
/// When the call cannot be put together: nothing was sent.
pub(crate) async fn send(
    gateway: &Gateway,
    judged: Judged,
    call: Forward<'_>,
) -> Result<Sent, Problem> {
    let began = gateway.clock.now();
    let total = gateway.timeouts.of(call.row.timeout).total_ms;
    let evidence = Arc::clone(judged.permit.evidence());
    let (row, caller) = (judged.permit.row(), judged.permit.caller().clone());
    let again = call.clone();
    let outcome = forward(gateway, judged.permit, call).await?;
    let first = Sent {
        whole: whole(gateway, outcome).await,
        resource: judged.resource,
        evidence,
        intent: judged.intent,
    };
    let Some(revision) = stale(&first.whole) else {
        return Ok(first);
    };
    // A second attempt must end before the call counts as lost.
    let spent = gateway.clock.now().duration_since(began);
    if spent > SignedDuration::from_millis(i64::from(total / 2)) {
        return Ok(first);
    }
    let ObjectRef { kind, id } = &judged.object;
    let known = timeout(PATIENCE, gateway.registry.reaches(kind, id, revision)).await;
    info!(
        row = row.name,
        revision,
        known = known.is_ok(),
        "a decision was overtaken"
    );
    if known.is_err() {
        // Nothing is known that the service has not refused already.
        return Ok(first);
    }
    let now = gateway.clock.now();
    let registry = gateway.registry.generation();
    let resolved = gateway.registry.resolve(kind, id, now);
    let resource = Arc::new(ResourceFacts {
        proposer: first.resource.proposer.clone(),
        ..self::judged(first.resource.kind, &first.resource.id, resolved.as_ref())
    });
    let question = Question {
        caller: &caller,
        row,
        resource: &resource,
        context: &judged.context,
        registry,
        revision: resolved.map(|object| object.revision),
        // The caller asked when it asked: a stop in between counts.
        now: first.evidence.asked_at,
    };
    let permit = match gateway.authorizer.authorize(&question) {
        Ok(permit) => permit,
        Err(refused) => {
            let mut denied = refusal(row, &caller, &resource, &refused, now);
            denied.operation = first.intent.operation;
            gateway.audit.note(denied);
            return Ok(Sent {
                whole: Whole::NotSent(Problem::refusal(&refused)),
                evidence: refused.evidence,
                resource,
                intent: first.intent,
            });
        }
    };
    let mut intent = record(audit::Kind::Intent, now, &permit, &resource);
    intent.operation = first.intent.operation;
    intent.body_digest.clone_from(&first.intent.body_digest);
    // Nothing is sent unrecorded, except what calms a vehicle down.
    let _recorded = match row.calming {
        true => gateway.audit.spool(intent.clone()),
        false => gateway.audit.require(intent.clone()).await?,
    };
    let evidence = Arc::clone(permit.evidence());
    let outcome = forward(gateway, permit, Forward { now, ..again }).await?;
    Ok(Sent {
        whole: whole(gateway, outcome).await,
        resource,
        evidence,
        intent,
    })
}

/// The revision that a service has, where it says that the decision is old and
/// that it did nothing.
fn stale(whole: &Whole) -> Option<u64> {
    let Whole::Answered(spoken) = whole else {
        return None;
    };
    if spoken.status != StatusCode::CONFLICT || spoken.acted {
        return None;
    }
    let told: Stale = serde_json::from_slice(&spoken.body).ok()?;
    (told.r#type.strip_prefix(TYPE_PREFIX) == Some(STALE)).then_some(told.revision)
}

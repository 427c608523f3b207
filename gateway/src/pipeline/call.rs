//! A permitted call, and the trail that every call leaves.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use http::header::IF_MATCH;
use http::request::Parts;
use http::{HeaderMap, Uri};
use interlock_policies::{ContextFacts, ResourceFacts};
use interlock_surface::{Candidates, Class, Params, Row};
use jiff::Timestamp;
use tracing::info;
use uuid::Uuid;

use super::target::Target;
use crate::audit::{self, Principal, Record, Resource, Verdict};
use crate::authn::Caller;
use crate::authorize::{Evidence, Permit, Refusal, Refused};
use crate::edge::body::Asked;
use crate::edge::query::Query;
use crate::effect::Effect;
use crate::gateway::Gateway;
use crate::idempotency::IdempotencyKey;
use crate::plans::{ObjectRef, PlanDigest};
use crate::problem::{Kind, Problem};
use crate::reply::Reply;
use crate::stop::Stop;

/// A call that policy allows, with everything it takes to carry it out.
#[derive(Debug)]
pub(crate) struct Call {
    /// The right.
    pub permit: Permit,
    /// The row and the body that was inspected.
    pub asked: Asked,
    /// Path parameters.
    pub params: Params,
    /// Query parameters, each one the row declares.
    pub query: Query,
    /// The caller's idempotency key.
    pub key: Option<IdempotencyKey>,
    /// Canonical path.
    pub path: String,
    /// Headers that may pass to a service.
    pub headers: HeaderMap,
    /// The plan digest that the caller decides on.
    pub if_match: Option<PlanDigest>,
    /// The other end of the connection.
    pub peer: SocketAddr,
    /// What was judged.
    pub resource: Arc<ResourceFacts>,
    /// Under which circumstances.
    pub context: ContextFacts,
    /// The plan, where the call is about one.
    pub target: Target,
}

impl Call {
    /// The same call for the stop lane.
    pub(super) fn into_stop(self) -> Stop {
        Stop {
            body: self.asked.bytes().clone(),
            permit: self.permit,
            params: self.params,
            headers: self.headers,
            peer: self.peer,
            resource: self.resource,
            query: self.query,
        }
    }

    /// The registered object that the call is about: of a plan its vehicle.
    pub(crate) fn object(&self) -> ObjectRef {
        self.target.object()
    }

    /// The record of this call, so far without an outcome.
    pub(crate) fn record(&self, kind: audit::Kind, at: Timestamp) -> Record {
        record(kind, at, &self.permit, &self.resource)
    }
}

/// A record about a permitted call.
pub(crate) fn record(
    kind: audit::Kind,
    at: Timestamp,
    permit: &Permit,
    resource: &ResourceFacts,
) -> Record {
    let mut record = Record::new(kind, at);
    let evidence = permit.evidence();
    describe(&mut record, permit.row(), permit.caller());
    describe_decision(&mut record, evidence);
    record.decision = Some(Verdict::Allow);
    record.resource = Some(described(resource));
    record
}

/// A record about a call that was refused after it had been allowed.
pub(crate) fn refusal(
    row: &'static Row,
    caller: &Caller,
    resource: &ResourceFacts,
    refused: &Refused,
    at: Timestamp,
) -> Record {
    let mut record = Record::new(audit::Kind::Refusal, at);
    describe(&mut record, row, caller);
    describe_decision(&mut record, &refused.evidence);
    record.decision = Some(verdict(refused.refusal));
    record.resource = Some(described(resource));
    record
}

fn verdict(refusal: Refusal) -> Verdict {
    match refusal {
        Refusal::Broken => Verdict::Broken,
        _ => Verdict::Deny,
    }
}

fn described(resource: &ResourceFacts) -> Resource {
    Resource {
        id: resource.id.clone(),
        kind: resource.kind.as_str().into(),
    }
}

fn describe(record: &mut Record, row: &'static Row, caller: &Caller) {
    record.row = Some(row.name.into());
    record.class = Some(row.class.as_str().into());
    record.principal = Some(Principal {
        kind: caller.kind.as_str().into(),
        identity: Arc::clone(&caller.identity),
    });
}

fn describe_decision(record: &mut Record, evidence: &Evidence) {
    record.decision_id = Some(evidence.decision);
    record.reasons = evidence.reasons.iter().cloned().map(Into::into).collect();
    record.bundle = Some(Arc::clone(&evidence.bundle));
    record.registry_generation = Some(evidence.registry);
}

/// The digest in `If-Match`, bare or as an entity tag (RFC 9110 section 13.1.1).
///
/// # Errors
/// 400 when the header is there and names no digest.
pub(super) fn if_match(class: Class, headers: &HeaderMap) -> Result<Option<PlanDigest>, Problem> {
    if class != Class::Approval {
        return Ok(None);
    }
    let mut lines = headers.get_all(IF_MATCH).iter();
    let named = match (lines.next(), lines.next()) {
        (None, _) => return Ok(None),
        (Some(line), None) => line.to_str().ok(),
        (Some(_), Some(_)) => None,
    };
    match named.and_then(|text| PlanDigest::parse(text.trim_matches('"'))) {
        Some(digest) => Ok(Some(digest)),
        None => Err(Problem::new(
            Kind::InvalidHeader,
            "`If-Match` must hold the plan's digest once, 64 hexadecimal characters",
        )),
    }
}

/// What is known of a request while it goes through the steps, for the record,
/// the log and the metrics of how it ended.
pub(super) struct Trail {
    /// When the head came in.
    pub at: Timestamp,
    started: Instant,
    uri: Uri,
    row: Option<&'static Row>,
    caller: Option<Arc<Caller>>,
    resource: Option<Arc<ResourceFacts>>,
    evidence: Option<Arc<Evidence>>,
    verdict: Option<Verdict>,
    unclean: bool,
}

impl Trail {
    pub(super) fn new(at: Timestamp, parts: &Parts) -> Self {
        Trail {
            at,
            started: Instant::now(),
            uri: parts.uri.clone(),
            row: None,
            caller: None,
            resource: None,
            evidence: None,
            verdict: None,
            unclean: false,
        }
    }

    /// The request has no canonical form.
    pub(super) fn unclean(&mut self) {
        self.unclean = true;
    }

    /// Whether it had none: then nobody can say what follows on its connection.
    pub(super) fn is_unclean(&self) -> bool {
        self.unclean
    }

    pub(super) fn rows(&mut self, rows: Candidates) {
        if !rows.by_kind() {
            self.row = Some(rows.any());
        }
    }

    pub(super) fn row(&mut self, row: &'static Row) {
        self.row = Some(row);
    }

    pub(super) fn caller(&mut self, caller: &Arc<Caller>) {
        self.caller = Some(Arc::clone(caller));
    }

    pub(super) fn resource(&mut self, resource: &Arc<ResourceFacts>) {
        self.resource = Some(Arc::clone(resource));
    }

    pub(super) fn permitted(&mut self, permit: &Permit) {
        self.evidence = Some(Arc::clone(permit.evidence()));
        self.verdict = Some(Verdict::Allow);
    }

    /// Notes a refusal and turns it into its problem.
    pub(super) fn denied(&mut self, refused: Refused) -> Problem {
        self.verdict = Some(verdict(refused.refusal));
        let problem = Problem::refusal(&refused);
        self.evidence = Some(refused.evidence);
        problem
    }

    /// Records and logs a problem, once.
    pub(super) fn refused(&self, gateway: &Gateway, problem: &Problem) {
        let facts = problem.kind().facts();
        let mut record = Record::new(audit::Kind::Refusal, self.at);
        record.row = self.row.map(|row| row.name.into());
        record.class = self.row.map(|row| row.class.as_str().into());
        record.principal = self.caller.as_ref().map(|caller| Principal {
            kind: caller.kind.as_str().into(),
            identity: Arc::clone(&caller.identity),
        });
        record.resource = self.resource.as_deref().map(described);
        if let Some(evidence) = &self.evidence {
            describe_decision(&mut record, evidence);
        }
        record.decision = self.verdict;
        record.reasons.push(facts.slug.into());
        record.status = Some(facts.status);
        record.effect = Some(problem.effect_was());
        if self.row.is_none() {
            record = record.with_raw_path(self.uri.path());
        }
        gateway.audit.note(record);
        info!(
            http.status = facts.status,
            problem = facts.slug,
            row = self.row.map(|row| row.name),
            principal = self.caller.as_ref().map(|caller| caller.identity.subject.as_str()),
            decision = self.evidence.as_ref().map(|evidence| evidence.decision.to_string()),
            effect = ?problem.effect_was(),
            detail = problem.detail(),
            "request refused"
        );
    }

    pub(super) fn count(&self, gateway: &Gateway, reply: &Reply) {
        let row = self.row.map_or("none", |row| row.name);
        let class = self.row.map_or("none", |row| row.class.as_str());
        let status = reply.status().as_u16();
        gateway
            .requests
            .answered(row, class, status, self.started.elapsed());
    }
}

/// The outcome record of a permitted call.
pub(crate) fn outcome(mut intent: Record, at: Timestamp, status: u16, effect: Effect) -> Record {
    intent.kind = audit::Kind::Outcome;
    let began = intent.at;
    intent.at = at;
    intent.status = Some(status);
    intent.effect = Some(effect);
    let micros = at.duration_since(began).as_micros();
    intent.duration_micros = u64::try_from(micros).ok();
    intent
}

/// A fresh operation id; ordered by time, so that tables stay compact.
pub(crate) fn operation() -> Uuid {
    Uuid::now_v7()
}

//! Mints what vehicle services trust: a short-lived JWT (RFC 7519), signed
//! with a key that one service shares with the gateway.
//!
//! The format and its test vectors are in `docs/GRANTS.md`.

mod keyring;
mod returned;
mod standing;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderValue;
use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use thiserror::Error;
use uuid::Uuid;

pub use keyring::{Keyring, KeyringError};
pub use returned::{Returned, ReturnedError};
use standing::Standing;

use interlock_policies::PrincipalFacts;
use interlock_surface::{Class, Row};

use crate::authorize::Permit;
use crate::identity::Identity;

/// How long a grant is good for, in seconds.
pub const GRANT_LIFE_SECONDS: i64 = 30;

/// Who issues grants: the `iss` claim.
pub const GRANT_ISSUER: &str = "interlock";

/// The keyrings of all services, as they are now: grants are signed with them
/// and feed calls verified.
pub type Keyrings = Arc<ArcSwap<HashMap<String, Keyring>>>;

/// A signed grant: proof that a permit, or the settler, stands behind a call.
/// The upstream client sends nothing without one, and only [`Mint`] makes one.
#[derive(Clone, Debug)]
pub struct Grant(HeaderValue);

/// The call that a grant is bound to.
#[derive(Clone, Debug)]
pub struct Crossing<'a> {
    /// The row that is called at the service.
    pub row: &'static Row,
    /// Path and query, exactly as sent.
    pub path_and_query: &'a str,
    /// The body, exactly as sent.
    pub body: &'a [u8],
    /// The operation: on every call that is not a read.
    pub operation: Option<Uuid>,
    /// When it is sent.
    pub now: Timestamp,
    /// When the gateway stops waiting.
    pub deadline: Timestamp,
    /// The approval behind a dispatch.
    pub approval: Option<ApprovalFacts<'a>>,
}

/// Who speaks through a grant, and with what right.
#[derive(Clone, Debug)]
struct Speaker<'a> {
    kind: &'a str,
    identity: &'a Identity,
    /// The Cedar action that was decided; none where nobody asked.
    action: Option<&'a str>,
    /// The policy bundle's hash, hex.
    bundle: &'a str,
    /// The registry generation that was decided on.
    registry: u64,
    /// The revision of the object that was decided on.
    revision: Option<u64>,
    /// What the caller's token says of its rights, where the service will ask
    /// about members.
    standing: Option<&'a PrincipalFacts>,
    decision: Option<Uuid>,
    /// When the caller asked. Motion asked before the last stop is refused.
    asked_at: Timestamp,
}

/// The approval a dispatch stands on.
#[derive(Clone, Debug)]
pub struct ApprovalFacts<'a> {
    /// The plan.
    pub plan: Uuid,
    /// SHA-256 over what was approved, hex.
    pub digest: &'a str,
    /// Who approved.
    pub approver: &'a Identity,
    /// Who proposed.
    pub proposer: &'a Identity,
    /// Which dispatch attempt of the plan this is, from 1.
    pub attempt: u32,
    /// The fence as the preview gave it.
    pub fence: &'a Value,
}

/// A grant that cannot be made.
#[derive(Debug, Error)]
pub enum GrantError {
    /// No key for the service.
    #[error("no signing key for service `{0}`; set its keys in the configuration")]
    NoKey(String),
    /// Only internal rows are called without a permit.
    #[error("row `{0}` is not internal and needs a permit")]
    NotInternal(&'static str),
    /// The signer failed.
    #[error("cannot sign the grant")]
    Sign(#[from] jsonwebtoken::errors::Error),
    /// The claims do not serialize.
    #[error("cannot write the grant's claims")]
    Claims(#[from] serde_json::Error),
    /// The token is no header value.
    #[error("cannot send the grant as a header")]
    Header(#[from] http::header::InvalidHeaderValue),
}

/// SHA-256 of a body as base64url without padding; the empty body has one too.
pub fn body_digest(body: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(body))
}

/// Makes grants, with one keyring per service.
#[derive(Debug)]
pub struct Mint {
    rings: Keyrings,
}

impl Mint {
    /// A mint that signs with whatever keys are in force.
    pub fn new(rings: Keyrings) -> Self {
        Self { rings }
    }

    /// The grant of a call that policy permitted.
    ///
    /// # Errors
    /// [`GrantError`]: nothing may be sent then.
    pub fn permitted(&self, permit: &Permit, call: &Crossing<'_>) -> Result<Grant, GrantError> {
        let (caller, evidence) = (permit.caller(), permit.evidence());
        let speaker = Speaker {
            kind: caller.kind.as_str(),
            identity: &caller.identity,
            action: permit.row().action,
            bundle: &evidence.bundle,
            registry: evidence.registry,
            revision: evidence.revision,
            standing: call.row.judges_members.then_some(&caller.facts),
            decision: Some(evidence.decision),
            asked_at: evidence.asked_at,
        };
        self.sign(Uuid::new_v4(), &speaker, call)
    }

    /// The grant of the one call that no caller's permit stands behind: asking
    /// a service how an operation ended.
    ///
    /// # Errors
    /// [`GrantError`], also for a row that is not internal.
    pub fn settling(
        &self,
        instance: &str,
        bundle: &str,
        call: &Crossing<'_>,
    ) -> Result<Grant, GrantError> {
        if call.row.class != Class::Internal {
            return Err(GrantError::NotInternal(call.row.name));
        }
        let settler = Identity {
            issuer: GRANT_ISSUER.to_owned(),
            subject: instance.to_owned(),
            actor: None,
        };
        let speaker = Speaker {
            kind: "Service",
            identity: &settler,
            action: None,
            bundle,
            registry: 0,
            revision: None,
            standing: None,
            decision: None,
            asked_at: call.now,
        };
        self.sign(Uuid::new_v4(), &speaker, call)
    }

    fn sign(
        &self,
        id: Uuid,
        speaker: &Speaker<'_>,
        call: &Crossing<'_>,
    ) -> Result<Grant, GrantError> {
        let service = call.row.service;
        let rings = self.rings.load();
        let ring = rings
            .get(service)
            .ok_or_else(|| GrantError::NoKey(service.to_owned()))?;
        let body = body_digest(call.body);
        let claims = serde_json::to_vec(&Claims::new(id, speaker, call, &body))?;
        let token = ring.sign(&claims)?;
        let mut value = HeaderValue::from_str(&token)?;
        value.set_sensitive(true);
        Ok(Grant(value))
    }
}

impl Grant {
    /// Any text, for tests of the client below.
    #[cfg(test)]
    pub(crate) fn of(text: &'static str) -> Self {
        Self(HeaderValue::from_static(text))
    }

    /// The value of the `Interlock-Grant` header.
    pub fn into_header(self) -> HeaderValue {
        self.0
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Claims<'a> {
    iss: &'static str,
    aud: &'a str,
    iat: i64,
    exp: i64,
    jti: Uuid,
    caller: Caller<'a>,
    row: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    method: &'a str,
    path: &'a str,
    body: &'a str,
    bundle: &'a str,
    registry: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decision: Option<Uuid>,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<Uuid>,
    asked_at: i64,
    deadline: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<Approval<'a>>,
}

#[derive(Serialize)]
struct Caller<'a> {
    kind: &'a str,
    issuer: &'a str,
    subject: &'a str,
    actor: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    standing: Option<Standing>,
}

#[derive(Serialize)]
struct Approval<'a> {
    plan: Uuid,
    digest: &'a str,
    approver: Approver<'a>,
    proposer: Proposer<'a>,
    attempt: u32,
    fence: &'a Value,
}

#[derive(Serialize)]
struct Approver<'a> {
    issuer: &'a str,
    subject: &'a str,
}

#[derive(Serialize)]
struct Proposer<'a> {
    issuer: &'a str,
    subject: &'a str,
    actor: Option<&'a str>,
}

impl<'a> Claims<'a> {
    fn new(id: Uuid, speaker: &Speaker<'a>, call: &Crossing<'a>, body: &'a str) -> Self {
        let iat = call.now.as_second();
        Self {
            iss: GRANT_ISSUER,
            aud: call.row.service,
            iat,
            exp: iat.saturating_add(GRANT_LIFE_SECONDS),
            jti: id,
            caller: Caller {
                kind: speaker.kind,
                issuer: &speaker.identity.issuer,
                subject: &speaker.identity.subject,
                actor: speaker.identity.actor.as_deref(),
                standing: speaker.standing.map(Standing::of),
            },
            row: call.row.name,
            action: speaker.action,
            method: call.row.method.as_str(),
            path: call.path_and_query,
            body,
            bundle: speaker.bundle,
            registry: speaker.registry,
            revision: speaker.revision,
            decision: speaker.decision,
            operation: call.operation,
            asked_at: speaker.asked_at.as_millisecond(),
            deadline: call.deadline.as_millisecond(),
            approval: call.approval.as_ref().map(|approval| Approval {
                plan: approval.plan,
                digest: approval.digest,
                approver: Approver {
                    issuer: &approval.approver.issuer,
                    subject: &approval.approver.subject,
                },
                proposer: Proposer {
                    issuer: &approval.proposer.issuer,
                    subject: &approval.proposer.subject,
                    actor: approval.proposer.actor.as_deref(),
                },
                attempt: approval.attempt,
                fence: approval.fence,
            }),
        }
    }
}

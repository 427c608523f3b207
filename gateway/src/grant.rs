//! Mints what vehicle services trust: a short-lived JWT (RFC 7519), signed
//! with a key that one service shares with the gateway.
//!
//! The format and its test vectors are in `docs/GRANTS.md`.

mod keyring;
#[cfg(test)]
mod tests;

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

use crate::identity::Identity;
use crate::rotation::Keyrings;

/// How long a grant is good for, in seconds.
pub const GRANT_LIFE_SECONDS: i64 = 30;

/// Who issues grants: the `iss` claim.
pub const GRANT_ISSUER: &str = "interlock";

/// Everything a grant says.
#[derive(Clone, Debug)]
pub struct GrantFacts<'a> {
    /// The service it is for: the audience.
    pub service: &'a str,
    /// The grant's own id (`jti`), never used twice.
    pub id: Uuid,
    /// When it is issued.
    pub issued_at: Timestamp,
    /// The caller's kind: `Person`, `Agent`, `Service` or `Anonymous`.
    pub caller_kind: &'a str,
    /// The caller.
    pub caller: &'a Identity,
    /// The row that is called at the service.
    pub row: &'a str,
    /// The Cedar action that was decided.
    pub action: &'a str,
    /// The method sent.
    pub method: &'a str,
    /// Path and query, exactly as sent.
    pub path: &'a str,
    /// SHA-256 of the body sent, from [`body_digest`].
    pub body: &'a str,
    /// The policy bundle's hash, hex.
    pub bundle: &'a str,
    /// The registry generation that was decided on.
    pub registry: u64,
    /// The decision.
    pub decision: Uuid,
    /// The operation: on every call that is not a read.
    pub operation: Option<Uuid>,
    /// When the caller asked. Motion asked before the last stop is refused.
    pub asked_at: Timestamp,
    /// When the gateway stops waiting.
    pub deadline: Timestamp,
    /// The approval behind a dispatch.
    pub approval: Option<ApprovalFacts<'a>>,
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

    /// The value of the `Interlock-Grant` header.
    pub fn grant(&self, facts: &GrantFacts<'_>) -> Result<HeaderValue, GrantError> {
        let rings = self.rings.load();
        let ring = rings
            .get(facts.service)
            .ok_or_else(|| GrantError::NoKey(facts.service.to_owned()))?;
        let claims = serde_json::to_vec(&Claims::new(facts))?;
        let token = ring.sign(&claims)?;
        let mut value = HeaderValue::from_str(&token)?;
        value.set_sensitive(true);
        Ok(value)
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
    action: &'a str,
    method: &'a str,
    path: &'a str,
    body: &'a str,
    bundle: &'a str,
    registry: u64,
    decision: Uuid,
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
    fn new(facts: &GrantFacts<'a>) -> Self {
        let iat = facts.issued_at.as_second();
        Self {
            iss: GRANT_ISSUER,
            aud: facts.service,
            iat,
            exp: iat.saturating_add(GRANT_LIFE_SECONDS),
            jti: facts.id,
            caller: Caller {
                kind: facts.caller_kind,
                issuer: &facts.caller.issuer,
                subject: &facts.caller.subject,
                actor: facts.caller.actor.as_deref(),
            },
            row: facts.row,
            action: facts.action,
            method: facts.method,
            path: facts.path,
            body: facts.body,
            bundle: facts.bundle,
            registry: facts.registry,
            decision: facts.decision,
            operation: facts.operation,
            asked_at: facts.asked_at.as_millisecond(),
            deadline: facts.deadline.as_millisecond(),
            approval: facts.approval.as_ref().map(|approval| Approval {
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

//! What a grant says, as it stands in the token.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use uuid::Uuid;

/// The claims of a grant. Unknown claims are ignored (RFC 7519 section 4), so that the gateway
/// may say more later; every claim named here is typed, and a wrong type refuses the grant.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claims {
    /// Who signed: always `interlock`.
    pub iss: String,
    /// The one service this grant is for.
    pub aud: String,
    /// When it was signed, seconds since the epoch.
    pub iat: i64,
    /// When it ends, seconds since the epoch.
    pub exp: i64,
    /// From when on it counts, seconds since the epoch, where given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nbf: Option<i64>,
    /// Names this very grant; a write accepts it once.
    pub jti: Uuid,
    /// On whose behalf the gateway asks.
    pub caller: Caller,
    /// The surface row that was matched, for example `drones.mission.start`.
    pub row: String,
    /// The Cedar action that was decided. Absent on rows between gateway and service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The request method as sent.
    pub method: String,
    /// The path and query as sent.
    pub path: String,
    /// [`crate::body_digest`] of the body as sent.
    pub body: String,
    /// Hash of the policy bundle that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bundle: Option<String>,
    /// Generation of the registry that the decision read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub registry: Option<u64>,
    /// Id of the decision record. Absent on rows between gateway and service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Uuid>,
    /// The operation this write is; the same id is settled later. Present on every write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<Uuid>,
    /// When the caller asked, milliseconds since the epoch.
    pub asked_at: i64,
    /// When the gateway stops waiting, milliseconds since the epoch.
    pub deadline: i64,
    /// What a person approved. Present on the dispatch of a plan only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
}

/// On whose behalf the gateway asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Caller {
    /// What sort of principal it is.
    pub kind: CallerKind,
    /// Who vouches for the subject.
    pub issuer: String,
    /// The subject, unique under its issuer.
    pub subject: String,
    /// Who acts for the subject, where delegated.
    #[serde(default)]
    pub actor: Option<String>,
}

/// The kinds of principal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CallerKind {
    /// A human being.
    Person,
    /// Software that acts for a person.
    Agent,
    /// A service with an identity of its own, the gateway included.
    Service,
    /// Nobody known.
    Anonymous,
}

/// What a person approved, and what it was measured against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approval {
    /// The approved plan.
    pub plan: Uuid,
    /// SHA-256 of the plan in hexadecimal.
    pub digest: String,
    /// Who approved.
    pub approver: Party,
    /// Who proposed; never the approver.
    pub proposer: Proposer,
    /// The how-manieth dispatch of this plan, from 1.
    pub attempt: u32,
    /// What the service's own preview said it would compare; opaque to everybody else.
    pub fence: Value,
}

/// Somebody, by issuer and subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Party {
    /// Who vouches for the subject.
    pub issuer: String,
    /// The subject, unique under its issuer.
    pub subject: String,
}

/// Who proposed a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposer {
    /// Who vouches for the subject.
    pub issuer: String,
    /// The subject, unique under its issuer.
    pub subject: String,
    /// Who acted for the subject, where delegated.
    #[serde(default)]
    pub actor: Option<String>,
}

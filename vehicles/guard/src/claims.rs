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
    /// Revision of the registered object that was judged, of a plan that of its vehicle. A
    /// service whose own record is newer answers 409 `authz-stale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u64>,
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
    /// What the caller's token says of its rights. Present on rows whose service asks about
    /// members, so that any gateway can answer it; not for the service to judge by.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub standing: Option<Standing>,
}

/// What a token says of its bearer's rights.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The accounts the caller belongs to.
    pub tenants: Vec<String>,
    /// Roles, each with the scope it is held on.
    pub roles: Vec<(String, String)>,
    /// A suspended caller keeps sight, calming and stop.
    pub suspended: bool,
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

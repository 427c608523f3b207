//! Who calls.

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use crate::idp::{Algorithm, Claims, Idp, SigningKey};

/// The account that owns the swarm of the tests.
pub const ACCOUNT: &str = "acme";

/// An account that owns nothing here.
pub const FOREIGN: &str = "globex";

/// The OAuth client that the gateway's configuration knows as an agent's.
pub const AGENT_CLIENT: &str = "interlock-mcp";

/// The OAuth client that the gateway's configuration knows as a service's.
pub const SERVICE_CLIENT: &str = "fleet-reports";

/// One kind of caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Persona {
    /// Sends no token.
    Nobody,
    /// A good token of somebody with no rights anywhere.
    Stranger,
    /// The operator's claims, signed with a key that only claims to be the
    /// provider's.
    Forged,
    /// The operator's token of yesterday.
    Expired,
    /// The operator's token for another audience.
    WrongAudience,
    /// Every role, in an account that owns nothing here.
    Foreign,
    /// May look and stop.
    Viewer,
    /// May look, stop, command, propose and dispatch.
    Operator,
    /// May look, stop and decide about plans.
    Approver,
    /// Proposes, and may decide about the plans of others.
    Proposer,
    /// Software with a subject of its own that acts for a person.
    Agent,
    /// A machine client without a person behind it.
    Service,
}

impl Persona {
    /// All of them.
    pub const ALL: [Persona; 12] = [
        Persona::Nobody,
        Persona::Stranger,
        Persona::Forged,
        Persona::Expired,
        Persona::WrongAudience,
        Persona::Foreign,
        Persona::Viewer,
        Persona::Operator,
        Persona::Approver,
        Persona::Proposer,
        Persona::Agent,
        Persona::Service,
    ];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Persona::Nobody => "nobody",
            Persona::Stranger => "stranger",
            Persona::Forged => "forged",
            Persona::Expired => "expired",
            Persona::WrongAudience => "wrong-audience",
            Persona::Foreign => "foreign",
            Persona::Viewer => "viewer",
            Persona::Operator => "operator",
            Persona::Approver => "approver",
            Persona::Proposer => "proposer",
            Persona::Agent => "agent",
            Persona::Service => "service",
        }
    }

    /// The token it sends, or `None` for nobody.
    pub fn token(self, idp: &Idp) -> Option<String> {
        let operator = || idp.claims("olivia").with_roles(ACCOUNT, &["operator"]);
        let claims = match self {
            Persona::Nobody => return None,
            Persona::Stranger => idp.claims("sam"),
            Persona::Forged => {
                let forger = SigningKey::generate(idp.current().id(), Algorithm::Es256);
                return Some(forger.sign(&operator()));
            }
            Persona::Expired => {
                operator().expiring(Timestamp::now() - SignedDuration::from_hours(24))
            }
            Persona::WrongAudience => operator().with("aud", "another-service"),
            Persona::Foreign => {
                let every = ["viewer", "operator", "driver", "approver", "admin"];
                idp.claims("frank").with_roles(FOREIGN, &every)
            }
            Persona::Viewer => idp.claims("vera").with_roles(ACCOUNT, &["viewer"]),
            Persona::Operator => operator(),
            Persona::Approver => idp.claims("ada").with_roles(ACCOUNT, &["approver"]),
            Persona::Proposer => {
                let both = ["operator", "approver"];
                idp.claims("priya").with_roles(ACCOUNT, &both)
            }
            Persona::Agent => idp
                .claims("agent-7")
                .with_roles(ACCOUNT, &["operator"])
                .with("client_id", AGENT_CLIENT),
            Persona::Service => idp
                .claims(SERVICE_CLIENT)
                .with_roles(ACCOUNT, &["viewer"])
                .with("client_id", SERVICE_CLIENT),
        };
        Some(idp.sign(&claims))
    }
}

impl Claims {
    /// With membership of an account and roles on all of it.
    pub fn with_roles(self, account: &str, roles: &[&str]) -> Claims {
        let grants: Value = roles
            .iter()
            .map(|role| ((*role).to_owned(), json!([account])))
            .collect();
        self.with("interlock_tenants", json!([account]))
            .with("interlock_grants", grants)
    }
}

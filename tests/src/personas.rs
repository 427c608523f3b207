//! Who calls.

use std::path::Path;
use std::{fs, io};

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
    /// May look, stop, command, and drive by hand.
    Driver,
    /// May look, stop, command, and command many at once.
    Dispatcher,
    /// May look, stop, and say what hangs where.
    Manager,
}

impl Persona {
    /// All of them.
    pub const ALL: [Persona; 15] = [
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
        Persona::Driver,
        Persona::Dispatcher,
        Persona::Manager,
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
            Persona::Driver => "driver",
            Persona::Dispatcher => "dispatcher",
            Persona::Manager => "manager",
        }
    }

    /// The token it sends, or `None` for nobody.
    pub fn token(self, idp: &Idp) -> Option<String> {
        self.claims(idp, |claims| claims)
    }

    fn claims(self, idp: &Idp, change: impl Fn(Claims) -> Claims) -> Option<String> {
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
                let every = [
                    "viewer",
                    "operator",
                    "driver",
                    "dispatcher",
                    "approver",
                    "manager",
                    "admin",
                ];
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
            Persona::Driver => idp.claims("dora").with_roles(ACCOUNT, &["driver"]),
            Persona::Dispatcher => idp.claims("dirk").with_roles(ACCOUNT, &["dispatcher"]),
            Persona::Manager => idp.claims("mona").with_roles(ACCOUNT, &["manager"]),
        };
        Some(idp.sign(&change(claims)))
    }
}

/// Writes the token of each persona that has a good one into `folder`, in a
/// file of its name; good for a day.
///
/// # Errors
/// The file system's.
pub fn write_tokens(idp: &Idp, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let bad = [Persona::Forged, Persona::Expired, Persona::WrongAudience];
    let day = Timestamp::now() + SignedDuration::from_hours(24);
    for persona in Persona::ALL.into_iter().filter(|it| !bad.contains(it)) {
        if let Some(token) = persona.claims(idp, |claims| claims.expiring(day)) {
            fs::write(folder.join(persona.name()), token)?;
        }
    }
    Ok(())
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
